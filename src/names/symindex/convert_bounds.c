// SPDX-License-Identifier: Apache-2.0
/* The code that a unit claims by its own ranges (DWARF 5 §3.1.1). A line table has no row where
 * code of nobody follows a function, so the last row seems to reach over it: outside of the unit's
 * ranges it does not count. A unit without ranges, or with malformed ones, claims all of its rows.
 */
#include <stdlib.h>

#include "base_search.h"
#include "convert.h"
#include "mem_sort.h"

static void add_bound(void *ctx, uint64_t low, uint64_t high)
{
    struct convert *c = ctx;
    uint64_t from = low - c->base, to = high - c->base;
    if (low < c->base || from >= c->size || to > c->size ||
        !CONVERT_ROOM(c, bounds, bound_count, bound_capacity)) {
        return;
    }
    c->bounds[c->bound_count++] =
        (struct bound){(uint32_t)from, to > UINT32_MAX ? UINT32_MAX : (uint32_t)to};
}

static int by_low(const void *a, const void *b)
{
    const struct bound *x = a, *y = b;
    return SONDE__ORDER2(x, y, low, high);
}

static void read_bounds(struct convert *c)
{
    const struct sonde__dwarf_unit *unit = &c->unit;
    bool whole = true;
    c->bound_count = 0;
    if (unit->has_ranges) {
        whole = sonde__dwarf_each_range(c->sections, unit, unit->ranges, add_bound, c);
    } else if (unit->has_low_pc && unit->low_pc < unit->high_pc &&
               !sonde__dwarf_discarded(unit, unit->low_pc)) {
        add_bound(c, unit->low_pc, unit->high_pc);
    }
    c->is_bounded = whole && c->bound_count != 0 && c->status == SONDE_OK;
    if (!c->is_bounded) {
        return;
    }
    qsort(c->bounds, c->bound_count, sizeof *c->bounds, by_low);
    for (size_t i = 1; i < c->bound_count; i++) { /* reach: overlapping ones count together */
        if (c->bounds[i].high < c->bounds[i - 1].high) {
            c->bounds[i].high = c->bounds[i - 1].high;
        }
    }
}

void convert_bounds_begin(struct convert *c)
{
    c->bounds_known = false;
}

bool convert_is_in_unit(struct convert *c, uint32_t at, uint32_t *ret_resumes)
{
    if (!c->bounds_known) {
        read_bounds(c);
        c->bounds_known = true;
    }
    size_t next = SONDE__SEARCH(0, c->bound_count, i, c->bounds[i].low <= at);
    if (!c->is_bounded || (next != 0 && at < c->bounds[next - 1].high)) {
        return true;
    }
    *ret_resumes = next < c->bound_count ? c->bounds[next].low : UINT32_MAX;
    return false;
}
