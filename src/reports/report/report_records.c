// SPDX-License-Identifier: Apache-2.0
/* The lists of the model, and the functions that read it. */
#include <string.h>

#include "report_model.h"
#include "report_store.h"

static uint64_t *lost_at(struct sonde__report *report, uint16_t offset)
{
    return (uint64_t *)(void *)((char *)&report->lost + offset);
}

uint32_t sonde__report_append(struct sonde__report *report, enum sonde__report_part part,
                              const void *object)
{
    struct sonde__report_list *list = &report->parts[part];
    void *entry =
        list->count < sonde__parts[part].max ? sonde__report_list_add(&report->arena, list) : NULL;
    if (entry == NULL) {
        *lost_at(report, sonde__parts[part].lost_offset) += 1;
        return 0;
    }
    memcpy(entry, object, list->element_bytes);
    return list->count;
}

void sonde__report_keep_arrays(struct sonde__report *report, const struct sonde__message *message,
                               void *object)
{
    for (uint32_t i = 0; i < message->field_count; i++) {
        const struct sonde__field *field = &message->fields[i];
        if (!sonde__field_is_array(field)) {
            continue;
        }
        uint32_t *count = sonde__field_count(field, object);
        void **elements = sonde__field_elements(field, object);
        uint32_t kept = *count < field->max ? *count : field->max;
        size_t size = kept * sonde__field_element_bytes(field);
        void *copy = kept == 0 ? NULL : sonde__report_arena_take(&report->arena, size);
        if (copy != NULL) {
            memcpy(copy, *elements, size);
        } else {
            kept = 0;
        }
        *lost_at(report, field->lost_offset) += *count - kept;
        *elements = copy;
        *count = kept;
    }
}

void sonde__report_add_thread(struct sonde__report *report,
                              const struct sonde__report_thread *thread)
{
    (void)sonde__report_append(report, SONDE__PART_THREADS, thread);
}

void sonde__report_add_stall(struct sonde__report *report, const struct sonde__report_stall *stall)
{
    struct sonde__report_stall kept = *stall;
    sonde__report_keep_arrays(report, sonde__parts[SONDE__PART_STALLS].message, &kept);
    (void)sonde__report_append(report, SONDE__PART_STALLS, &kept);
}

void sonde__report_add_call(struct sonde__report *report, const struct sonde__report_call *call)
{
    (void)sonde__report_append(report, SONDE__PART_CALLS, call);
}

void sonde__report_add_heap_blocks(struct sonde__report *report,
                                   const struct sonde__report_heap_blocks *blocks)
{
    (void)sonde__report_append(report, SONDE__PART_HEAP_BLOCKS, blocks);
}

const struct sonde__report_header *sonde__report_header(const struct sonde__report *report)
{
    return &report->header;
}

const struct sonde__report_end *sonde__report_end(const struct sonde__report *report)
{
    return report->has_end ? &report->end : NULL;
}

const struct sonde__report_lost *sonde__report_lost(const struct sonde__report *report)
{
    return &report->lost;
}

uint64_t sonde__report_lost_records(const struct sonde__report *report)
{
    const struct sonde__report_lost *l = &report->lost;
    return l->strings + l->images + l->frames + l->nodes + l->threads + l->stalls + l->samples +
           l->notes + l->calls + l->heap_blocks;
}

const char *sonde__report_text(const struct sonde__report *report, uint32_t string)
{
    const struct sonde__report_string *s =
        string == 0 ? NULL : sonde__report_list_at(&report->strings, string - 1);
    return s == NULL ? "" : s->text;
}

/* All zero where there is none. */
static const void *object_at(const struct sonde__report *r, enum sonde__report_part part,
                             uint32_t index)
{
    static const union sonde__report_object none;
    const void *object = sonde__report_list_at(&r->parts[part], index);
    return object != NULL ? object : &none;
}

const struct sonde__report_image *sonde__report_image(const struct sonde__report *r, uint32_t id)
{
    return object_at(r, SONDE__PART_IMAGES, id - 1);
}

const struct sonde__report_frame *sonde__report_frame(const struct sonde__report *r, uint32_t id)
{
    return object_at(r, SONDE__PART_FRAMES, id - 1);
}

const struct sonde__report_node *sonde__report_node(const struct sonde__report *r, uint32_t id)
{
    return object_at(r, SONDE__PART_NODES, id - 1);
}

const struct sonde__report_thread *sonde__report_thread(const struct sonde__report *r, uint32_t i)
{
    return object_at(r, SONDE__PART_THREADS, i);
}

const struct sonde__report_stall *sonde__report_stall(const struct sonde__report *r, uint32_t i)
{
    return object_at(r, SONDE__PART_STALLS, i);
}

const struct sonde__report_call *sonde__report_call(const struct sonde__report *r, uint32_t i)
{
    return object_at(r, SONDE__PART_CALLS, i);
}

const struct sonde__report_heap_blocks *sonde__report_heap_blocks(const struct sonde__report *r,
                                                                  uint32_t i)
{
    return object_at(r, SONDE__PART_HEAP_BLOCKS, i);
}

const char *sonde__report_note(const struct sonde__report *report, uint32_t i)
{
    const struct sonde__report_string *note = sonde__report_list_at(&report->notes, i);
    return note == NULL ? "" : note->text;
}

uint32_t sonde__report_string_count(const struct sonde__report *report)
{
    return report->strings.count;
}

uint32_t sonde__report_note_count(const struct sonde__report *report)
{
    return report->notes.count;
}

uint32_t sonde__report_image_count(const struct sonde__report *report)
{
    return report->parts[SONDE__PART_IMAGES].count;
}

uint32_t sonde__report_frame_count(const struct sonde__report *report)
{
    return report->parts[SONDE__PART_FRAMES].count;
}

uint32_t sonde__report_node_count(const struct sonde__report *report)
{
    return report->parts[SONDE__PART_NODES].count;
}

uint32_t sonde__report_thread_count(const struct sonde__report *report)
{
    return report->parts[SONDE__PART_THREADS].count;
}

uint32_t sonde__report_stall_count(const struct sonde__report *report)
{
    return report->parts[SONDE__PART_STALLS].count;
}

uint32_t sonde__report_call_count(const struct sonde__report *report)
{
    return report->parts[SONDE__PART_CALLS].count;
}

uint32_t sonde__report_heap_blocks_count(const struct sonde__report *report)
{
    return report->parts[SONDE__PART_HEAP_BLOCKS].count;
}
