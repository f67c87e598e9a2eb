// SPDX-License-Identifier: Apache-2.0
/* Outlined code of aarch64, and its callers. It is recognised by form, because its name
 * (OUTLINED_FUNCTION_7) may be stripped: straight code without a frame record. Following ordinary
 * code of that form does no harm. Source: LLVM's AArch64InstrInfo.cpp, buildOutlinedFrame().
 * Context: any thread. */

#include "base_search.h"
#include "base_status.h"
#include "blockfile_inside.h"
#include "mem_heap.h"
#include "mem_sort.h"

/* WORDS_MAX: longer outlined code was never met. ROUNDS: nesting of outlined code. */
enum { WORDS_MAX = 48, ROUNDS = 3 };
/* More than in any file; more is hostile. */
#define SITES_MAX ((uint32_t)1 << 20)

bool blockfile_branch(uint32_t word, uint64_t vaddr, bool *ret_call, uint64_t *ret_target)
{
    uint64_t far = word & 0x3ffffff;
    if ((word & 0x7c000000) != 0x14000000) {
        return false;
    }
    *ret_call = (word >> 31) != 0;
    *ret_target = vaddr + (((far ^ 0x2000000) - 0x2000000) << 2);
    return true;
}

static bool is_end(uint32_t word)
{
    return (word & 0xfc000000) == 0x14000000 ||
           (word & 0xffbff000) == 0xd61f0000 || /* b, br, ret */
           (word & 0xfefff000) == 0xd61f0000;   /* braa, ... */
}

/* Does control continue after this instruction, and does it store no frame record? */
static bool is_inside(uint32_t word)
{
    if ((word >> 25 & 14) == 10) {
        return (word & 0xfc000000) == 0x94000000 ||
               (word & 0xfffff000) == 0xd63f0000 ||                                    /* bl, blr */
               (word & 0xfeff0000) == 0xd63f0000 || (word & 0xfffff01f) == 0xd503201f; /* hints */
    }
    return word != 0 && (word & 0xfe407fff) != 0xa8007bfd; /* stp x29, x30, [sp...] */
}

bool blockfile_outlined(const struct sonde__loaded *loaded, uint64_t vaddr, uint64_t *ret_last)
{
    const struct sonde__loaded_area *area = sonde__loaded_area_at(loaded, vaddr);
    if (area == NULL || (area->kinds & SONDE__LOADED_CODE) == 0 || vaddr % 4 != 0) {
        return false;
    }
    for (unsigned i = 0; i < WORDS_MAX; i++, vaddr += 4) {
        uint32_t word;
        if (vaddr - area->vaddr + 4 > area->size) {
            return false;
        }
        word = sonde__base_le32(area->bytes + (vaddr - area->vaddr));
        if (is_end(word)) {
            *ret_last = vaddr;
            return true;
        }
        if (!is_inside(word)) {
            return false;
        }
    }
    return false;
}

/* --- sites --- */

enum sonde_status blockfile_add_site(struct sonde__blockfile *file, struct blockfile_sites *sites,
                                     uint64_t vaddr)
{
    if (sites->count == SITES_MAX) {
        file->damage = "too much code looks like blocks; the rest is not followed";
        return SONDE_OK;
    }
    if (!SONDE__MEM_ADD(sites->items, sites->count, sites->capacity, vaddr)) {
        return SONDE_MEMORY;
    }
    return SONDE_OK;
}

/* First of `count` sites at or after a vaddr. */
static uint32_t first_from(const struct blockfile_sites *sites, uint32_t count, uint64_t vaddr)
{
    return SONDE__SEARCH(0, count, i, sites->items[i] < vaddr);
}

/* A filter, because most branches go far from any site. Each bit is for 256 bytes of code, and
 * shared by several such ranges. */
enum { NEAR_SHIFT = 8, NEAR_BITS = 1 << 18 };
_Static_assert(4 * WORDS_MAX <= 1 << NEAR_SHIFT, "sites near a target are in two of them");

struct near {
    uint64_t bits[NEAR_BITS / 64];
};

static bool is_near(const struct near *near, uint64_t vaddr)
{
    uint64_t bit = (vaddr >> NEAR_SHIFT) % NEAR_BITS;
    return (near->bits[bit / 64] >> bit % 64 & 1) != 0;
}

static void set_near(struct near *ret_near, const struct blockfile_sites *sites)
{
    *ret_near = (struct near){{0}};
    for (uint32_t i = 0; i < sites->count; i++) {
        uint64_t bit = (sites->items[i] >> NEAR_SHIFT) % NEAR_BITS;
        ret_near->bits[bit / 64] |= (uint64_t)1 << bit % 64;
    }
}

static bool leads_to_site(const struct sonde__loaded *loaded, const struct blockfile_sites *sites,
                          uint32_t count, uint64_t target)
{
    uint32_t at = first_from(sites, count, target);
    uint64_t last;
    return at < count && sites->items[at] - target < (uint64_t)4 * WORDS_MAX &&
           blockfile_outlined(loaded, target, &last) && sites->items[at] <= last;
}

/* Append the branches of an area to the first `count` sites. */
static enum sonde_status add_branches(const struct sonde__loaded *loaded,
                                      const struct sonde__loaded_area *area,
                                      struct sonde__blockfile *file, struct blockfile_sites *sites,
                                      uint32_t count, const struct near *near)
{
    enum sonde_status status = SONDE_OK;
    for (uint64_t offset = (4 - area->vaddr % 4) % 4;
         status == SONDE_OK && offset + 4 <= area->size; offset += 4) {
        uint64_t target, vaddr = area->vaddr + offset;
        bool call;
        if (blockfile_branch(sonde__base_le32(area->bytes + offset), vaddr, &call, &target) &&
            (is_near(near, target) || is_near(near, target + (uint64_t)4 * WORDS_MAX - 1)) &&
            leads_to_site(loaded, sites, count, target)) {
            status = blockfile_add_site(file, sites, vaddr);
        }
    }
    return status;
}

static enum sonde_status add_round(const struct sonde__loaded *loaded,
                                   struct sonde__blockfile *file, struct blockfile_sites *sites)
{
    uint32_t count = sites->count;
    struct near near;
    enum sonde_status status = SONDE_OK;
    set_near(&near, sites);
    for (uint32_t i = 0; i < loaded->area_count && status == SONDE_OK; i++) {
        if ((loaded->areas[i].kinds & SONDE__LOADED_CODE) != 0) {
            status = add_branches(loaded, &loaded->areas[i], file, sites, count, &near);
        }
    }
    return status;
}

enum sonde_status blockfile_add_callers(const struct sonde__loaded *loaded,
                                        struct sonde__blockfile *file,
                                        struct blockfile_sites *sites)
{
    uint32_t before = 0;
    for (unsigned i = 0; i < ROUNDS && sites->count != before; i++) {
        uint32_t kept = 0;
        before = sites->count;
        SONDE_TRY(add_round(loaded, file, sites));
        sonde__mem_sort(sites->items, sites->count, sizeof *sites->items, sizeof *sites->items);
        for (uint32_t k = 0; k < sites->count; k++) {
            if (kept == 0 || sites->items[kept - 1] != sites->items[k]) {
                sites->items[kept++] = sites->items[k];
            }
        }
        sites->count = kept;
    }
    return SONDE_OK;
}
