set(sources tail_across.c tail_agree.c tail_code.c tail_find.c tail_graph.c tail_link.c tail_macho.c tail_make.c tail_message.c tail_resolve.c tail_selector.c tail_slots.c)
