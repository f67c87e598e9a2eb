// SPDX-License-Identifier: Apache-2.0
#include "drain_names.h"

#include <string.h>

#include "mem_heap.h"

static uint32_t name_source(const struct sonde__symbol *symbol)
{
    switch (symbol->source) {
    case SONDE__SYMBOL_SYMTAB:
        return SONDE__REPORT_NAME_SYMTAB;
    case SONDE__SYMBOL_DYNSYM:
        return SONDE__REPORT_NAME_DYNSYM;
    case SONDE__SYMBOL_PLT:
        return SONDE__REPORT_NAME_PLT;
    default:
        return SONDE__REPORT_NAME_NONE;
    }
}

void drain_place_frame(struct sonde__report *report, struct sonde__symfile_cache *symbols,
                       struct sonde__symfile_calls *found, const struct sonde__image *image,
                       uint64_t lookup, struct sonde__report_frame *record,
                       struct sonde__report_inlined *inlined)
{
    const struct sonde__symfile_call *function;
    if (symbols == NULL || !sonde__symfile_calls(symbols, image, NULL, 0, lookup, found)) {
        return;
    }
    if (record->name == 0 && found->symbol[0] != '\0') {
        record->name = sonde__report_string(report, found->symbol);
        record->name_offset = record->offset - found->symbol_start;
        record->name_source = record->name != 0 ? SONDE__REPORT_NAME_DEBUG_INFO : 0;
    }
    if (found->count == 0) {
        return;
    }
    for (uint32_t i = 0; i + 1 < found->count; i++) {
        inlined[i] = (struct sonde__report_inlined){
            .name = sonde__report_string(report, found->calls[i].name),
            .file = sonde__report_string(report, found->calls[i].file),
            .line = found->calls[i].line};
    }
    function = &found->calls[found->count - 1];
    record->inlined = inlined;
    record->inlined_count = found->count - 1;
    record->file = sonde__report_string(report, function->file);
    record->line = function->line;
    if (record->name == 0 && record->name_offset != 0 && function->name[0] != '\0') {
        record->name = sonde__report_string(report, function->name);
        record->name_source = record->name != 0 ? SONDE__REPORT_NAME_DEBUG_INFO : 0;
    }
}

void drain_name_frame(struct sonde__report *report, const struct sonde__symbol_index *index,
                      uint64_t lookup, struct sonde__report_frame *record)
{
    struct sonde__symbol symbol;
    if (index == NULL || !sonde__symbol_find(index, lookup, &symbol)) {
        return;
    }
    record->name_offset = record->offset - symbol.start;
    if (symbol.name[0] != '\0') {
        record->name = sonde__report_string(report, symbol.name);
        record->name_source = record->name != 0 ? name_source(&symbol) : 0;
    }
}

/* --- of a report that was read --- */

static struct sonde__image image_of(const struct sonde__report *report, uint32_t id)
{
    const struct sonde__report_image *from = sonde__report_image(report, id);
    return (struct sonde__image){.path = sonde__report_text(report, from->path),
                                 .build_id = from->build_id,
                                 .flags = from->flags};
}

static void rename_frame(struct sonde__report *report, struct sonde__symfile_cache *symbols,
                         struct sonde__symfile_calls *calls, uint32_t id)
{
    struct sonde__report_frame record = *sonde__report_frame(report, id);
    const struct sonde__report_frame before = record;
    struct sonde__report_inlined inlined[SONDE__SYMFILE_CALLS_MAX];
    const struct sonde__symbol_index *index = NULL;
    struct sonde__image image;
    uint64_t lookup = record.offset;
    if (record.image == 0 || record.lost_count != 0) {
        return;
    }
    image = image_of(report, record.image);
    if (image.build_id.size == 0) {
        return; /* the file of that path on this machine may be any */
    }
    lookup -= (record.how & SONDE_HOW_EXACT) == 0 && lookup != 0;
    if (record.name_source != SONDE__REPORT_NAME_SYMTAB) {
        record.name = 0; /* a better one may be found; else it stays */
        record.name_offset = 0;
        record.name_source = SONDE__REPORT_NAME_NONE;
    }
    if (record.name == 0 &&
        sonde__symfile_index(symbols, &image, NULL, 0, &index, NULL) == SONDE_OK) {
        drain_name_frame(report, index, lookup, &record);
    }
    drain_place_frame(report, symbols, calls, &image, lookup, &record, inlined);
    if (record.name == 0 && before.name != 0) {
        record.name = before.name;
        record.name_offset = before.name_offset;
        record.name_source = before.name_source;
    }
    sonde__report_replace_frame(report, id, &record);
}

enum sonde_status sonde__drain_rename(struct sonde__report *report,
                                      struct sonde__symfile_cache *symbols)
{
    struct sonde__symfile_calls *calls = sonde__mem_alloc_zeroed(sizeof *calls);
    uint32_t count = sonde__report_frame_count(report);
    if (calls == NULL) {
        return SONDE_MEMORY;
    }
    for (uint32_t id = 1; id <= count; id++) {
        rename_frame(report, symbols, calls, id);
    }
    sonde__mem_free(calls);
    return SONDE_OK;
}
