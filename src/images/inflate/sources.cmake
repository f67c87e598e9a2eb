set(sources
    inflate.c
    inflate_load.c
    inflate_xz_size.c
)
