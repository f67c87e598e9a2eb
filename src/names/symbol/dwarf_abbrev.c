// SPDX-License-Identifier: Apache-2.0
/* Abbreviation tables (DWARF 5 §7.5.3). A table with codes 1, 2, 3 …, as compilers make them, is
 * indexed directly; others are sorted by code. */
#include <string.h>

#include "dwarf_unit.h"
#include "mem_heap.h"
#include "mem_sort.h"

/* Real tables have at most a few thousand entries with a few dozen attributes each. This bounds the
 * memory for hostile ones. */
#define ENTRIES_MAX (1u << 20)
#define ATTRS_MAX   (1u << 22)

static bool read_entry(struct sonde__dwarf_abbrevs *t, struct sonde__bytes *at, uint64_t code)
{
    if (t->count >= ENTRIES_MAX ||
        !sonde__mem_grow(&t->entries, t->count, &t->capacity, sizeof *t->entries)) {
        return false;
    }
    struct sonde__dwarf_abbrev *entry = &t->entries[t->count];
    entry->code = code;
    entry->tag = (uint16_t)sonde__base_bytes_uleb(at);
    entry->children = sonde__base_bytes_u8(at) != 0;
    entry->first = (uint32_t)t->attr_count;
    entry->count = 0;
    for (;;) {
        uint64_t name = sonde__base_bytes_uleb(at);
        uint64_t form = sonde__base_bytes_uleb(at);
        int64_t implicit =
            form == 0x21 ? sonde__base_bytes_sleb(at) : 0; /* DW_FORM_implicit_const */
        if ((name == 0 && form == 0) || at->failed) {
            break;
        }
        if (entry->count == UINT16_MAX || t->attr_count >= ATTRS_MAX ||
            !SONDE__MEM_ADD(t->attrs, t->attr_count, t->attr_capacity,
                            (struct sonde__dwarf_attr){name > UINT16_MAX ? 0 : (uint16_t)name,
                                                       form > UINT16_MAX ? 0 : (uint16_t)form,
                                                       implicit})) {
            return false;
        }
        entry->count++;
    }
    t->dense = t->dense && code == t->count + 1;
    t->count++;
    return true;
}

enum sonde_status sonde__dwarf_abbrevs_load(const struct sonde__dwarf_sections *sections,
                                            uint64_t offset, struct sonde__dwarf_abbrevs *t)
{
    struct sonde__bytes at = sections->abbrev;
    if (t->valid && t->offset == offset) {
        return SONDE_OK;
    }
    t->valid = false;
    t->offset = offset;
    t->count = 0;
    t->attr_count = 0;
    t->dense = true;
    at.failed = false;
    (void)sonde__base_bytes_seek(&at, offset);
    for (;;) {
        uint64_t code = sonde__base_bytes_uleb(&at);
        if (code == 0 || at.failed) {
            break;
        }
        if (!read_entry(t, &at, code)) {
            return t->count >= ENTRIES_MAX || t->attr_count >= ATTRS_MAX ? SONDE_LIMIT
                                                                         : SONDE_MEMORY;
        }
    }
    if (at.failed) {
        return SONDE_CORRUPT;
    }
    if (!t->dense) { /* a dense table is sorted already */
        SONDE__SORT_BY(t->entries, t->count, code);
    }
    t->valid = true;
    return SONDE_OK;
}

void sonde__dwarf_abbrevs_done(struct sonde__dwarf_abbrevs *t)
{
    sonde__mem_free(t->entries);
    sonde__mem_free(t->attrs);
    memset(t, 0, sizeof *t);
}
