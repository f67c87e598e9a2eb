// SPDX-License-Identifier: Apache-2.0
/* The dictionaries compare entries; a hash only selects candidates. */
#include "report_model.h"

#include <string.h>

#include "base_hash.h"
#include "mem_heap.h"
#include "report_store.h"
#include "report_utf8.h"
#include "scrub.h"

static uint32_t hash_bytes(const void *bytes, size_t size)
{
    return sonde__base_hash_fold(sonde__base_hash_bytes(SONDE__HASH_EMPTY, bytes, size));
}

static uint32_t hash_words(const uint64_t *words, size_t count)
{
    uint64_t hash = 0;
    for (size_t i = 0; i < count; i++) {
        hash = (hash ^ words[i]) * 0x9e3779b97f4a7c15u;
        hash ^= hash >> 32;
    }
    return (uint32_t)hash;
}

enum sonde_status sonde__report_create(struct sonde__report **ret_report)
{
    struct sonde__report *r = sonde__mem_alloc_zeroed(sizeof *r);
    if (r == NULL) {
        return SONDE_MEMORY;
    }
    r->strings.element_bytes = sizeof(struct sonde__report_string);
    r->notes.element_bytes = sizeof(struct sonde__report_string);
    for (uint32_t i = 0; i < SONDE__PARTS; i++) {
        r->parts[i].element_bytes = sonde__parts[i].message->size_bytes;
    }
    r->scrub = sonde__scrub_used();
    sonde__report_set_header(r, &(struct sonde__report_header){.format = SONDE__REPORT_FORMAT});
    *ret_report = r;
    return SONDE_OK;
}

void sonde__report_destroy(struct sonde__report *report)
{
    if (report != NULL) {
        sonde__report_arena_done(&report->arena);
        sonde__mem_table_done(&report->string_ids);
        sonde__mem_table_done(&report->image_ids);
        sonde__mem_table_done(&report->frame_ids);
        sonde__mem_table_done(&report->node_ids);
        sonde__mem_free(report);
    }
}

void sonde__report_set_end(struct sonde__report *report, const struct sonde__report_end *end)
{
    report->end = *end;
    sonde__report_keep_arrays(report, &sonde__message_end, &report->end);
    report->has_end = true;
}

void sonde__report_append_note(struct sonde__report *report, const void *text, size_t size)
{
    struct sonde__report_string *entry = NULL;
    uint32_t length = 0;
    const char *copy = NULL;
    if (report->notes.count < SONDE__REPORT_NOTES_MAX) {
        copy = sonde__report_copy_text(report, text, size, &length);
    }
    if (copy != NULL) {
        entry = sonde__report_list_add(&report->arena, &report->notes);
    }
    if (entry == NULL) {
        report->lost.notes++;
        return;
    }
    entry->text = copy;
    entry->length = length;
}

void sonde__report_add_note(struct sonde__report *report, const char *note)
{
    note = sonde__report_scrub(report, note);
    sonde__report_append_note(report, note, strlen(note));
}

/* -- dictionaries: tables of ids -- */

/* If memory runs out, the entry stays valid; an equal one will get another id. */
static void add_id(struct sonde__mem_table *table, uint32_t hash, uint32_t id)
{
    if (id != 0) {
        (void)!sonde__mem_table_add(table, hash, id);
    }
}

/* -- strings -- */

static const struct sonde__report_string *string_at(const struct sonde__report *r, uint32_t id)
{
    return id == 0 ? NULL : sonde__report_list_at(&r->strings, id - 1);
}

static bool is_string(const struct sonde__report_string *s, const char *text, size_t length)
{
    return s->length == length && memcmp(s->text, text, length) == 0;
}

uint32_t sonde__report_append_string(struct sonde__report *report, const void *text, size_t size)
{
    uint32_t length = 0;
    const char *copy = sonde__report_copy_text(report, text, size, &length);
    struct sonde__report_string *entry =
        copy == NULL ? NULL : sonde__report_list_add(&report->arena, &report->strings);
    if (entry == NULL) {
        report->lost.strings++;
        return 0;
    }
    entry->text = copy;
    entry->length = length;
    return report->strings.count;
}

