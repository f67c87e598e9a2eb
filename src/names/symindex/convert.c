// SPDX-License-Identifier: Apache-2.0
/* A conversion from its beginning to its end; see convert.h for its steps. */
#include "convert.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "base_status.h"
#include "dwarf_constants.h"
#include "mem_heap.h"

/* What tables that many DIEs or units point to may cost in all, beside the size of the input: real
 * files point to each once. */
#define WORK_FACTOR 8u
#define WORK_FIRST  ((uint64_t)1 << 24)

bool convert_grow(struct convert *c, void *array, size_t count, size_t *capacity, size_t size)
{
    if (count >= UINT32_MAX - 1) {
        c->status = SONDE_LIMIT;
        return false;
    }
    if (!sonde__mem_grow(array, count, capacity, size)) {
        c->status = SONDE_MEMORY;
        return false;
    }
    return true;
}

bool convert_reserve_more(struct convert *c, void *array, size_t wanted, size_t *capacity,
                          size_t size)
{
    void *block;
    if (wanted <= *capacity) {
        return true;
    }
    memcpy(&block, array, sizeof block);
    block = sonde__mem_resize_array(block, wanted, size);
    if (block == NULL) {
        c->status = SONDE_MEMORY;
        return false;
    }
    memcpy(array, &block, sizeof block);
    *capacity = wanted;
    return true;
}

bool convert_reserve(struct convert *c, void *array, size_t count, size_t *capacity, size_t size)
{
    void *block;
    if (count <= *capacity) {
        return true;
    }
    memcpy(&block, array, sizeof block);
    sonde__mem_free(block);
    block = sonde__mem_alloc_array(count, size);
    memcpy(array, &block, sizeof block);
    *capacity = block != NULL ? count : 0;
    if (block == NULL) {
        c->status = SONDE_MEMORY;
    }
    return block != NULL;
}

void convert_damage(struct convert *c, const char *what)
{
    if (c->damage == NULL) {
        c->damage = what;
    }
}

bool convert_work(struct convert *c, uint64_t amount)
{
    if (amount > c->work_left) {
        c->work_left = 0;
        c->out_of_work = true;
        convert_damage(c, "its tables are read far too often");
        return false;
    }
    c->work_left -= amount;
    return true;
}

/* --- the input --- */

