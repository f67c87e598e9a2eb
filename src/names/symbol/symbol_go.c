// SPDX-License-Identifier: Apache-2.0
#include "symbol_go.h"

#include <string.h>

#include "image_elf_format.h"
#include "image_go.h"
#include "mem_heap.h"

#define GLOBAL_FUNCTION (SONDE__STB_GLOBAL << 4 | SONDE__STT_FUNC)

static void write_entry(uint8_t *entry, uint16_t section, uint64_t name, uint64_t start,
                        uint64_t size)
{
    uint32_t name32 = (uint32_t)name;
    entry[4] = GLOBAL_FUNCTION;
    entry[5] = 0;
    memcpy(entry, &name32, sizeof name32);
    memcpy(entry + 6, &section, sizeof section);
    memcpy(entry + 8, &start, sizeof start);
    memcpy(entry + 16, &size, sizeof size);
}

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
            write_entry(made.data + (size_t)made.symbols.count * SONDE__ELF_SYM64_BYTES, section,
                        (uint64_t)(f.name - strings), f.start, f.end - f.start);
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
