// SPDX-License-Identifier: Apache-2.0
#include "symbol_go.h"

#include <string.h>

#include "image_elf_format.h"
#include "image_go.h"
#include "mem_heap.h"
#include "symbol_layout.h"

enum sonde_status sonde__go_symbols_make(const struct sonde__elf *elf,
                                         struct sonde__objc_symbols *ret_symbols)
{
    struct sonde__objc_symbols made = {0};
    struct sonde__go go;
    memset(ret_symbols, 0, sizeof *ret_symbols);
    if (!sonde__elf_go(elf, &go)) {
        return SONDE_OK;
    }
    const char *strings = (const char *)go.data + go.names;
    size_t size = go.size - (size_t)go.names;
    while (size > 0 && strings[size - 1] != '\0') {
        size--;
    }
    if (size == 0 || size > UINT32_MAX) {
        return SONDE_OK;
    }
    made.data = sonde__mem_alloc_array(go.count, SONDE__ELF_SYM64_BYTES);
    if (made.data == NULL) {
        return SONDE_MEMORY;
    }
    uint16_t section = sonde__objc_text_section(elf);
    for (uint32_t i = 0; i < go.count; i++) {
        struct sonde__go_function f;
        if (sonde__image_go_function(&go, i, &f) && f.name >= strings && f.name < strings + size) {
            symbol_write_function(made.data + (size_t)made.symbols.count * SONDE__ELF_SYM64_BYTES,
                                  SONDE__STB_GLOBAL, section, (uint32_t)(f.name - strings), f.start,
                                  f.end - f.start);
            made.symbols.count++;
        }
    }
    made.symbols.data = made.data;
    made.symbols.entsize = SONDE__ELF_SYM64_BYTES;
    made.symbols.is64 = true;
    made.symbols.strings = strings;
    made.symbols.strings_size = size;
    *ret_symbols = made;
    return SONDE_OK;
}
