// SPDX-License-Identifier: Apache-2.0
#include "tail_slots.h"

#include <string.h>

#include "arch_plt.h"
#include "base_search.h"
#include "mem_heap.h"
#include "mem_sort.h"

/* Relocation types (AMD64 psABI table 4.9; aaelf64 §5.7.11). */
#define R_X86_64_GLOB_DAT   6u
#define R_X86_64_JUMP_SLOT  7u
#define R_AARCH64_GLOB_DAT  1025u
#define R_AARCH64_JUMP_SLOT 1026u

static const char *const plt_sections[] = {".plt", ".plt.sec", ".plt.got", ".iplt"};

static bool is_function_cell(const struct sonde__elf *elf, uint32_t type)
{
    return elf->arch == SONDE_ARCH_X86_64
               ? type == R_X86_64_JUMP_SLOT || type == R_X86_64_GLOB_DAT
               : type == R_AARCH64_JUMP_SLOT || type == R_AARCH64_GLOB_DAT;
}

static bool add_cells(const struct sonde__elf *elf, const struct sonde__elf_section *section,
                      const struct sonde__elf_symbols *symbols, struct tail_slots *slots)
{
    uint64_t count = section->size / SONDE__ELF_RELA64_BYTES;
    for (uint64_t i = 0; i < count; i++) {
        const uint8_t *at = section->data + i * SONDE__ELF_RELA64_BYTES;
        struct sonde__elf_symbol symbol;
        struct tail_cell cell = {0};
        uint64_t info;
        memcpy(&info, at + 8, 8);
        if (!is_function_cell(elf, (uint32_t)info) ||
            !sonde__elf_symbols_at(symbols, (uint32_t)(info >> 32), &symbol)) {
            continue;
        }
        memcpy(&cell.vaddr, at, 8);
        cell.to = symbol.value;
        cell.symbol = symbol.index;
        cell.kind = symbol.section == SONDE__SHN_UNDEF    ? TAIL_SLOT_EXTERNAL
                    : symbol.type == SONDE__STT_GNU_IFUNC ? TAIL_SLOT_UNKNOWN
                                                          : TAIL_SLOT_OWN;
        if (!SONDE__MEM_ADD(slots->cells, slots->cell_count, slots->cell_capacity, cell)) {
            return false;
        }
    }
    return true;
}

static bool add_stubs(const struct sonde__elf *elf, unsigned arch, const char *name,
                      struct tail_slots *slots)
{
    struct sonde__elf_section section;
    struct sonde__plt_slot slot;
    size_t offset = 0;
    if (!sonde__elf_section_by_name(elf, name, &section) || section.data == NULL ||
        (section.flags & SONDE__SHF_EXECINSTR) == 0) {
        return true;
    }
    slots->plts[slots->plt_count++] =
        (struct tail_plt){section.vaddr, section.vaddr + section.size};
    while (sonde__arch_plt_next(arch, section.data, (size_t)section.size, section.vaddr,
                                section.entsize, offset, &slot, &offset)) {
        if (!SONDE__MEM_ADD(slots->stubs, slots->stub_count, slots->stub_capacity,
                            (struct tail_stub){slot.start, slot.cell})) {
            return false;
        }
    }
    return true;
}

enum sonde_status tail_slots_read(const struct sonde__elf *elf, unsigned arch,
                                  struct tail_slots *ret_slots)
{
    struct tail_slots slots = {0};
    struct sonde__elf_symbols symbols;
    bool is_whole = true;
    bool has_symbols = sonde__elf_dynamic_symbols(elf, &symbols);
    for (unsigned i = 0; i < sizeof plt_sections / sizeof plt_sections[0] && is_whole; i++) {
        is_whole = add_stubs(elf, arch, plt_sections[i], &slots);
    }
    for (uint32_t i = 0; has_symbols && i < elf->shnum && is_whole; i++) {
        struct sonde__elf_section section;
        if (sonde__elf_section(elf, i, &section) && section.type == SONDE__SHT_RELA &&
            (section.flags & SONDE__SHF_ALLOC) != 0 && section.data != NULL) {
            is_whole = add_cells(elf, &section, &symbols, &slots);
        }
    }
    if (!is_whole) {
        tail_slots_done(&slots);
        return SONDE_MEMORY;
    }
    SONDE__SORT_BY(slots.cells, slots.cell_count, vaddr);
    SONDE__SORT_BY(slots.stubs, slots.stub_count, start);
    *ret_slots = slots;
    return SONDE_OK;
}

void tail_slots_done(struct tail_slots *slots)
{
    sonde__mem_free(slots->cells);
    sonde__mem_free(slots->stubs);
    memset(slots, 0, sizeof *slots);
}

const struct tail_cell *tail_cell(const struct tail_slots *slots, uint64_t vaddr)
{
    size_t at = SONDE__SEARCH(0, slots->cell_count, i, slots->cells[i].vaddr < vaddr);
    if (at == slots->cell_count || slots->cells[at].vaddr != vaddr ||
        (at + 1 < slots->cell_count && slots->cells[at + 1].vaddr == vaddr)) {
        return NULL; /* two relocations claim the word */
    }
    return &slots->cells[at];
}

enum tail_slot_kind tail_slot(const struct tail_slots *slots, uint64_t vaddr, uint64_t *ret_to)
{
    const struct tail_cell *cell = tail_cell(slots, vaddr);
    if (cell == NULL) {
        return TAIL_SLOT_UNKNOWN;
    }
    *ret_to = cell->to;
    return cell->kind;
}

bool tail_in_plt(const struct tail_slots *slots, uint64_t vaddr)
{
    for (unsigned i = 0; i < slots->plt_count; i++) {
        if (vaddr >= slots->plts[i].start && vaddr < slots->plts[i].end) {
            return true;
        }
    }
    return false;
}

bool tail_stub(const struct tail_slots *slots, uint64_t vaddr, uint64_t *ret_cell)
{
    if (!tail_in_plt(slots, vaddr)) {
        return false;
    }
    size_t at = SONDE__SEARCH(0, slots->stub_count, i, slots->stubs[i].start < vaddr);
    if (at == slots->stub_count || slots->stubs[at].start != vaddr) {
        return false;
    }
    *ret_cell = slots->stubs[at].cell;
    return true;
}
