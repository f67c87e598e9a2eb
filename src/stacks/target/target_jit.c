// SPDX-License-Identifier: Apache-2.0
#include "target_jit.h"

#include <string.h>

#include "mem_heap.h"
#include "os.h"
#include "target_private.h"

/* Limits of entries of a list, bytes of one ELF, bytes of all. LLVM makes an ELF of some KiB for
 * each module that it compiles. The rest is not described. */
#define LIST_MAX  65536u
#define ELF_BYTES ((uint64_t)16 << 20)
#define ALL_BYTES ((uint64_t)256 << 20)
/* Limit of ELFs with call frame information; these are kept. */
#define KEPT_MAX 1024u
/* Pause before the next reading, as a multiple of the time of the last one. */
#define PAUSE_FACTOR 50u

/* struct jit_descriptor { uint32_t version, action_flag; entry *relevant, *first; } */
struct list {
    uint32_t version, action;
    uint64_t relevant, first;
};

/* struct jit_code_entry { entry *next, *prev; const char *symfile_addr; uint64_t symfile_size; } */
struct list_entry {
    uint64_t next, before, elf, size;
};

static bool read_words(struct sonde__target *target, uint64_t address, void *ret, size_t size)
{
    return address != 0 && target->ops->read(target, address, ret, size) == size;
}

static bool find_in(const struct sonde__elf_symbols *table, uint64_t *ret_vaddr)
{
    static const char name[] = "__jit_debug_descriptor";
    struct sonde__elf_symbol symbol;
    for (uint32_t i = 0; sonde__elf_symbols_at(table, i, &symbol); i++) {
        if (symbol.name[0] == '_' && symbol.section != SONDE__SHN_UNDEF &&
            strcmp(symbol.name, name) == 0) {
            *ret_vaddr = symbol.value;
            return true;
        }
    }
    return false;
}

/* Find the list of an image by its symbols of any kind, as debuggers do. */
static bool find_list(struct sonde__target *target, uint32_t index, struct list *ret_list)
{
    const struct sonde__image *image = &target->images.images[index];
    const struct sonde__target_loaded *loaded = &target->images.loaded[index];
    struct sonde__elf_section section;
    struct sonde__elf_symbols table;
    uint64_t vaddr = 0;
    if ((image->flags & SONDE__IMAGE_VDSO) != 0 || !loaded->readable) {
        return false;
    }
    bool found = (sonde__elf_dynamic_symbols(&loaded->elf, &table) && find_in(&table, &vaddr)) ||
                 (sonde__elf_section_by_type(&loaded->elf, SONDE__SHT_SYMTAB, &section) &&
                  sonde__elf_symbols(&loaded->elf, &section, &table) && find_in(&table, &vaddr));
    return found && read_words(target, vaddr + image->bias, ret_list, sizeof *ret_list) &&
           ret_list->version == 1;
}

struct reading {
    struct sonde__target *target;
    enum sonde_status (*each)(void *ctx, const void *data, size_t size);
    void *ctx;
    uint64_t bytes, bad;
};

static enum sonde_status read_elf(struct reading *r, const struct list_entry *entry)
{
    enum sonde_status status = SONDE_OK;
    if (entry->size == 0 || entry->size > ELF_BYTES || r->bytes + entry->size > ALL_BYTES) {
        r->bad++;
        return SONDE_OK;
    }
    r->bytes += entry->size;
    void *elf = sonde__mem_alloc((size_t)entry->size);
    if (elf == NULL) {
        return SONDE_MEMORY;
    }
    if (read_words(r->target, entry->elf, elf, (size_t)entry->size)) {
        status = r->each(r->ctx, elf, (size_t)entry->size);
    } else {
        r->bad++;
    }
    sonde__mem_free(elf);
    return status;
}

enum sonde_status sonde__target_each_jit_elf(struct sonde__target *target,
                                             enum sonde_status (*each)(void *ctx, const void *data,
                                                                       size_t size),
                                             void *ctx, uint64_t *ret_bad)
{
    struct reading r = {.target = target, .each = each, .ctx = ctx};
    enum sonde_status status = SONDE_OK;
    for (uint32_t i = 0; i < target->images.image_count && status == SONDE_OK; i++) {
        struct list list;
        struct list_entry entry;
        if (!find_list(target, i, &list)) {
            continue;
        }
        uint64_t at = list.first;
        for (unsigned k = 0; k < LIST_MAX && status == SONDE_OK; k++, at = entry.next) {
            if (!read_words(target, at, &entry, sizeof entry)) {
                break;
            }
            status = read_elf(&r, &entry);
        }
    }
    *ret_bad += r.bad;
    return status;
}

/* --- call frame information --- */

