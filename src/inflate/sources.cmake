set(sources
    inflate.c
)
