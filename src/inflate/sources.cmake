set(sources
    inflate.c
    inflate_load.c
)