/* Find the place in order of address. False: it would overlap another range. */
static bool place_of(const struct sonde__target_jit *jit, uint64_t start, uint64_t end,
                     uint32_t *ret_at)
{
    uint32_t at = 0;
    while (at < jit->set.range_count && jit->ranges[at].start < start) {
        at++;
    }
    *ret_at = at;
    return (at == 0 || jit->ranges[at - 1].end <= start) &&
           (at == jit->set.range_count || end <= jit->ranges[at].start);
}

static enum sonde_status add(struct sonde__target_jit *jit, const void *data, size_t size,
                             unsigned arch)
{
    struct sonde__image image = {.path = "", .arch = (uint8_t)arch};
    struct sonde__elf elf;
    uint32_t at, count = jit->set.image_count;
    void *copy = sonde__mem_alloc(size);
    bool has_room =
        copy != NULL && sonde__mem_grow(&jit->images, count, &jit->image_capacity, sizeof image) &&
        sonde__mem_grow(&jit->ranges, count, &jit->range_capacity, sizeof *jit->ranges) &&
        sonde__mem_grow(&jit->copies, count, &jit->copy_capacity, sizeof *jit->copies);
    jit->set.images = jit->images; /* they may have moved, even if this ELF is not added */
    jit->set.ranges = jit->ranges;
    if (!has_room) {
        sonde__mem_free(copy);
        return SONDE_MEMORY;
    }
    memcpy(copy, data, size);
    if (sonde__elf_open(copy, size, &elf, NULL) != SONDE_OK || !elf.is64 || elf.arch != arch ||
        elf.type == SONDE__ET_REL || !sonde__elf_text_range(&elf, &image.start, &image.end) ||
        !sonde__elf_cfi(&elf, &image.cfi) || !place_of(jit, image.start, image.end, &at)) {
        sonde__mem_free(copy);
        return SONDE_OK;
    }
    memmove(jit->ranges + at + 1, jit->ranges + at, (count - at) * sizeof *jit->ranges);
    jit->ranges[at] = (struct sonde__image_range){image.start, image.end, count};
    jit->images[count] = image;
    jit->copies[count] = copy;
    jit->set.image_count = jit->set.range_count = count + 1;
    return SONDE_OK;
}

static enum sonde_status add_elf(void *ctx, const void *data, size_t size)
{
    struct sonde__target *target = ctx;
    return target->jit.set.image_count < KEPT_MAX ? add(&target->jit, data, size, target->arch)
                                                  : SONDE_LIMIT;
}

/* A hash that changes with the lists, or with the code in them. Never 0. */
static uint64_t lists_now(struct sonde__target *target)
{
    uint64_t now = target->images.set.generation * 2 + 1;
    for (uint32_t i = 0; i < target->images.image_count; i++) {
        struct list list;
        struct list_entry entry;
        if (!find_list(target, i, &list)) {
            continue;
        }
        now = (now ^ list.first ^ list.relevant << 17) * 0x9e3779b97f4a7c15;
        if (read_words(target, list.first, &entry, sizeof entry)) { /* its address may recur */
            now = (now ^ entry.next ^ entry.elf << 9 ^ entry.size << 41) * 0x9e3779b97f4a7c15;
        }
    }
    return now | 1;
}

static bool has_code_of_no_image(const struct sonde__target *target,
                                 const struct sonde_stack *stack)
{
    for (uint32_t i = 0; i < stack->count; i++) {
        const struct sonde__image_range *range =
            sonde__image_range_find(&target->images.set, stack->pcs[i]);
        if (range != NULL && range->image == SONDE__IMAGE_NONE) { /* described code changes, too */
            return true;
        }
    }
    return false;
}

bool sonde__target_jit_learn(struct sonde__target *target, const struct sonde_stack *stack)
{
    uint64_t bad = 0;
    if (!has_code_of_no_image(target, stack)) {
        return false;
    }
    uint64_t begin_ns = sonde__os_now_ns();
    if (begin_ns < target->jit.next_ns) {
        return false;
    }
    uint64_t lists = lists_now(target);
    bool is_new = lists != target->jit.lists, had_images = target->jit.set.image_count > 0;
    if (is_new) {
        sonde__target_jit_done(&target->jit);
        if (sonde__target_each_jit_elf(target, add_elf, target, &bad) != SONDE_OK) {
            bad++; /* what was added before stays */
        }
        target->jit.lists = lists;
    }
    target->jit.next_ns = begin_ns + PAUSE_FACTOR * (sonde__os_now_ns() - begin_ns);
    return is_new && (had_images || target->jit.set.image_count > 0);
}

void sonde__target_jit_done(struct sonde__target_jit *jit)
{
    for (uint32_t i = 0; i < jit->set.image_count; i++) {
        sonde__mem_free(jit->copies[i]);
    }
    sonde__mem_free(jit->copies);
    sonde__mem_free(jit->images);
    sonde__mem_free(jit->ranges);
    *jit = (struct sonde__target_jit){0};
}
