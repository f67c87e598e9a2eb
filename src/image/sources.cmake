set(sources
    image_cfi.c
    image_set.c
)