static enum sonde_status find_sections(const struct sonde__symindex_source *source,
                                       struct sonde__dwarf_sections *ret_sections,
                                       struct sonde_error *ret_error)
{
    sonde__dwarf_sections_init(ret_sections);
    if (source->symbols_only) {
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

static size_t bytes_of(const struct sonde__bytes *b)
{
    return (size_t)(b->end - b->begin);
}

/* Of the file, or of its sections where they were made bytes apart from it. */
static uint64_t input_bytes(const struct sonde__symindex_source *source,
                            struct sonde__dwarf_sections *sections)
{
    uint64_t sum =
        bytes_of(source->macho_debug != NULL ? &source->macho_debug->file : &source->debug->file);
    for (unsigned i = 0; source->sections != NULL && i < SONDE__DWARF_SECTION_COUNT; i++) {
        sum += bytes_of(sonde__dwarf_section(sections, i));
    }
    if (sections->supplementary != NULL) {
        sum += bytes_of(&sections->supplementary->info);
        sum += bytes_of(&sections->supplementary->str);
    }
    return sum;
}

/* Objects of Mach-O hold zeros where the linker puts addresses. */
static bool is_object(const struct sonde__symindex_source *source)
{
    return source->macho_debug != NULL && source->macho_debug->type == SONDE__MH_OBJECT;
}

static bool find_text(const struct sonde__symindex_source *source, uint64_t *ret_start,
                      uint64_t *ret_end)
{
    if (source->macho_debug != NULL) {
        return sonde__macho_text_range(source->macho_debug, ret_start, ret_end);
    }
    return (source->image != NULL && sonde__elf_text_range(source->image, ret_start, ret_end)) ||
           sonde__elf_text_range(source->debug, ret_start, ret_end);
}

/* --- units --- */

static void list_bad_unit(struct convert *c)
{
    struct bad_unit bad = {.offset = c->unit.offset};
    if (c->unit.name != NULL) {
        size_t size = strnlen(c->unit.name, CONVERT_NAME_MAX);
        bad.name = convert_string_copy(c, c->unit.name, size);
    }
    bad.what = convert_string(c, c->damage, strlen(c->damage));
    if (CONVERT_ROOM(c, bad_units, bad_unit_count, bad_unit_capacity)) {
        c->bad_units[c->bad_unit_count++] = bad;
    }
}

/* The unit's abbreviations, as plans, and its own DIE. */
static bool open_unit(struct convert *c)
{
    bool kept = c->abbrevs.valid && c->abbrevs.offset == c->unit.abbrev_offset &&
                c->plans.count == c->abbrevs.count;
    enum sonde_status status =
        sonde__dwarf_abbrevs_load(c->sections, c->unit.abbrev_offset, &c->abbrevs);
    if (status == SONDE_MEMORY) {
        c->status = status;
        return false;
    }
    if (status != SONDE_OK) {
        convert_damage(c, "a malformed abbreviation table");
        return false;
    }
    if (!kept && !convert_work(c, c->abbrevs.attr_count + c->abbrevs.count)) {
        return false;
    }
    /* sizes of addresses and offsets are in the plans: made again for each unit that differs */
    if (!convert_plans_make(&c->abbrevs, &c->unit, &c->plans)) {
        c->status = SONDE_MEMORY;
        return false;
    }
    if (sonde__dwarf_unit_root(c->sections, &c->abbrevs, &c->unit) != SONDE_OK) {
        convert_damage(c, "a malformed first DIE");
        return false;
    }
    return true;
}

static void damage_split(struct convert *c, const char *what)
{
    char text[CONVERT_NAME_MAX];
    int size = snprintf(text, sizeof text, "its functions are in a split file, %s: %s", what,
                        c->unit.dwo_name);
    const char *kept = sonde__arena_copy_text(
        &c->arena, text, (size_t)size < sizeof text ? (size_t)size : sizeof text - 1);
    convert_damage(c, kept != NULL ? kept : "its functions are in a split file");
}

/* The DIEs of a skeleton's split unit instead of its own; its lines stay the skeleton's. */
static void walk_split(struct convert *c)
{
    const struct sonde__dwarf_sections *sections = c->sections;
    struct sonde__dwarf_unit skeleton = c->unit;
    struct sonde__dwarf_unit unit;
    if (c->source->split == NULL || !convert_ask_split(c, &skeleton)) {
        damage_split(c, "which is not there");
        convert_walk(c); /* some compilers put inlined calls in the skeleton, too */
        return;
    }
    c->work_least = c->work_left < c->work_least ? c->work_left : c->work_least;
    c->work_left += WORK_FACTOR * (bytes_of(&c->split_unit.sections.info) +
                                   bytes_of(&c->split_unit.sections.rnglists));
    enum sonde_status status =
        sonde__dwarf_split_unit(&c->split_unit, &skeleton, &c->abbrevs, &unit);
    if (status == SONDE_MEMORY ||
        (status == SONDE_OK && !convert_plans_make(&c->abbrevs, &unit, &c->plans))) {
        c->status = SONDE_MEMORY;
    } else if (status != SONDE_OK || !convert_work(c, c->abbrevs.attr_count + c->abbrevs.count)) {
        damage_split(c, "which is malformed");
    } else {
        c->in_split = true;
        c->split.sections = NULL;
        c->sections = &c->split_unit.sections;
        c->unit = unit;
        convert_walk(c);
        c->in_split = false;
        c->sections = sections;
        c->unit = skeleton;
        c->unit.name = unit.name;
    }
    c->abbrevs.valid = false;
}

static void convert_unit(struct convert *c)
{
    struct sonde__dwarf_program program;
    if (!open_unit(c) ||
        (c->unit.tag != DW_TAG_compile_unit && c->unit.tag != DW_TAG_skeleton_unit)) {
        return;
    }
    bool lines = convert_lines_open(c, &program);
    c->scope_range_count = 0;
    convert_map_clear(&c->origins);
    if (c->unit.dwo_name != NULL && c->unit.has_dwo_id) {
        walk_split(c);
    } else {
        convert_walk(c);
    }
    if (lines && c->status == SONDE_OK) {
        convert_lines_run(c, &program);
    }
    if (c->status == SONDE_OK) {
        convert_flatten(c);
    }
}

/* Names are in units that come later, too. */
void convert_find_units(struct convert *c, struct space *space)
{
    struct sonde__dwarf_unit unit;
    enum sonde_status status = SONDE_OK;
    for (uint64_t offset = 0; status != SONDE_CORRUPT; offset = unit.end) {
        status = sonde__dwarf_unit_read(space->sections, offset, &unit);
        if (status == SONDE_ABSENT ||
            (space->unit_count >= space->unit_capacity &&
             !convert_grow(c, &space->unit_offsets, space->unit_count, &space->unit_capacity,
                           sizeof *space->unit_offsets))) {
            return;
        }
        space->unit_offsets[space->unit_count++] = offset;
    }
}

/* False: the conversion is to end. */
static bool tell_progress(const struct convert *c, uint64_t offset)
{
    uint64_t total = bytes_of(&c->sections->info);
    uint64_t done = offset;
    if (c->shared != NULL) {
        uint64_t size = c->unit.end > offset ? c->unit.end - offset : 0;
        done = atomic_fetch_add_explicit(&c->shared->done, size, memory_order_relaxed);
    }
    return c->source->progress == NULL || c->quiet ||
           c->source->progress(c->source->progress_ctx, done, total);
}

static bool must_stop(const struct convert *c)
{
    return c->status != SONDE_OK ||
           (c->shared != NULL && atomic_load_explicit(&c->shared->stop, memory_order_relaxed));
}

void convert_units(struct convert *c)
{
    for (size_t i = c->unit_first; i < c->unit_last && !must_stop(c); i++) {
        uint64_t offset = c->main.unit_offsets[i];
        enum sonde_status status = sonde__dwarf_unit_read(c->sections, offset, &c->unit);
        c->damage = NULL;
        if (status == SONDE_CORRUPT) {
            c->unit = (struct sonde__dwarf_unit){.offset = offset};
            convert_damage(c, "a malformed unit header: what follows it cannot be found");
        }
        if (!tell_progress(c, offset)) {
            c->status = SONDE_LIMIT;
        } else if (status == SONDE_CORRUPT) {
            /* said above */
        } else if (status != SONDE_OK) {
            convert_damage(c, "a unit of an unknown version or address size");
        } else if (c->unit.type != DW_UT_type && c->unit.type != DW_UT_split_type) {
            convert_unit(c);
        }
        if (c->damage != NULL && c->status == SONDE_OK) {
            list_bad_unit(c);
        }
    }
    c->work_least = c->work_left < c->work_least ? c->work_left : c->work_least;
}

static void convert_all_units(struct convert *c)
{
    if (c->source->damage != NULL) {
        c->damage = c->source->damage;
        list_bad_unit(c);
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

void convert_done(struct convert *c)
{
    convert_slices_done(c);
    sonde__dwarf_abbrevs_done(&c->abbrevs);
    sonde__dwarf_abbrevs_done(&c->main.abbrevs);
    sonde__dwarf_abbrevs_done(&c->supplementary.abbrevs);
    sonde__dwarf_abbrevs_done(&c->split.abbrevs);
    sonde__dwarf_lines_done(&c->lines);
    convert_plans_done(&c->plans);
    sonde__arena_done(&c->arena);
    convert_sites_done(&c->sites);
    void *const blocks[] = {
        c->unit_files,
        c->scope_ranges,
        c->scope_scratch,
        c->rows,
        c->row_scratch,
        c->spans,
        c->origins.entries,
        c->far_origins.entries,
        c->is_slice ? NULL : c->main.unit_offsets,
        c->is_slice ? NULL : c->supplementary.unit_offsets,
        c->split.unit_offsets,
        c->name_places.entries,
        c->file_places.entries,
        c->places,
        c->strings.all,
        c->strings.slots,
        c->file_ids.entries,
        c->files,
        c->scopes,
        c->pieces,
        c->chunks,
        c->symbols,
        c->aliases,
        c->exports,
        c->bad_units,
        c->ranges,
        c->calls,
        c->functions,
        c->function_ids.entries,
    };
    for (size_t i = 0; i < sizeof blocks / sizeof blocks[0]; i++) {
        sonde__mem_free(blocks[i]);
    }
}

/* What only the units needed. */
static void drop_unit_state(struct convert *c)
{
    sonde__mem_free(c->pieces);
    c->pieces = NULL;
    sonde__mem_free(c->scopes);
    c->scopes = NULL;
    sonde__mem_free(c->chunks);
    c->chunks = NULL;
}

bool convert_begin(struct convert *c)
{
    sonde__arena_init(&c->arena);
    c->work_least = c->work_left;
    if (!CONVERT_ROOM(c, files, file_count, file_capacity)) {
        return false;
    }
    c->files[c->file_count++] = (struct file){0};
    return true;
}

static enum sonde_status run(struct convert *c, struct sonde__symindex_made *made)
{
    if (!convert_begin(c)) {
        return c->status;
    }
    convert_all_units(c);
    if (c->again) {
        return SONDE_OK;
    }
    if (c->status == SONDE_OK) {
        c->work_left = c->work_all; /* units that used all of it do not cost the symbols */
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
        c.work_all = WORK_FIRST + WORK_FACTOR * input_bytes(source, &sections);
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
