// SPDX-License-Identifier: Apache-2.0
/* Names of PLT stubs: each stub's code says which GOT cell it jumps through, and the relocation of
 * that cell says which symbol. */
#include <stdlib.h>

#include "arch_plt.h"
#include "base_status.h"
#include "mem_heap.h"
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
/* Sections of relocations that are read; programs have two. */
#define RELOCATION_SECTIONS_MAX 8u

struct slots {
    struct sonde__plt_slot *slots; /* sorted by cell */
    uint32_t count;
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
    if (!elf->is64 || (elf->machine != SONDE__EM_X86_64 && elf->machine != SONDE__EM_AARCH64)) {
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
    const struct sonde__plt_slot *slot_a = a, *slot_b = b;
    return (slot_a->cell > slot_b->cell) - (slot_a->cell < slot_b->cell);
}

static int compare_starts(const void *a, const void *b)
{
    const struct symbol_item *item_a = a, *item_b = b;
    return (item_a->start > item_b->start) - (item_a->start < item_b->start);
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

/* The first item that starts at `offset`, among the first `count` (sorted), or null. */
static const struct symbol_item *find_item(const struct symbol_build *build, uint32_t count,
                                           uint64_t offset)
{
    uint32_t low = 0, high = count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (build->items[middle].start < offset) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low < count && build->items[low].start == offset ? &build->items[low] : NULL;
}

/* The symbol that fills a cell: the relocation's, or for IRELATIVE the function whose resolver
 * stands at the addend. UINT32_MAX: nobody knows. */
static uint32_t find_target(const struct symbol_build *build, uint32_t sorted_count, uint64_t info,
                            uint64_t addend)
{
    const struct sonde__symbol_index *index = build->index;
    uint32_t type = (uint32_t)info, symbol = (uint32_t)(info >> 32);
    const struct symbol_item *item;
    uint32_t names, end, first;
    if (type != R_X86_64_IRELATIVE && type != R_AARCH64_IRELATIVE) {
        return symbol != 0 && symbol < index->tables[SYMBOL_TABLE_DYNSYM].count &&
                       symbol <= SYMBOL_REF_INDEX_MAX
                   ? symbol | (uint32_t)SYMBOL_TABLE_DYNSYM << SYMBOL_REF_TABLE_SHIFT
                   : UINT32_MAX;
    }
    item = addend - index->base < index->size ? find_item(build, sorted_count, addend - index->base)
                                              : NULL;
    if (item == NULL) {
        return UINT32_MAX;
    }
    first = (uint32_t)(item - build->items);
    /* A few names are enough to choose from: hostile files repeat addends. */
    for (end = first + 1;
         end < sorted_count && end - first < 16 && build->items[end].start == item->start; end++) {
    }
    return item[symbol_choose(index, item, end - first, &names)].ref;
}

static bool is_cell_type(uint32_t type, unsigned machine)
{
    return machine == SONDE__EM_X86_64
               ? type == R_X86_64_JUMP_SLOT || type == R_X86_64_GLOB_DAT ||
                     type == R_X86_64_IRELATIVE
               : type == R_AARCH64_JUMP_SLOT || type == R_AARCH64_GLOB_DAT ||
                     type == R_AARCH64_IRELATIVE;
}

/* Add an item for each slot of this cell. */
static void add_stubs(struct symbol_build *build, struct slots *slots, uint64_t cell,
                      uint32_t target)
{
    struct sonde__symbol_index *index = build->index;
    uint32_t low = 0, high = slots->count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (slots->slots[middle].cell < cell) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    for (; low < slots->count && slots->slots[low].cell == cell; low++) {
        struct sonde__plt_slot *slot = &slots->slots[low];
        struct symbol_item *item;
        if (slot->end == 0 || slot->start - index->base >= index->size ||
            build->count == build->capacity) {
            continue;
        }
        item = &build->items[build->count++];
        item->start = (uint32_t)(slot->start - index->base);
        item->size = (uint32_t)(slot->end - slot->start);
        item->ref = target | SYMBOL_REF_PLT;
        item->rank = SYMBOL_RANK_PLT;
        slot->end = 0; /* named */
    }
}

static void read_relocations(struct symbol_build *build, const struct sonde__elf *elf,
                             const struct sonde__elf_section *section, uint32_t sorted_count,
                             struct slots *slots)
{
    uint64_t lowest = slots->slots[0].cell, highest = slots->slots[slots->count - 1].cell;
    uint64_t count = section->size / SONDE__ELF_RELA64_BYTES;
    for (uint64_t i = 0; i < count; i++) {
        const uint8_t *at = section->data + i * SONDE__ELF_RELA64_BYTES;
        uint64_t cell, info, addend;
        uint32_t target;
        memcpy(&info, at + 8, 8);
        if (!is_cell_type((uint32_t)info, elf->machine)) {
            continue;
        }
        memcpy(&cell, at, 8);
        memcpy(&addend, at + 16, 8);
        if (cell < lowest || cell > highest) {
            continue;
        }
        target = find_target(build, sorted_count, info, addend);
        if (target != UINT32_MAX) {
            add_stubs(build, slots, cell, target);
        }
    }
}

/* Merge the items [middle, count) into the sorted ones before them. */
static void merge(struct symbol_build *build, uint32_t middle)
{
    uint32_t tail = build->count - middle, from = middle, to = build->count;
    struct symbol_item *items = build->items, *added = build->scratch;
    memcpy(added, items + middle, (size_t)tail * sizeof *items);
    qsort(added, tail, sizeof *added, compare_starts);
    while (tail > 0) {
        if (from > 0 && items[from - 1].start > added[tail - 1].start) {
            items[--to] = items[--from];
        } else {
            items[--to] = added[--tail];
        }
    }
}

enum sonde_status symbol_add_plt(struct symbol_build *build, const struct sonde__elf *elf)
{
    uint32_t capacity = symbol_count_plt(elf), sorted_count = build->count, sections = 0;
    struct slots slots = {0};
    if (capacity == 0) {
        return SONDE_OK;
    }
    slots.slots = sonde__mem_alloc_array(capacity, sizeof *slots.slots);
    if (slots.slots == NULL) {
        return SONDE_MEMORY;
    }
    find_slots(elf, build->index->arch, capacity, &slots);
    for (uint32_t i = 0; i < elf->shnum && slots.count != 0; i++) {
        struct sonde__elf_section section;
        if (!sonde__elf_section(elf, i, &section) || section.type != SONDE__SHT_RELA ||
            (section.flags & SONDE__SHF_ALLOC) == 0 || section.data == NULL) {
            continue;
        }
        read_relocations(build, elf, &section, sorted_count, &slots);
        if (++sections == RELOCATION_SECTIONS_MAX) {
            break;
        }
    }
    sonde__mem_free(slots.slots);
    merge(build, sorted_count);
    return SONDE_OK;
}
