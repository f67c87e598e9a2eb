set(sources
    symfile_cache.c
    symfile_calls.c
    symfile_dwarf.c
    symfile_fetch.c
    symfile_find.c
    symfile_index_file.c
    symfile_index_find.c
    symfile_jit.c
    symfile_kept.c
    symfile_macho.c
    symfile_mini.c
    symfile_open.c
    symfile_sections.c
    symfile_types.c
)
if(CMAKE_SYSTEM_NAME STREQUAL "Darwin")
    list(REMOVE_ITEM sources symfile_jit.c)
    list(APPEND sources darwin/symfile_jit_none.c)
endif()
