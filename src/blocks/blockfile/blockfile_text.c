// SPDX-License-Identifier: Apache-2.0
/* Finds code that forms the address of a descriptor or reads that of a class, and follows the code
 * around it. Most code costs one comparison per word or byte.
 *
 * x86-64: 32 bits relative to the end of an instruction (lea), or an absolute address. aarch64:
 * adrp with add or ldr, or adr. Context: any thread. */

#include "arch_regs.h"
#include "base_search.h"
#include "blockfile_inside.h"
#include "mem_heap.h"
#include "mem_sort.h"

/* Bytes to follow before and after a site: some 20 instructions fill a stack block, with
 * computations of captures between them. */
enum { BEFORE = 512, AFTER = 512, ADD_WITHIN = 16 };

/* Boxes of __block variables may be filled long before: follow from the start of the function, if
 * it is known and within this distance. */
enum { BEFORE_MAX = 4096 };

/* A function may read a class once for all its blocks. */
enum { AFTER_CLASS = 4096 };

/* Limit of words with the address of a class: the linker makes one, or one per object. */
enum { CLASS_WORDS = 64 };

/* A stretch of code that is followed. */
struct stretch {
    const struct sonde__loaded *loaded;
    struct sonde__blockfile *file;
    const struct sonde__loaded_area *area;
    uint64_t begin, end;
    uint64_t lowest, highest;        /* range of the wanted addresses */
    struct blockfile_wanted *wanted; /* null: search for known descriptors */
    const uint64_t *words;           /* else the class and the words with its address */
    unsigned word_count;
    const uint64_t *known; /* sorted sites that fill known blocks */
    uint32_t known_count;
    struct blockfile_sites sites; /* aarch64: all places that form a wanted address */
    enum sonde_status status;
};

static void follow(struct stretch *s)
{
    struct blockfile_slots slots;
    if (s->begin == s->end || s->status != SONDE_OK) {
        return;
    }
    blockfile_slots_begin(&slots, s->loaded, s->file);
    slots.wanted = s->wanted;
    if (s->loaded->arch == SONDE_ARCH_X86_64) {
        blockfile_follow_x86_64(&slots, s->area, s->begin, s->end);
    } else {
        blockfile_follow_aarch64(&slots, s->area, s->begin, s->end);
    }
    s->status = slots.status;
}

static uint64_t begin_before(const struct stretch *s, uint64_t vaddr)
{
    const struct sonde__loaded_symbol *symbol = sonde__loaded_symbol_before(s->loaded, vaddr);
    if (symbol != NULL && vaddr - symbol->vaddr <= BEFORE_MAX) {
        return symbol->vaddr;
    }
    return vaddr - s->area->vaddr > BEFORE ? vaddr - BEFORE : s->area->vaddr;
}

/* Does a known block explain the read of a class at `vaddr`? */
static bool is_explained(const struct stretch *s, uint64_t vaddr)
{
    uint32_t at = SONDE__SEARCH(0, s->known_count, i, s->known[i] < vaddr);
    return at < s->known_count && s->known[at] - vaddr <= AFTER;
}

/* The instruction at `vaddr` forms or reads a wanted address. Overlapping stretches are followed as
 * one. */
static void take_site(struct stretch *s, uint64_t vaddr)
{
    uint64_t area_end = s->area->vaddr + s->area->size;
    uint64_t begin;
    uint64_t after = s->wanted != NULL ? AFTER_CLASS : AFTER;
    uint64_t end = area_end - vaddr > after ? vaddr + after : area_end;
    if (s->wanted != NULL && is_explained(s, vaddr)) {
        return;
    }
    begin = begin_before(s, vaddr);
    if (s->begin == s->end || begin > s->end) {
        follow(s);
        s->begin = begin;
    }
    s->end = end;
}

static bool is_sought(const struct stretch *s, uint64_t vaddr)
{
    if (vaddr - s->lowest > s->highest - s->lowest) {
        return false;
    }
    for (unsigned i = 0; i < s->word_count; i++) {
        if (s->words[i] == vaddr) {
            return true;
        }
    }
    return s->wanted == NULL && blockfile_desc_at(s->file, vaddr) != BLOCKFILE_NO_DESC;
}

