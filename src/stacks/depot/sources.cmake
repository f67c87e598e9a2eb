set(sources
    depot_close.c
    depot_intern.c
    depot_memory.c
    depot_stack.c
)
