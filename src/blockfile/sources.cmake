set(sources
    blockfile.c
    blockfile_aarch64.c
    blockfile_memory.c
    blockfile_slots.c
    blockfile_text.c
    blockfile_x86_64.c
)
