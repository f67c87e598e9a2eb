// SPDX-License-Identifier: Apache-2.0
#include "drain_names.h"

#include <assert.h>

#include "mem_heap.h"
#include "scrub.h"

static_assert((int)SONDE__NAME_SYMTAB == SONDE__REPORT_NAME_SYMTAB &&
                  (int)SONDE__NAME_JIT == SONDE__REPORT_NAME_JIT,
              "the same numbers");

void drain_set_function(struct sonde__report *report, const struct sonde__function *function,
                        struct sonde__report_frame *record)
{
    if (!function->has_start) {
        return; /* without a start the offset in the function is unknown */
    }
    record->name_offset = record->offset - function->start;
    if (function->name[0] != '\0') {
        record->name = sonde__report_string(report, function->name);
        record->name_source = record->name != 0 ? function->source : 0u;
    }
}

void drain_set_calls(struct sonde__report *report, const struct sonde__answer *answer,
                     struct sonde__report_frame *record, struct sonde__report_inlined *inlined)
{
    if (answer->count == 0) {
        return;
    }
    for (uint32_t i = 0; i + 1 < answer->count; i++) {
        inlined[i] = (struct sonde__report_inlined){
            .name = sonde__report_string(report, answer->calls[i].name),
            .file = sonde__report_string(report, answer->calls[i].file),
            .line = answer->calls[i].line};
    }
    record->inlined = inlined;
    record->inlined_count = answer->count - 1;
    record->file = sonde__report_string(report, answer->calls[answer->count - 1].file);
    record->line = answer->calls[answer->count - 1].line;
}

void drain_name_frame(struct sonde__report *report, struct sonde__symfile_cache *symbols,
                      const struct sonde__image *image, uint64_t lookup,
                      struct sonde__answer *answer, struct sonde__report_frame *record,
                      struct sonde__report_inlined *inlined)
{
    if (symbols != NULL) {
        sonde__symfile_ask(symbols, image, NULL, 0, lookup, answer);
        drain_set_function(report, &answer->function, record);
        drain_set_calls(report, answer, record, inlined);
    }
}

/* --- frames of a report from a file --- */

#define PATH_BYTES 4096u

/* The image as symfile needs it. buffer: PATH_BYTES for its path. */
static struct sonde__image image_of(const struct sonde__report *report, uint32_t id, char *buffer)
{
    const struct sonde__report_image *from = sonde__report_image(report, id);
    return (struct sonde__image){
        .path = sonde__scrub_expand(sonde__report_text(report, from->path), buffer, PATH_BYTES),
        .build_id = from->build_id,
        .flags = from->flags};
}

static void rename_frame(struct sonde__report *report, struct sonde__symfile_cache *symbols,
                         struct sonde__answer *answer, uint32_t id)
{
    struct sonde__report_frame record = *sonde__report_frame(report, id);
    struct sonde__report_inlined inlined[SONDE__CALLS_MAX];
    struct sonde__image image;
    char path[PATH_BYTES];
    uint64_t lookup = record.offset;
    if (record.image == 0 || record.lost_count != 0) {
        return;
    }
    image = image_of(report, record.image, path);
    if (image.build_id.size == 0) {
        return; /* this machine may have a different file at the path */
    }
    lookup -= (record.how & SONDE_HOW_EXACT) == 0 && lookup != 0;
    if (record.name != 0 && record.name_source == SONDE__REPORT_NAME_SYMTAB) {
        answer->function.name =
            sonde__report_text(report, record.name); /* no other source is better */
        sonde__symfile_calls(symbols, &image, NULL, 0, lookup, answer);
    } else {
        sonde__symfile_ask(symbols, &image, NULL, 0, lookup, answer);
        if (answer->function.name[0] != '\0' || record.name == 0) {
            drain_set_function(report, &answer->function, &record);
        }
    }
    drain_set_calls(report, answer, &record, inlined);
    sonde__report_replace_frame(report, id, &record);
}

enum sonde_status sonde__drain_rename(struct sonde__report *report,
                                      struct sonde__symfile_cache *symbols)
{
    struct sonde__answer *answer = sonde__mem_alloc(sizeof *answer);
    uint32_t count = sonde__report_frame_count(report);
    if (answer == NULL) {
        return SONDE_MEMORY;
    }
    for (uint32_t id = 1; id <= count; id++) {
        rename_frame(report, symbols, answer, id);
    }
    sonde__mem_free(answer);
    return SONDE_OK;
}
