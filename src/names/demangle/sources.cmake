set(sources
    demangle.c
    demangle_block.c
    demangle_language.c
)