static void search_x86_64(struct stretch *s)
{
    const struct sonde__loaded_area *area = s->area;
    bool absolute = (s->loaded->absolute || s->loaded->object) && s->highest <= INT32_MAX;
    if (area->size < 4) {
        return;
    }
    for (uint64_t i = 0; i <= area->size - 4; i++) {
        uint32_t word = sonde__base_le32(area->bytes + i);
        uint64_t target = area->vaddr + i + 4 + (uint64_t)(int64_t)(int32_t)word;
        if (is_sought(s, target) || (absolute && is_sought(s, word))) {
            take_site(s, area->vaddr + i);
        }
    }
}

/* The page formed by an adrp at a vaddr. */
static uint64_t adrp_page(uint32_t word, uint64_t vaddr)
{
    uint64_t pages = (word >> 29 & 3) | (word >> 5 & 0x7ffff) << 2;
    uint64_t far = (pages ^ 0x100000) - 0x100000;
    return (vaddr & ~(uint64_t)4095) + (far << 12);
}

/* Does this instruction form a wanted address in the page in `reg`, or read one there? */
static bool completes(const struct stretch *s, uint32_t word, uint64_t page, uint32_t reg)
{
    if ((word >> 5 & 31) != reg) {
        return false;
    }
    return ((word & 0xffc00000) == 0x91000000 && is_sought(s, page + (word >> 10 & 0xfff))) ||
           ((word & 0xffc00000) == 0xf9400000 &&
            is_sought(s, page + (uint64_t)(word >> 10 & 0xfff) * 8));
}

/* Does the outlined code called at a vaddr do so? */
static bool outlined_completes(const struct stretch *s, uint32_t call, uint64_t vaddr,
                               uint64_t page, uint32_t reg)
{
    const struct sonde__loaded_area *area;
    uint64_t target, last;
    bool is_call;
    if (!blockfile_branch(call, vaddr, &is_call, &target) ||
        !blockfile_outlined(s->loaded, target, &last)) {
        return false;
    }
    area = sonde__loaded_area_at(s->loaded, target);
    for (; target < last; target += 4) {
        if (completes(s, sonde__base_le32(area->bytes + (target - area->vaddr)), page, reg)) {
            return true;
        }
    }
    return false;
}

/* Does one of the next instructions do so? */
static bool is_completed(const struct stretch *s, uint64_t offset, uint64_t page, uint32_t reg)
{
    for (unsigned i = 1; i <= ADD_WITHIN && offset + (uint64_t)4 * i + 4 <= s->area->size; i++) {
        uint64_t at = offset + (uint64_t)4 * i;
        uint32_t word = sonde__base_le32(s->area->bytes + at);
        if (completes(s, word, page, reg) ||
            outlined_completes(s, word, s->area->vaddr + at, page, reg)) {
            return true;
        }
    }
    return false;
}

static uint64_t literal_distance(uint32_t word)
{
    uint64_t words = word >> 5 & 0x7ffff;
    return ((words ^ 0x40000) - 0x40000) << 2;
}

static void note_site(struct stretch *s, uint64_t vaddr)
{
    if (s->status == SONDE_OK) {
        s->status = blockfile_add_site(s->file, &s->sites, vaddr);
    }
}

static void search_aarch64(struct stretch *s)
{
    const struct sonde__loaded_area *area = s->area;
    uint64_t offset = (4 - area->vaddr % 4) % 4;
    for (; offset + 4 <= area->size; offset += 4) {
        uint32_t word = sonde__base_le32(area->bytes + offset);
        uint64_t vaddr = area->vaddr + offset;
        if (s->wanted != NULL && (word & 0xff000000) == 0x58000000 &&
            is_sought(s, vaddr + literal_distance(word))) { /* ldr of a near literal */
            note_site(s, vaddr);
        }
        if ((word & 0x1f000000) != 0x10000000) {
            continue;
        }
        if ((word >> 31) != 0) {
            uint64_t page = adrp_page(word, vaddr);
            if (page - (s->lowest & ~(uint64_t)4095) <=
                    s->highest - (s->lowest & ~(uint64_t)4095) &&
                is_completed(s, offset, page, word & 31)) {
                note_site(s, vaddr);
            }
        } else {
            uint64_t far = (word >> 29 & 3) | (word >> 5 & 0x7ffff) << 2;
            if (is_sought(s, vaddr + ((far ^ 0x100000) - 0x100000))) {
                note_site(s, vaddr);
            }
        }
    }
}

