// SPDX-License-Identifier: Apache-2.0
/* Range lists: .debug_ranges (DWARF 4 §2.17.3) and .debug_rnglists (DWARF 5 §7.25). */
#include "dwarf_constants.h"
#include "dwarf_unit.h"

struct list {
    const struct sonde__dwarf_sections *sections;
    const struct sonde__dwarf_unit *unit;
    uint64_t base;
    bool base_discarded;
    void (*each)(void *ctx, uint64_t low, uint64_t high);
    void *ctx;
};

static void give(const struct list *list, uint64_t low, uint64_t high)
{
    if (low < high && !sonde__dwarf_discarded(list->unit, low)) {
        list->each(list->ctx, low, high);
    }
}

static void give_offsets(const struct list *list, uint64_t low, uint64_t high)
{
    if (!list->base_discarded) {
        give(list, list->base + low, list->base + high);
    }
}

static void set_base(struct list *list, uint64_t base)
{
    list->base = base;
    /* units with several ranges have low_pc 0 as base, which does not mean discarded */
    list->base_discarded = base != 0 && sonde__dwarf_discarded(list->unit, base);
}

static bool each_old(struct list *list, struct sonde__bytes *at)
{
    unsigned size = list->unit->address_size;
    uint64_t top = size == 4 ? UINT32_MAX : UINT64_MAX;
    for (;;) {
        uint64_t low = sonde__base_bytes_uint(at, size);
        uint64_t high = sonde__base_bytes_uint(at, size);
        if (at->failed) {
            return false;
        }
        if (low == 0 && high == 0) {
            return true;
        }
        if (low == top) {
            set_base(list, high);
        } else if (low != top - 1) { /* lld's mark for discarded code in this section */
            give_offsets(list, low, high);
        }
    }
}

/* Read one entry; false at the end of the list or if it is malformed (the cursor has failed). */
static bool one_entry(struct list *list, struct sonde__bytes *at)
{
    unsigned size = list->unit->address_size;
    uint64_t low = 0;
    uint64_t high = 0;
    switch (sonde__base_bytes_u8(at)) {
    case DW_RLE_end_of_list:
        return false;
    case DW_RLE_base_addressx:
        if (!sonde__dwarf_address(list->sections, list->unit, sonde__base_bytes_uleb(at), &low)) {
            return sonde__base_bytes_fail(at);
        }
        set_base(list, low);
        return true;
    case DW_RLE_startx_endx:
        if (!sonde__dwarf_address(list->sections, list->unit, sonde__base_bytes_uleb(at), &low) ||
            !sonde__dwarf_address(list->sections, list->unit, sonde__base_bytes_uleb(at), &high)) {
            return sonde__base_bytes_fail(at);
        }
        break;
    case DW_RLE_startx_length:
        if (!sonde__dwarf_address(list->sections, list->unit, sonde__base_bytes_uleb(at), &low)) {
            return sonde__base_bytes_fail(at);
        }
        high = low + sonde__base_bytes_uleb(at);
        break;
    case DW_RLE_offset_pair:
        low = sonde__base_bytes_uleb(at);
        high = sonde__base_bytes_uleb(at);
        if (!at->failed) {
            give_offsets(list, low, high);
        }
        return !at->failed;
    case DW_RLE_base_address:
        set_base(list, sonde__base_bytes_uint(at, size));
        return !at->failed;
    case DW_RLE_start_end:
        low = sonde__base_bytes_uint(at, size);
        high = sonde__base_bytes_uint(at, size);
        break;
    case DW_RLE_start_length:
        low = sonde__base_bytes_uint(at, size);
        high = low + sonde__base_bytes_uleb(at);
        break;
    default:
        return sonde__base_bytes_fail(at);
    }
    if (!at->failed) {
        give(list, low, high);
    }
    return !at->failed;
}

bool sonde__dwarf_each_range(const struct sonde__dwarf_sections *sections,
                             const struct sonde__dwarf_unit *unit, uint64_t offset,
                             void (*each)(void *ctx, uint64_t low, uint64_t high), void *ctx)
{
    struct list list = {sections, unit, 0, false, each, ctx};
    struct sonde__bytes at = unit->version >= 5 ? sections->rnglists : sections->ranges;
    at.failed = false;
    set_base(&list, unit->has_low_pc ? unit->low_pc : 0);
    if (unit->version < 5) {
        offset += unit->split_ranges_base;
    }
    if (!sonde__base_bytes_seek(&at, offset)) {
        return false;
    }
    if (unit->version < 5) {
        return each_old(&list, &at);
    }
    while (one_entry(&list, &at)) {
    }
    return !at.failed;
}
