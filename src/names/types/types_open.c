// SPDX-License-Identifier: Apache-2.0
/* Opening and closing. */
#include "mem_heap.h"
#include "types_data.h"

enum sonde_status sonde__types_open(const struct sonde__types_source *source,
                                    struct sonde__types **ret_types)
{
    struct sonde__types *t = sonde__mem_alloc_zeroed(sizeof *t);
    if (t == NULL) {
        return SONDE_MEMORY;
    }
    t->source = *source;
    sonde__arena_init(&t->arena);
    enum sonde_status status = types_open_units(t);
    if (status != SONDE_OK) {
        sonde__types_close(t);
        return status;
    }
    *ret_types = t;
    return SONDE_OK;
}

void sonde__types_close(struct sonde__types *t)
{
    if (t == NULL) {
        return;
    }
    for (size_t i = 0; i < t->unit_count; i++) {
        sonde__mem_free(t->units[i].scopes);
    }
    for (size_t i = 0; i < TYPES_TABLES; i++) {
        sonde__dwarf_abbrevs_done(&t->tables[i].abbrevs);
        sonde__dwarf_plans_done(&t->tables[i].plans);
    }
    types_names_done(t->names);
    sonde__dwarf_lines_done(&t->files.lines);
    sonde__arena_done(&t->arena);
    sonde__mem_table_done(&t->signatures);
    sonde__mem_free(t->units);
    sonde__mem_free(t->spaces);
    sonde__mem_free(t);
}
