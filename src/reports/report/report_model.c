// SPDX-License-Identifier: Apache-2.0
/* The dictionaries compare entries: a hash only says where to look. */
#include "report_model.h"

#include <string.h>

#include "mem_heap.h"
#include "report_store.h"
#include "report_utf8.h"

/* FNV-1a, 64 bit, folded: inputs are short, and entries are compared anyway. */
static uint32_t hash_bytes(const void *bytes, size_t size)
{
    const unsigned char *p = bytes;
    uint64_t hash = 0xcbf29ce484222325u;
    for (size_t i = 0; i < size; i++) {
        hash = (hash ^ p[i]) * 0x100000001b3u;
    }
    return (uint32_t)(hash ^ hash >> 32);
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
    sonde__report_set_header(r, &(struct sonde__report_header){.format = SONDE__REPORT_FORMAT});
    *ret_report = r;
    return SONDE_OK;
}

void sonde__report_destroy(struct sonde__report *report)
{
    if (report != NULL) {
        sonde__report_arena_done(&report->arena);
        sonde__mem_free(report);
    }
}

const char *sonde__report_copy_text(struct sonde__report *report, const void *text, size_t size,
                                    uint32_t *ret_length)
{
    bool cut = false;
    size_t length = sonde__report_utf8_length(text, size, SONDE__REPORT_STRING_BYTES_MAX, &cut);
    char *copy = sonde__report_arena_take(&report->arena, length + 1);
    if (copy == NULL) {
        return NULL;
    }
    sonde__report_utf8_copy(copy, length, text, size, cut);
    report->lost.strings_cut += cut;
    *ret_length = (uint32_t)length;
    return copy;
}

static const char *keep_text(struct sonde__report *report, const char *text)
{
    uint32_t length = 0;
    if (text == NULL || *text == '\0') {
        return "";
    }
    const char *copy = sonde__report_copy_text(report, text, strlen(text), &length);
    if (copy == NULL) {
        report->lost.strings++;
        return "";
    }
    return copy;
}

void sonde__report_set_header(struct sonde__report *report,
                              const struct sonde__report_header *header)
{
    report->header = *header;
    if (header->format == 0) {
        report->header.format = SONDE__REPORT_FORMAT;
    }
    for (uint32_t i = 0; i < sonde__message_header.field_count; i++) {
        const struct sonde__field *field = &sonde__message_header.fields[i];
        if (field->kind == SONDE__FIELD_TEXT) {
            const char **text = (const char **)(void *)((char *)&report->header + field->offset);
            *text = keep_text(report, *text);
        }
    }
}

void sonde__report_set_end(struct sonde__report *report, const struct sonde__report_end *end)
{
    report->end = *end;
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
    sonde__report_append_note(report, note, strlen(note));
}

/* -- lookup tables of ids; hashes are computed from the entries again -- */

typedef uint32_t hash_entry(const struct sonde__report *r, uint32_t id);

static void table_put(struct sonde__report_table *table, uint32_t hash, uint32_t id)
{
    uint32_t slot = hash & (table->capacity - 1);
    while (table->ids[slot] != 0) {
        slot = (slot + 1) & (table->capacity - 1);
    }
    table->ids[slot] = id;
}

/* Room for one more entry at a load of at most 1/2. */
static bool table_reserve(struct sonde__report *r, struct sonde__report_table *table,
                          hash_entry *hash)
{
    if (table->capacity != 0 && table->count < table->capacity / 2) {
        return true;
    }
    struct sonde__report_table grown = {NULL, table->capacity == 0 ? 128 : table->capacity * 2,
                                        table->count};
    grown.ids = sonde__report_arena_take(&r->arena, grown.capacity * sizeof *grown.ids);
    if (grown.ids == NULL) {
        return false;
    }
    for (uint32_t i = 0; i < table->capacity; i++) {
        if (table->ids[i] != 0) {
            table_put(&grown, hash(r, table->ids[i]), table->ids[i]);
        }
    }
    *table = grown;
    return true;
}

/* The next candidate for `hash`; *slot is UINT32_MAX at first. 0: no more. */
static uint32_t table_next(const struct sonde__report_table *table, uint32_t hash, uint32_t *slot)
{
    if (table->capacity == 0) {
        return 0;
    }
    *slot = (*slot == UINT32_MAX ? hash : *slot + 1) & (table->capacity - 1);
    return table->ids[*slot];
}

static void table_add(struct sonde__report_table *table, uint32_t hash, uint32_t id)
{
    table_put(table, hash, id);
    table->count++;
}

/* -- strings -- */

static const struct sonde__report_string *string_at(const struct sonde__report *r, uint32_t id)
{
    return id == 0 ? NULL : sonde__report_list_at(&r->strings, id - 1);
}

