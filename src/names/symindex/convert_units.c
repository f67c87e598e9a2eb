// SPDX-License-Identifier: Apache-2.0
/* Reads units one by one; creates and frees the state. */
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "convert.h"
#include "dwarf_constants.h"
#include "mem_heap.h"

void convert_list_damage(struct convert *c)
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

/* Read the header of the unit at an offset. False: the unit cannot be read. */
static bool read_header(struct convert *c, uint64_t offset)
{
    enum sonde_status status = sonde__dwarf_unit_read(c->sections, offset, &c->unit);
    c->damage = NULL;
    if (status == SONDE_CORRUPT) {
        c->unit = (struct sonde__dwarf_unit){.offset = offset};
        convert_damage(c, "a malformed unit header: later units cannot be found");
    } else if (status != SONDE_OK) {
        convert_damage(c, "a unit of an unknown version or address size");
    }
    return status == SONDE_OK && c->unit.type != DW_UT_type && c->unit.type != DW_UT_split_type;
}

/* Load the unit's abbreviations and read its own DIE. */
static bool read_root(struct convert *c)
{
    bool kept = c->abbrevs.valid && c->abbrevs.offset == c->unit.abbrev_offset;
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
    if (sonde__dwarf_unit_root(c->sections, &c->abbrevs, &c->unit) != SONDE_OK) {
        convert_damage(c, "a malformed first DIE");
        return false;
    }
    return true;
}

/* Plans depend on the unit's sizes of addresses and offsets, so each unit makes its own. */
static bool make_plans(struct convert *c, const struct sonde__dwarf_unit *unit)
{
    return sonde__dwarf_plans_make(
        &c->abbrevs, unit, c->calls_only ? &convert_wanted_calls : &convert_wanted, &c->plans);
}

bool convert_unit_root(struct convert *c, uint64_t offset)
{
    return read_header(c, offset) && read_root(c);
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

/* Find the split unit of a skeleton, for c->split_unit. False: not found. */
static bool ask_split(struct convert *c, const struct sonde__dwarf_unit *skeleton)
{
    struct convert_shared *shared = c->shared;
    bool (*ask)(void *, const struct sonde__dwarf_unit *, struct sonde__dwarf_split *) =
        c->source->split;
    bool found;
    if (shared == NULL) {
        return ask(c->source->split_ctx, skeleton, &c->split_unit);
    }
    pthread_mutex_lock(&shared->split_lock);
    if (convert_map_find(&shared->split_ids, skeleton->dwo_id) != 0) {
        shared->split_twice = true;
    }
    convert_map_set(c, &shared->split_ids, skeleton->dwo_id, 1);
    found = ask(c->source->split_ctx, skeleton, &c->split_unit);
    pthread_mutex_unlock(&shared->split_lock);
    return found;
}

/* Read the DIEs of a skeleton's split unit instead of its own; line tables stay the skeleton's. */
static void walk_split(struct convert *c)
{
    const struct sonde__dwarf_sections *sections = c->sections;
    struct sonde__dwarf_unit skeleton = c->unit;
    struct sonde__dwarf_unit unit;
    if (c->source->split == NULL || !ask_split(c, &skeleton)) {
        damage_split(c, "which was not found");
        convert_walk(c); /* some compilers put inlined calls in the skeleton, too */
        return;
    }
    c->work_least = c->work_left < c->work_least ? c->work_left : c->work_least;
    c->work_left +=
        CONVERT_WORK_FACTOR * (sonde__base_bytes_left(&c->split_unit.sections.info) +
                               sonde__base_bytes_left(&c->split_unit.sections.rnglists));
    enum sonde_status status =
        sonde__dwarf_split_unit(&c->split_unit, &skeleton, &c->abbrevs, &unit);
    if (status == SONDE_MEMORY || (status == SONDE_OK && !make_plans(c, &unit))) {
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
    if (!read_root(c) ||
        (c->unit.tag != DW_TAG_compile_unit && c->unit.tag != DW_TAG_skeleton_unit)) {
        return;
    }
    if (!make_plans(c, &c->unit)) {
        c->status = SONDE_MEMORY;
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

/* Report progress. False: stop the conversion. */
static bool report_progress(const struct convert *c, uint64_t offset)
{
    uint64_t total = sonde__base_bytes_left(&c->sections->info);
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

void convert_unit_at(struct convert *c, uint64_t offset)
{
    c->scope_range_count = 0;
    if (read_header(c, offset)) {
        convert_unit(c);
    }
}

void convert_units(struct convert *c)
{
    for (size_t i = c->unit_first; i < c->unit_last && !must_stop(c); i++) {
        uint64_t offset = c->main.unit_offsets[i];
        bool readable = read_header(c, offset);
        if (!report_progress(c, offset)) {
            c->status = SONDE_LIMIT;
        } else if (readable) {
            convert_unit(c);
        }
        if (c->damage != NULL && c->status == SONDE_OK) {
            convert_list_damage(c);
        }
    }
    c->work_least = c->work_left < c->work_least ? c->work_left : c->work_least;
}

/* --- the state --- */

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

void convert_done(struct convert *c)
{
    for (size_t i = 0; i < c->slice_count; i++) {
        convert_done(&c->slices[i]);
    }
    sonde__dwarf_abbrevs_done(&c->abbrevs);
    sonde__dwarf_abbrevs_done(&c->main.abbrevs);
    sonde__dwarf_abbrevs_done(&c->supplementary.abbrevs);
    sonde__dwarf_abbrevs_done(&c->split.abbrevs);
    sonde__dwarf_lines_done(&c->lines);
    sonde__dwarf_plans_done(&c->plans);
    sonde__arena_done(&c->arena);
    convert_sites_done(&c->sites);
    void *const blocks[] = {
        c->unit_files,
        c->scope_ranges,
        c->scope_scratch,
        c->bounds,
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
        c->slices,
    };
    for (size_t i = 0; i < sizeof blocks / sizeof blocks[0]; i++) {
        sonde__mem_free(blocks[i]);
    }
}
