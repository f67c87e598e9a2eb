set(sources
    mem_arena.c
    mem_heap.c
    mem_sort.c
    mem_table.c
)
