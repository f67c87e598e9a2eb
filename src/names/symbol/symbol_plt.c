// SPDX-License-Identifier: Apache-2.0
/* Names of PLT stubs. A stub's code gives the GOT cell that it jumps through, and the cell's
 * relocation the symbol. */
#include <stdlib.h>

#include "arch_plt.h"
#include "base_search.h"
#include "base_status.h"
#include "mem_heap.h"
#include "mem_sort.h"
#include "symbol_layout.h"

static const char *const plt_sections[] = {".plt", ".plt.sec", ".plt.got", ".iplt"};
#define PLT_SECTION_COUNT (sizeof plt_sections / sizeof plt_sections[0])

/* Relocation types (AMD64 psABI table 4.9; aaelf64 §5.7.11, §5.7.12). */
#define R_X86_64_GLOB_DAT   6u
#define R_X86_64_JUMP_SLOT  7u
#define R_X86_64_IRELATIVE  37u
#define R_AARCH64_GLOB_DAT  1025u
#define R_AARCH64_JUMP_SLOT 1026u
#define R_AARCH64_IRELATIVE 1032u
#define SLOT_BYTES_MIN      8u
/* Limit of relocation sections; programs have two. */
#define RELOCATION_SECTIONS_MAX 8u

struct slots {
    struct sonde__plt_slot *slots; /* sorted by cell */
    uint32_t count;
};

/* A stub with a name. */
struct stub {
    symbol_key key;
    uint32_t size;
};

struct stubs {
    struct stub *stubs;
    uint32_t count, capacity;
};

static bool find_plt(const struct sonde__elf *elf, unsigned which,
                     struct sonde__elf_section *ret_section)
{
    return sonde__elf_section_by_name(elf, plt_sections[which], ret_section) &&
           ret_section->data != NULL && (ret_section->flags & SONDE__SHF_EXECINSTR) != 0;
}

uint32_t symbol_count_plt(const struct sonde__elf *elf)
{
    struct sonde__elf_section section;
    uint64_t count = 0;
    if (!elf->is64 || elf->arch == SONDE_ARCH_OTHER) {
        return 0;
    }
    for (unsigned i = 0; i < PLT_SECTION_COUNT; i++) {
        if (find_plt(elf, i, &section)) {
            count += section.size / SLOT_BYTES_MIN;
        }
    }
    return count < SYMBOL_REF_INDEX_MAX ? (uint32_t)count : SYMBOL_REF_INDEX_MAX;
}

static int compare_cells(const void *a, const void *b)
{
    const struct sonde__plt_slot *x = a, *y = b;
    return SONDE__ORDER(x, y, cell);
}

static int compare_starts(const void *a, const void *b)
{
    uint32_t start_a = symbol_key_start(((const struct stub *)a)->key);
    uint32_t start_b = symbol_key_start(((const struct stub *)b)->key);
    return (start_a > start_b) - (start_a < start_b);
}

static void find_slots(const struct sonde__elf *elf, unsigned arch, uint32_t capacity,
                       struct slots *slots)
{
    for (unsigned i = 0; i < PLT_SECTION_COUNT; i++) {
        struct sonde__elf_section section;
        struct sonde__plt_slot slot;
        size_t offset = 0;
        if (!find_plt(elf, i, &section)) {
            continue;
        }
        while (slots->count < capacity &&
               sonde__arch_plt_next(arch, section.data, (size_t)section.size, section.vaddr,
                                    section.entsize, offset, &slot, &offset)) {
            slots->slots[slots->count++] = slot;
        }
    }
    qsort(slots->slots, slots->count, sizeof *slots->slots, compare_cells);
}

/* First of the sorted keys with start `offset`, or null. */
static const symbol_key *find_key(const struct symbol_build *build, uint64_t offset)
{
    uint32_t at = SONDE__SEARCH(0, build->count, i, symbol_key_start(build->keys[i]) < offset);
    return at < build->count && symbol_key_start(build->keys[at]) == offset ? &build->keys[at]
                                                                            : NULL;
}

/* Symbol of a cell: the relocation's, or for IRELATIVE the ifunc whose resolver is at the addend.
 * UINT32_MAX: unknown. */
static uint32_t find_target(const struct symbol_build *build, uint64_t info, uint64_t addend)
{
    const struct sonde__symbol_index *index = build->index;
    uint32_t type = (uint32_t)info, symbol = (uint32_t)(info >> 32);
    const symbol_key *key;
    uint32_t names, end, first;
    if (type != R_X86_64_IRELATIVE && type != R_AARCH64_IRELATIVE) {
        return symbol != 0 && symbol < index->tables[SYMBOL_TABLE_DYNSYM].count &&
                       symbol <= SYMBOL_REF_INDEX_MAX
                   ? symbol | (uint32_t)SYMBOL_TABLE_DYNSYM << SYMBOL_REF_TABLE_SHIFT
                   : UINT32_MAX;
    }
    key = addend - index->base < index->size ? find_key(build, addend - index->base) : NULL;
    if (key == NULL) {
        return UINT32_MAX;
    }
    first = (uint32_t)(key - build->keys);
    /* limited, because hostile files repeat addends */
    for (end = first + 1; end < build->count && end - first < 16 &&
                          symbol_key_start(build->keys[end]) == symbol_key_start(*key);
         end++) {
    }
    return (uint32_t)key[symbol_choose(index, key, end - first, &names)];
}

