set(sources
    inflate.c
    inflate_xz_size.c
)
