// SPDX-License-Identifier: Apache-2.0
/* A conversion from its beginning to its end; see convert.h for its steps. */
#include "convert.h"

#include <string.h>

#include "base_status.h"
#include "dwarf_constants.h"
#include "mem_heap.h"

/* --- the input --- */

static enum sonde_status find_sections(const struct sonde__symindex_source *source,
                                       struct sonde__dwarf_sections *ret_sections,
                                       struct sonde_error *ret_error)
{
    sonde__dwarf_sections_init(ret_sections);
    if (source->symbols_only || source->breakpad != NULL) {
        return SONDE_OK;
    }
    if (source->sections != NULL) {
        *ret_sections = *source->sections;
        return SONDE_OK;
    }
    if (source->macho_debug != NULL
            ? !sonde__dwarf_sections_of_macho(source->macho_debug, ret_sections)
            : !sonde__dwarf_sections_of_elf(source->debug, ret_sections)) {
        return sonde__base_fail(ret_error, SONDE_UNSUPPORTED,
                                "its debug sections are compressed (objcopy "
                                "--decompress-debug-sections makes a copy that can be read)",
                                NULL, 0, 0);
    }
    return SONDE_OK;
}

/* Size of the file, or of its sections if they are separate buffers. */
static uint64_t input_bytes(const struct sonde__symindex_source *source,
                            struct sonde__dwarf_sections *sections)
{
    if (source->breakpad != NULL) {
        return source->breakpad->size;
    }
    uint64_t sum = sonde__base_bytes_left(source->macho_debug != NULL ? &source->macho_debug->file
                                                                      : &source->debug->file);
    for (unsigned i = 0; source->sections != NULL && i < SONDE__DWARF_SECTION_COUNT; i++) {
        sum += sonde__base_bytes_left(sonde__dwarf_section(sections, i));
    }
    if (sections->supplementary != NULL) {
        sum += sonde__base_bytes_left(&sections->supplementary->info);
        sum += sonde__base_bytes_left(&sections->supplementary->str);
    }
    return sum;
}

/* Mach-O objects have zeros in place of final addresses. */
static bool is_object(const struct sonde__symindex_source *source)
{
    return source->macho_debug != NULL && source->macho_debug->type == SONDE__MH_OBJECT;
}

static bool find_text(const struct sonde__symindex_source *source, uint64_t *ret_start,
                      uint64_t *ret_end)
{
    if (source->breakpad != NULL) {
        *ret_start = 0;
        *ret_end = source->breakpad->end;
        return true;
    }
    if (source->macho_debug != NULL) {
        return sonde__macho_text_range(source->macho_debug, ret_start, ret_end);
    }
    return (source->image != NULL && sonde__elf_text_range(source->image, ret_start, ret_end)) ||
           sonde__elf_text_range(source->debug, ret_start, ret_end);
}

/* --- units --- */

static void convert_all_units(struct convert *c)
{
    if (c->source->damage != NULL) {
        c->damage = c->source->damage;
        convert_list_damage(c);
    }
    convert_find_units(c, &c->main);
    if (c->supplementary.sections != NULL) {
        convert_find_units(c, &c->supplementary);
    }
    c->unit_last = c->main.unit_count;
    if (c->status == SONDE_OK) {
        convert_slices(c);
    }
}

/* --- all of it --- */

/* Free what only the units needed. */
static void drop_unit_state(struct convert *c)
{
    sonde__mem_free(c->pieces);
    c->pieces = NULL;
    sonde__mem_free(c->scopes);
    c->scopes = NULL;
    sonde__mem_free(c->chunks);
    c->chunks = NULL;
}

static enum sonde_status run(struct convert *c, struct sonde__symindex_made *made)
{
    if (!convert_begin(c)) {
        return c->status;
    }
    bool is_breakpad = c->source->breakpad != NULL;
    if (is_breakpad) {
        convert_breakpad(c);
    } else {
        convert_all_units(c);
    }
    if (c->again) {
        return SONDE_OK;
    }
    if (c->status == SONDE_OK && !is_breakpad) {
        c->work_left = c->work_all; /* the symbols get a budget of their own */
        convert_symbols(c);
        convert_exports(c);
        convert_outer_names(c);
    }
    if (c->status == SONDE_OK && c->piece_count == 0 && c->symbol_count == 0) {
        return SONDE_ABSENT;
    }
    if (c->status == SONDE_OK) {
        convert_merge(c);
    }
    SONDE_TRY(c->status);
    drop_unit_state(c);
    SONDE_TRY(convert_encode(c, made));
    made->units = (uint32_t)c->main.unit_count;
    made->bad_units = (uint32_t)c->bad_unit_count;
    return SONDE_OK;
}

enum sonde_status sonde__symindex_convert(const struct sonde__symindex_source *source,
                                          struct sonde__symindex_made *ret_made,
                                          struct sonde_error *ret_error)
{
    struct sonde__dwarf_sections sections;
    struct sonde__symindex_made made = {0};
    struct convert c;
    enum sonde_status status;
    bool again;
    uint64_t start, end;
    if (is_object(source)) {
        return sonde__base_fail(ret_error, SONDE_UNSUPPORTED,
                                "an object file: its addresses are not final before it is linked",
                                NULL, 0, 0);
    }
    SONDE_TRY(find_sections(source, &sections, ret_error));
    if (!find_text(source, &start, &end)) {
        return sonde__base_fail(ret_error, SONDE_CORRUPT, "no executable segment", NULL, 0, 0);
    }
    if (end - start > (uint64_t)1 << 32) {
        return sonde__base_fail(ret_error, SONDE_UNSUPPORTED, "code spans more than 4 GiB", NULL, 0,
                                end - start);
    }
    for (unsigned threads = source->threads;; threads = 1) {
        c = (struct convert){.source = source, .sections = &sections, .threads = threads};
        c.main.sections = &sections;
        c.supplementary.sections = sections.supplementary;
        c.base = start;
        c.size = end - start;
        c.work_all = CONVERT_WORK_FIRST + CONVERT_WORK_FACTOR * input_bytes(source, &sections);
        c.work_left = c.work_all;
        status = run(&c, &made);
        again = c.again;
        convert_done(&c);
        if (!again) {
            break;
        }
    }
    if (status == SONDE_OK) {
        *ret_made = made;
        return status;
    }
    return sonde__base_fail(ret_error, status,
                            status == SONDE_ABSENT ? "neither debug information nor symbols of code"
                                                   : sonde_status_text(status),
                            NULL, 0, 0);
}