/* Follow the code at all sites. Callers of outlined sites are sites, too. */
static void take_sites(struct stretch *s)
{
    if (s->status == SONDE_OK) {
        s->status = blockfile_add_callers(s->loaded, s->file, &s->sites);
    }
    s->area = NULL;
    s->begin = s->end = 0;
    for (uint32_t i = 0; i < s->sites.count && s->status == SONDE_OK; i++) {
        const struct sonde__loaded_area *area = sonde__loaded_area_at(s->loaded, s->sites.items[i]);
        if (area == NULL) {
            continue;
        }
        if (area != s->area) {
            follow(s);
            s->area = area;
            s->begin = s->end = 0;
        }
        take_site(s, s->sites.items[i]);
    }
    follow(s);
    sonde__mem_free(s->sites.items);
}

static enum sonde_status search(struct stretch *s)
{
    const struct sonde__loaded *loaded = s->loaded;
    s->status = SONDE_OK;
    for (uint32_t i = 0; i < loaded->area_count && s->status == SONDE_OK; i++) {
        s->area = &loaded->areas[i];
        s->begin = s->end = 0;
        if ((s->area->kinds & SONDE__LOADED_CODE) == 0) {
            continue;
        }
        if (loaded->arch == SONDE_ARCH_X86_64) {
            search_x86_64(s);
            follow(s);
        } else {
            search_aarch64(s);
        }
    }
    if (loaded->arch != SONDE_ARCH_X86_64) {
        take_sites(s);
    }
    return s->status;
}

enum sonde_status blockfile_read_code(const struct sonde__loaded *loaded,
                                      struct sonde__blockfile *file)
{
    struct stretch s = {.loaded = loaded, .file = file};
    if (file->desc_count == 0) {
        return SONDE_OK;
    }
    s.lowest = file->descs[0].vaddr;
    s.highest = file->descs[file->desc_count - 1].vaddr;
    return search(&s);
}

/* The class, and all words of areas and address table that point to it. */
static unsigned find_words(const struct sonde__loaded *loaded, uint64_t class_at,
                           uint64_t words[CLASS_WORDS])
{
    unsigned count = 0;
    words[count++] = class_at;
    for (uint32_t i = 0; i < loaded->word_count && count < CLASS_WORDS; i++) {
        if (loaded->words[i] == class_at) {
            words[count++] = loaded->words_at + (uint64_t)i * 8;
        }
    }
    for (uint32_t i = 0; i < loaded->area_count; i++) {
        const struct sonde__loaded_area *area = &loaded->areas[i];
        uint64_t vaddr = (area->vaddr + 7) & ~(uint64_t)7, word;
        uint64_t end = area->vaddr + area->size;
        if (area->pointers == NULL && !loaded->absolute) {
            continue;
        }
        for (; vaddr + 8 <= end && count < CLASS_WORDS; vaddr += 8) {
            if (sonde__loaded_word(loaded, vaddr, &word) && word == class_at) {
                words[count++] = vaddr;
            }
        }
    }
    return count;
}

/* Sorted sites that fill known blocks; the caller frees it. Null: no memory. */
static uint64_t *known_places(const struct sonde__blockfile *file, uint32_t *ret_count)
{
    uint64_t *places = sonde__mem_alloc_array((size_t)file->block_count + 1, sizeof *places);
    uint32_t count = 0;
    for (uint32_t i = 0; places != NULL && i < file->block_count; i++) {
        if (!file->blocks[i].is_global) {
            places[count++] = file->blocks[i].at;
        }
    }
    sonde__mem_sort(places, count, sizeof *places, sizeof *places);
    *ret_count = count;
    return places;
}

enum sonde_status blockfile_search_code(const struct sonde__loaded *loaded,
                                        struct sonde__blockfile *file,
                                        struct blockfile_wanted *wanted)
{
    uint64_t words[CLASS_WORDS], *places;
    struct stretch s = {.loaded = loaded, .file = file, .wanted = wanted, .words = words};
    if (wanted->class_at == 0) {
        return SONDE_OK;
    }
    places = known_places(file, &s.known_count);
    if (places == NULL) {
        return SONDE_MEMORY;
    }
    s.known = places;
    s.word_count = find_words(loaded, wanted->class_at, words);
    s.lowest = s.highest = words[0];
    for (unsigned i = 1; i < s.word_count; i++) {
        s.lowest = words[i] < s.lowest ? words[i] : s.lowest;
        s.highest = words[i] > s.highest ? words[i] : s.highest;
    }
    (void)search(&s);
    sonde__mem_free(places);
    return s.status;
}
