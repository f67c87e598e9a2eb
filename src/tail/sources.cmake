set(sources tail_agree.c tail_code.c tail_find.c tail_across.c tail_graph.c tail_macho.c tail_make.c tail_resolve.c tail_slots.c)