uint32_t sonde__report_string(struct sonde__report *report, const char *text)
{
    if (text == NULL || *text == '\0') {
        return 0;
    }
    text = sonde__report_scrub(report, text);
    if (!sonde__report_utf8_valid(text, strlen(text)) ||
        strlen(text) > SONDE__REPORT_STRING_BYTES_MAX) {
        /* stored text differs from the given one: search for what will be stored */
        uint32_t length = 0;
        text = sonde__report_copy_text(report, text, strlen(text), &length);
        if (text == NULL) {
            report->lost.strings++;
            return 0;
        }
    }
    size_t length = strlen(text);
    uint32_t hash = hash_bytes(text, length);
    uint32_t id = SONDE__TABLE_FIND(&report->string_ids, hash, i,
                                    is_string(string_at(report, i), text, length));
    if (id == SONDE__TABLE_NONE) {
        id = sonde__report_append_string(report, text, length);
        add_id(&report->string_ids, hash, id);
    }
    return id;
}

/* -- images -- */

static bool same_image(const struct sonde__report_image *a, const struct sonde__report_image *b)
{
    return a->path == b->path && a->flags == b->flags && a->arch == b->arch &&
           a->code_id == b->code_id && a->build_id.size == b->build_id.size &&
           memcmp(a->build_id.bytes, b->build_id.bytes, a->build_id.size) == 0;
}

static uint32_t hash_image(const struct sonde__report_image *image)
{
    return hash_bytes(image->build_id.bytes, image->build_id.size) ^ image->path * 0x9e3779b1u;
}

uint32_t sonde__report_add_image(struct sonde__report *report,
                                 const struct sonde__report_image *image)
{
    struct sonde__report_image value = *image;
    if (value.build_id.size > SONDE__BUILD_ID_MAX) {
        value.build_id.size = SONDE__BUILD_ID_MAX;
    }
    uint32_t hash = hash_image(&value);
    uint32_t id = SONDE__TABLE_FIND(&report->image_ids, hash, i,
                                    same_image(sonde__report_image(report, i), &value));
    if (id == SONDE__TABLE_NONE) {
        id = sonde__report_append(report, SONDE__PART_IMAGES, &value);
        add_id(&report->image_ids, hash, id);
    }
    return id;
}

/* -- frames -- */

static bool same_frame(const struct sonde__report_frame *a, const struct sonde__report_frame *b)
{
    return a->image == b->image && a->offset == b->offset && a->how == b->how &&
           a->name == b->name && a->name_offset == b->name_offset &&
           a->name_source == b->name_source && a->lost_count == b->lost_count &&
           a->kind == b->kind && a->alternatives == b->alternatives && a->code_id == b->code_id &&
           (a->kind != SONDE__REPORT_FRAME_SCRIPT ||
            (a->file == b->file && a->line == b->line && a->language == b->language));
}

static uint32_t hash_frame(const struct sonde__report_frame *f)
{
    uint64_t line = f->kind == SONDE__REPORT_FRAME_SCRIPT ? f->line : 0;
    const uint64_t key[] = {f->image, f->offset,     f->how,
                            f->name,  f->lost_count, f->kind | line << 8};
    return hash_words(key, sizeof key / sizeof *key);
}

void sonde__report_replace_frame(struct sonde__report *report, uint32_t id,
                                 const struct sonde__report_frame *frame)
{
    struct sonde__report_frame *entry =
        sonde__report_list_at(&report->parts[SONDE__PART_FRAMES], id - 1);
    struct sonde__report_frame value = *frame;
    if (entry == NULL) {
        return;
    }
    if (frame->inlined != entry->inlined) {
        sonde__report_keep_arrays(report, sonde__parts[SONDE__PART_FRAMES].message, &value);
        if (value.inlined_count != frame->inlined_count) {
            return;
        }
    }
    *entry = value;
}

