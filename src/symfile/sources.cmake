set(sources
    symfile_cache.c
    symfile_calls.c
    symfile_find.c
    symfile_macho.c
    symfile_open.c
    symfile_sections.c
)