static bool is_cell_type(uint32_t type, unsigned arch)
{
    return arch == SONDE_ARCH_X86_64 ? type == R_X86_64_JUMP_SLOT || type == R_X86_64_GLOB_DAT ||
                                           type == R_X86_64_IRELATIVE
                                     : type == R_AARCH64_JUMP_SLOT || type == R_AARCH64_GLOB_DAT ||
                                           type == R_AARCH64_IRELATIVE;
}

/* Add a stub for each slot with this cell. */
static void add_stubs(const struct sonde__symbol_index *index, struct slots *slots, uint64_t cell,
                      uint32_t target, struct stubs *stubs)
{
    uint32_t at = SONDE__SEARCH(0, slots->count, i, slots->slots[i].cell < cell);
    for (; at < slots->count && slots->slots[at].cell == cell; at++) {
        struct sonde__plt_slot *slot = &slots->slots[at];
        if (slot->end == 0 || slot->start - index->base >= index->size ||
            stubs->count == stubs->capacity) {
            continue;
        }
        stubs->stubs[stubs->count++] = (struct stub){
            symbol_make_key((uint32_t)(slot->start - index->base), target | SYMBOL_REF_PLT),
            (uint32_t)(slot->end - slot->start)};
        slot->end = 0; /* named */
    }
}

static void read_relocations(const struct symbol_build *build, const struct sonde__elf *elf,
                             const struct sonde__elf_section *section, struct slots *slots,
                             struct stubs *stubs)
{
    uint64_t lowest = slots->slots[0].cell, highest = slots->slots[slots->count - 1].cell;
    uint64_t count = section->size / SONDE__ELF_RELA64_BYTES;
    for (uint64_t i = 0; i < count; i++) {
        const uint8_t *at = section->data + i * SONDE__ELF_RELA64_BYTES;
        uint64_t cell, info, addend;
        uint32_t target;
        memcpy(&info, at + 8, 8);
        if (!is_cell_type((uint32_t)info, elf->arch)) {
            continue;
        }
        memcpy(&cell, at, 8);
        memcpy(&addend, at + 16, 8);
        if (cell < lowest || cell > highest) {
            continue;
        }
        target = find_target(build, info, addend);
        if (target != UINT32_MAX) {
            add_stubs(build->index, slots, cell, target, stubs);
        }
    }
}

/* Merge the stubs into the keys, after keys with the same start. */
static void merge(struct symbol_build *build, struct stubs *stubs)
{
    uint32_t left = stubs->count, from = build->count, to = build->count + stubs->count;
    symbol_key *keys = build->keys;
    qsort(stubs->stubs, stubs->count, sizeof *stubs->stubs, compare_starts);
    build->count = to;
    while (left > 0) {
        const struct stub *stub = &stubs->stubs[left - 1];
        if (from > 0 && symbol_key_start(keys[from - 1]) > symbol_key_start(stub->key)) {
            keys[--to] = keys[--from];
        } else {
            keys[--to] = stub->key;
            build->stub_sizes[--left] = stub->size;
        }
    }
}

enum sonde_status symbol_add_plt(struct symbol_build *build, const struct sonde__elf *elf)
{
    uint32_t capacity = symbol_count_plt(elf), sections = 0;
    struct slots slots = {0};
    struct stubs stubs = {.capacity = capacity};
    if (capacity == 0) {
        return SONDE_OK;
    }
    slots.slots = sonde__mem_alloc_array(capacity, sizeof *slots.slots);
    stubs.stubs = sonde__mem_alloc_array(capacity, sizeof *stubs.stubs);
    build->stub_sizes = sonde__mem_alloc_array(capacity, sizeof *build->stub_sizes);
    if (slots.slots == NULL || stubs.stubs == NULL || build->stub_sizes == NULL) {
        sonde__mem_free(slots.slots);
        sonde__mem_free(stubs.stubs);
        return SONDE_MEMORY;
    }
    find_slots(elf, build->index->arch, capacity, &slots);
    for (uint32_t i = 0; i < elf->shnum && slots.count != 0; i++) {
        struct sonde__elf_section section;
        if (!sonde__elf_section(elf, i, &section) || section.type != SONDE__SHT_RELA ||
            (section.flags & SONDE__SHF_ALLOC) == 0 || section.data == NULL) {
            continue;
        }
        read_relocations(build, elf, &section, &slots, &stubs);
        if (++sections == RELOCATION_SECTIONS_MAX) {
            break;
        }
    }
    merge(build, &stubs);
    sonde__mem_free(slots.slots);
    sonde__mem_free(stubs.stubs);
    return SONDE_OK;
}
