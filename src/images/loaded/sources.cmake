set(sources
    loaded.c
    loaded_code.c
    loaded_elf.c
    loaded_elf_object.c
    loaded_macho.c
    loaded_macho_object.c
)
