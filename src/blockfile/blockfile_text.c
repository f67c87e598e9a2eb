// SPDX-License-Identifier: Apache-2.0
/* Where code forms the address of a descriptor. Both searches look at all code and pass over almost
 * all of it at one comparison a word or byte; the stretch around a find is followed then,
 * instruction by instruction.
 *
 * x86-64: 32 bits that lead to a descriptor from the end of an instruction (lea), or are its
 * address. aarch64: adrp and add, or adr. Context: any thread. */
#include "arch_regs.h"
#include "blockfile_inside.h"
#include "mem_heap.h"

/* A block on the stack is filled by some 20 instructions; captures may come in between. */
enum { BEFORE = 512, AFTER = 512, ADD_WITHIN = 16 };

/* Boxes of __block variables are filled at any time before: from where the function begins, if that
 * is known and not farther away than this. */
enum { BEFORE_MAX = 4096 };

/* A stretch of code that is followed. */
struct stretch {
    const struct sonde__loaded *loaded;
    struct sonde__blockfile *file;
    const struct sonde__loaded_area *area;
    uint64_t begin, end;
    uint64_t lowest, highest; /* descriptors */
    enum sonde_status status;
};

static void follow(struct stretch *s)
{
    struct blockfile_slots slots;
    if (s->begin == s->end || s->status != SONDE_OK) {
        return;
    }
    blockfile_slots_begin(&slots, s->loaded, s->file);
    if (s->loaded->arch == SONDE__ARCH_X86_64) {
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

/* A descriptor's address is formed at `vaddr`. Stretches that touch are one. */
static void take_site(struct stretch *s, uint64_t vaddr)
{
    uint64_t area_end = s->area->vaddr + s->area->size;
    uint64_t begin = begin_before(s, vaddr);
    uint64_t end = area_end - vaddr > AFTER ? vaddr + AFTER : area_end;
    if (s->begin == s->end || begin > s->end) {
        follow(s);
        s->begin = begin;
    }
    s->end = end;
}

static bool is_desc(const struct stretch *s, uint64_t vaddr)
{
    return vaddr - s->lowest <= s->highest - s->lowest &&
           blockfile_desc_at(s->file, vaddr) != BLOCKFILE_NO_DESC;
}

static void search_x86_64(struct stretch *s)
{
    const struct sonde__loaded_area *area = s->area;
    bool absolute = (s->loaded->absolute || s->loaded->object) && s->highest <= INT32_MAX;
    if (area->size < 4) {
        return;
    }
    for (uint64_t i = 0; i <= area->size - 4; i++) {
        uint32_t word = blockfile_word(area->bytes + i);
        uint64_t target = area->vaddr + i + 4 + (uint64_t)(int64_t)(int32_t)word;
        if (is_desc(s, target) || (absolute && is_desc(s, word))) {
            take_site(s, area->vaddr + i);
        }
    }
}

/* The page of adrp at a vaddr. */
static uint64_t adrp_page(uint32_t word, uint64_t vaddr)
{
    uint64_t pages = (word >> 29 & 3) | (word >> 5 & 0x7ffff) << 2;
    uint64_t far = (pages ^ 0x100000) - 0x100000;
    return (vaddr & ~(uint64_t)4095) + (far << 12);
}

/* Does an add that follows make it a descriptor's address? */
static bool adds_to_desc(const struct stretch *s, uint64_t offset, uint64_t page, uint32_t reg)
{
    for (unsigned i = 1; i <= ADD_WITHIN && offset + (uint64_t)4 * i + 4 <= s->area->size; i++) {
        uint32_t word = blockfile_word(s->area->bytes + offset + (uint64_t)4 * i);
        if ((word & 0xffc00000) == 0x91000000 && (word >> 5 & 31) == reg &&
            is_desc(s, page + (word >> 10 & 0xfff))) {
            return true;
        }
    }
    return false;
}

static void search_aarch64(struct stretch *s)
{
    const struct sonde__loaded_area *area = s->area;
    uint64_t offset = (4 - area->vaddr % 4) % 4;
    for (; offset + 4 <= area->size; offset += 4) {
        uint32_t word = blockfile_word(area->bytes + offset);
        uint64_t vaddr = area->vaddr + offset;
        if ((word & 0x1f000000) != 0x10000000) {
            continue;
        }
        if ((word >> 31) != 0) {
            uint64_t page = adrp_page(word, vaddr);
            if (page - (s->lowest & ~(uint64_t)4095) <=
                    s->highest - (s->lowest & ~(uint64_t)4095) &&
                adds_to_desc(s, offset, page, word & 31)) {
                take_site(s, vaddr);
            }
        } else {
            uint64_t far = (word >> 29 & 3) | (word >> 5 & 0x7ffff) << 2;
            if (is_desc(s, vaddr + ((far ^ 0x100000) - 0x100000))) {
                take_site(s, vaddr);
            }
        }
    }
}

enum sonde_status blockfile_read_code(const struct sonde__loaded *loaded,
                                      struct sonde__blockfile *file)
{
    if (file->desc_count == 0) {
        return SONDE_OK;
    }
    for (uint32_t i = 0; i < loaded->area_count; i++) {
        struct stretch s = {.loaded = loaded,
                            .file = file,
                            .area = &loaded->areas[i],
                            .lowest = file->descs[0].vaddr,
                            .highest = file->descs[file->desc_count - 1].vaddr,
                            .status = SONDE_OK};
        if ((s.area->kinds & SONDE__LOADED_CODE) == 0) {
            continue;
        }
        if (loaded->arch == SONDE__ARCH_X86_64) {
            search_x86_64(&s);
        } else {
            search_aarch64(&s);
        }
        follow(&s);
        if (s.status != SONDE_OK) {
            return s.status;
        }
    }
    return SONDE_OK;
}
