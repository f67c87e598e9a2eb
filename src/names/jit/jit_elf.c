// SPDX-License-Identifier: Apache-2.0
/* The ELFs of GDB's JIT interface (its manual, "JIT Compilation Interface"). */
#include <string.h>

#include "base_status.h"
#include "image_elf.h"
#include "jit_names.h"

static enum sonde_status take_symbol(struct sonde__jit *jit, const struct sonde__elf *elf,
                                     const struct sonde__elf_symbol *symbol)
{
    struct sonde__elf_section section;
    uint64_t start = symbol->value;
    uint64_t size = symbol->size;
    if (symbol->type != SONDE__STT_FUNC || symbol->section == SONDE__SHN_UNDEF ||
        symbol->name[0] == '\0') {
        return SONDE_OK;
    }
    if (elf->type == SONDE__ET_REL) {
        if (!sonde__elf_section(elf, symbol->section, &section) || section.vaddr == 0) {
            jit->bad++;
            return SONDE_OK;
        }
        start += section.vaddr;
    }
    if (start + size < start) {
        jit->bad++;
        return SONDE_OK;
    }
    return sonde__jit_add(jit, start, start + size, symbol->name,
                          strnlen(symbol->name, SONDE__JIT_NAME_MAX));
}

enum sonde_status sonde__jit_add_elf(struct sonde__jit *jit, const void *data, size_t size)
{
    struct sonde__elf elf;
    struct sonde__elf_section section;
    struct sonde__elf_symbols symbols;
    struct sonde__elf_symbol symbol;
    if (sonde__elf_open(data, size, &elf, NULL) != SONDE_OK ||
        !sonde__elf_section_by_type(&elf, SONDE__SHT_SYMTAB, &section) ||
        !sonde__elf_symbols(&elf, &section, &symbols)) {
        return SONDE_UNSUPPORTED;
    }
    for (uint32_t i = 0; sonde__elf_symbols_at(&symbols, i, &symbol); i++) {
        SONDE_TRY(take_symbol(jit, &elf, &symbol));
    }
    return SONDE_OK;
}
