set(sources
    demangle.c
    demangle_block.c
)
