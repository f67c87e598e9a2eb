set(sources jit_dump.c jit_elf.c jit_map.c jit_names.c)
