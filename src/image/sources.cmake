set(sources
    image_cfi.c
)
