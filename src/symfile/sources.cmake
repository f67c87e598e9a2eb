set(sources
    symfile_cache.c
    symfile_find.c
    symfile_open.c
    symfile_sections.c
)