static uint32_t hash_string(const struct sonde__report *r, uint32_t id)
{
    const struct sonde__report_string *s = string_at(r, id);
    return hash_bytes(s->text, s->length);
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
    uint32_t slot = UINT32_MAX, id;
    if (text == NULL || *text == '\0') {
        return 0;
    }
    if (!sonde__report_utf8_valid(text, strlen(text)) ||
        strlen(text) > SONDE__REPORT_STRING_BYTES_MAX) {
        /* the stored text will differ from the given one: look for what will be stored */
        uint32_t length = 0;
        text = sonde__report_copy_text(report, text, strlen(text), &length);
        if (text == NULL) {
            report->lost.strings++;
            return 0;
        }
    }
    size_t length = strlen(text);
    uint32_t hash = hash_bytes(text, length);
    while ((id = table_next(&report->string_ids, hash, &slot)) != 0) {
        const struct sonde__report_string *s = string_at(report, id);
        if (s->length == length && memcmp(s->text, text, length) == 0) {
            return id;
        }
    }
    if (!table_reserve(report, &report->string_ids, hash_string)) {
        report->lost.strings++;
        return 0;
    }
    id = sonde__report_append_string(report, text, length);
    if (id != 0) {
        table_add(&report->string_ids, hash, id);
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

static uint32_t hash_image_value(const struct sonde__report_image *image)
{
    return hash_bytes(image->build_id.bytes, image->build_id.size) ^ image->path * 0x9e3779b1u;
}

static uint32_t hash_image(const struct sonde__report *r, uint32_t id)
{
    return hash_image_value(sonde__report_image(r, id));
}

uint32_t sonde__report_add_image(struct sonde__report *report,
                                 const struct sonde__report_image *image)
{
    struct sonde__report_image value = *image;
    uint32_t slot = UINT32_MAX, id;
    if (value.build_id.size > SONDE__BUILD_ID_MAX) {
        value.build_id.size = SONDE__BUILD_ID_MAX;
    }
    uint32_t hash = hash_image_value(&value);
    while ((id = table_next(&report->image_ids, hash, &slot)) != 0) {
        if (same_image(sonde__report_image(report, id), &value)) {
            return id;
        }
    }
    if (!table_reserve(report, &report->image_ids, hash_image)) {
        report->lost.images++;
        return 0;
    }
    id = sonde__report_append(report, SONDE__PART_IMAGES, &value);
    if (id != 0) {
        table_add(&report->image_ids, hash, id);
    }
    return id;
}

/* -- frames -- */

static bool same_frame(const struct sonde__report_frame *a, const struct sonde__report_frame *b)
{
    return a->image == b->image && a->offset == b->offset && a->how == b->how &&
           a->name == b->name && a->name_offset == b->name_offset &&
           a->name_source == b->name_source && a->lost_count == b->lost_count &&
           a->kind == b->kind && a->alternatives == b->alternatives && a->code_id == b->code_id;
}

static uint32_t hash_frame_value(const struct sonde__report_frame *f)
{
    const uint64_t key[] = {f->image, f->offset, f->how, f->name, f->lost_count, f->kind};
    return hash_words(key, sizeof key / sizeof *key);
}

static uint32_t hash_frame(const struct sonde__report *r, uint32_t id)
{
    return hash_frame_value(sonde__report_frame(r, id));
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
    uint32_t slot = UINT32_MAX, id;
    uint32_t hash = hash_frame_value(frame);
    while ((id = table_next(&report->frame_ids, hash, &slot)) != 0) {
        if (same_frame(sonde__report_frame(report, id), frame)) {
            return id;
        }
    }
    if (!table_reserve(report, &report->frame_ids, hash_frame)) {
        report->lost.frames++;
        return 0;
    }
    struct sonde__report_frame value = *frame;
    sonde__report_keep_arrays(report, sonde__parts[SONDE__PART_FRAMES].message, &value);
    id = sonde__report_append(report, SONDE__PART_FRAMES, &value);
    if (id != 0) {
        table_add(&report->frame_ids, hash, id);
    }
    return id;
}

/* -- stack nodes -- */

static uint32_t hash_node_value(uint32_t parent, uint32_t frame)
{
    const uint64_t key[] = {parent, frame};
    return hash_words(key, sizeof key / sizeof *key);
}

static uint32_t hash_node(const struct sonde__report *r, uint32_t id)
{
    const struct sonde__report_node *n = sonde__report_node(r, id);
    return hash_node_value(n->parent, n->frame);
}

uint32_t sonde__report_append_node(struct sonde__report *report,
                                   const struct sonde__report_node *node)
{
    static const struct sonde__report_node without = {.depth = 1};
    struct sonde__report_node value = *node;
    value.depth = 1;
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
    struct sonde__report_node value = {.parent = parent,
                                       .frame = frame,
                                       .tail_calls = tail_calls,
                                       .tail_call_count = tail_call_count};
    uint32_t slot = UINT32_MAX, id;
    uint32_t hash = hash_node_value(parent, frame);
    while ((id = table_next(&report->node_ids, hash, &slot)) != 0) {
        const struct sonde__report_node *n = sonde__report_node(report, id);
        if (n->parent == parent && n->frame == frame) {
            return id;
        }
    }
    if (parent > sonde__report_node_count(report) ||
        sonde__report_node(report, parent)->depth >= SONDE__REPORT_DEPTH_MAX ||
        !table_reserve(report, &report->node_ids, hash_node)) {
        report->lost.nodes++;
        return 0;
    }
    sonde__report_keep_arrays(report, sonde__parts[SONDE__PART_NODES].message, &value);
    id = sonde__report_append_node(report, &value);
    if (id != 0) {
        table_add(&report->node_ids, hash, id);
    }
    return id;
}
