set(sources
    image_cfi.c
    image_elf.c
    image_elf_cfi.c
    image_elf_note.c
    image_elf_symbols.c
    image_set.c
)