uint32_t sonde__report_add_frame(struct sonde__report *report,
                                 const struct sonde__report_frame *frame)
{
    uint32_t hash = hash_frame(frame);
    uint32_t id = SONDE__TABLE_FIND(&report->frame_ids, hash, i,
                                    same_frame(sonde__report_frame(report, i), frame));
    if (id != SONDE__TABLE_NONE) {
        return id;
    }
    struct sonde__report_frame value = *frame;
    value.inlined = value.inlined_count != 0 ? value.inlined : NULL;
    if (value.inlined_count != 0) {
        sonde__report_keep_arrays(report, sonde__parts[SONDE__PART_FRAMES].message, &value);
    }
    id = sonde__report_append(report, SONDE__PART_FRAMES, &value);
    add_id(&report->frame_ids, hash, id);
    return id;
}

/* -- stack nodes -- */

static bool same_node(const struct sonde__report_node *a, const struct sonde__report_node *b)
{
    return a->parent == b->parent && a->frame == b->frame && a->awaiter == b->awaiter &&
           a->task == b->task && a->creator == b->creator;
}

static uint32_t hash_node(const struct sonde__report_node *n)
{
    const uint64_t key[] = {n->parent, n->frame};
    return hash_words(key, sizeof key / sizeof *key);
}

uint32_t sonde__report_append_node(struct sonde__report *report,
                                   const struct sonde__report_node *node)
{
    static const struct sonde__report_node without = {.depth = 1};
    struct sonde__report_node value = *node;
    value.depth = 1;
    if (value.awaiter > sonde__report_node_count(report)) {
        value.awaiter = 0;
        report->lost.nodes++;
    }
    if (value.parent > sonde__report_node_count(report)) {
        value = without;
        report->lost.nodes++;
    } else if (value.parent != 0) {
        value.depth = sonde__report_node(report, value.parent)->depth + 1;
        if (value.depth > SONDE__REPORT_DEPTH_MAX) {
            value = without;
            report->lost.nodes++;
        }
    }
    return sonde__report_append(report, SONDE__PART_NODES, &value);
}

uint32_t sonde__report_add_node(struct sonde__report *report, uint32_t parent, uint32_t frame)
{
    return sonde__report_add_node_after(report, parent, frame, NULL, 0);
}

uint32_t sonde__report_add_node_after(struct sonde__report *report, uint32_t parent, uint32_t frame,
                                      const uint32_t *tail_calls, uint32_t tail_call_count)
{
    const struct sonde__report_node value = {.parent = parent,
                                             .frame = frame,
                                             .tail_calls = tail_calls,
                                             .tail_call_count = tail_call_count};
    return sonde__report_add_node_value(report, &value);
}

uint32_t sonde__report_add_node_value(struct sonde__report *report,
                                      const struct sonde__report_node *node)
{
    struct sonde__report_node value = *node;
    uint32_t hash = hash_node(&value);
    uint32_t id = SONDE__TABLE_FIND(&report->node_ids, hash, i,
                                    same_node(sonde__report_node(report, i), &value));
    if (id != SONDE__TABLE_NONE) {
        return id;
    }
    if (value.parent > sonde__report_node_count(report) ||
        value.awaiter > sonde__report_node_count(report) ||
        sonde__report_node(report, value.parent)->depth >= SONDE__REPORT_DEPTH_MAX) {
        report->lost.nodes++;
        return 0;
    }
    value.tail_calls = value.tail_call_count != 0 ? value.tail_calls : NULL;
    if (value.tail_call_count != 0) {
        sonde__report_keep_arrays(report, sonde__parts[SONDE__PART_NODES].message, &value);
    }
    id = sonde__report_append_node(report, &value);
    add_id(&report->node_ids, hash, id);
    return id;
}
