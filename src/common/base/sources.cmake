set(sources base_bytes.c base_crc32c.c base_glob.c base_mem.c base_path.c base_sized.c base_status.c base_text.c)
if(APPLE)
    list(APPEND sources base_mem_macho.c)
endif()
