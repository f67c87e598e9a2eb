// SPDX-License-Identifier: Apache-2.0
/* The records of the model (threads, stalls, calls) and the ways to read it. */
#include <string.h>

#include "report_model.h"
#include "report_store.h"

/* A copy of the record at the end of a list, or null: no memory, or `max` are there. */
static void *add_copy(struct sonde__report *report, struct sonde__report_list *list, uint32_t max,
                      const void *record, uint64_t *lost)
{
    void *entry = list->count < max ? sonde__report_list_add(&report->arena, list) : NULL;
    if (entry == NULL) {
        *lost += 1;
        return NULL;
    }
    return memcpy(entry, record, list->element_bytes);
}

void sonde__report_add_thread(struct sonde__report *report,
                              const struct sonde__report_thread *thread)
{
    add_copy(report, &report->threads, SONDE__REPORT_THREADS_MAX, thread, &report->lost.threads);
}

/* The first `count` elements that fit, copied into the arena; *count becomes how many. */
static void *copy_array(struct sonde__report *report, const void *from, size_t element_bytes,
                        uint32_t max, uint32_t *count, uint64_t *lost)
{
    uint32_t kept = *count < max ? *count : max;
    void *to = kept == 0 ? NULL : sonde__report_arena_take(&report->arena, kept * element_bytes);
    if (to == NULL) {
        kept = 0;
    } else {
        memcpy(to, from, kept * element_bytes);
    }
    *lost += *count - kept;
    *count = kept;
    return to;
}

void sonde__report_add_stall(struct sonde__report *report, const struct sonde__report_stall *stall)
{
    struct sonde__report_stall *entry =
        add_copy(report, &report->stalls, SONDE__REPORT_STALLS_MAX, stall, &report->lost.stalls);
    if (entry == NULL) {
        return;
    }
    entry->samples =
        copy_array(report, stall->samples, sizeof *stall->samples, SONDE__REPORT_SAMPLES_MAX,
                   &entry->sample_count, &report->lost.samples);
    entry->threads =
        copy_array(report, stall->threads, sizeof *stall->threads, SONDE__REPORT_THREADS_MAX,
                   &entry->thread_count, &report->lost.threads);
}

void sonde__report_add_call(struct sonde__report *report, const struct sonde__report_call *call)
{
    add_copy(report, &report->calls, SONDE__REPORT_CALLS_MAX, call, &report->lost.calls);
}

void sonde__report_add_heap_blocks(struct sonde__report *report,
                                   const struct sonde__report_heap_blocks *blocks)
{
    add_copy(report, &report->heap_blocks, SONDE__REPORT_HEAP_BLOCKS_MAX, blocks,
             &report->lost.heap_blocks);
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

const struct sonde__report_image *sonde__report_image(const struct sonde__report *r, uint32_t id)
{
    static const struct sonde__report_image none;
    const struct sonde__report_image *image =
        id == 0 ? NULL : sonde__report_list_at(&r->images, id - 1);
    return image == NULL ? &none : image;
}

const struct sonde__report_frame *sonde__report_frame(const struct sonde__report *r, uint32_t id)
{
    static const struct sonde__report_frame none;
    const struct sonde__report_frame *frame =
        id == 0 ? NULL : sonde__report_list_at(&r->frames, id - 1);
    return frame == NULL ? &none : frame;
}

const struct sonde__report_node *sonde__report_node(const struct sonde__report *r, uint32_t id)
{
    static const struct sonde__report_node none;
    const struct sonde__report_node *node =
        id == 0 ? NULL : sonde__report_list_at(&r->nodes, id - 1);
    return node == NULL ? &none : node;
}

const struct sonde__report_thread *sonde__report_thread(const struct sonde__report *r, uint32_t i)
{
    static const struct sonde__report_thread none;
    const struct sonde__report_thread *thread = sonde__report_list_at(&r->threads, i);
    return thread == NULL ? &none : thread;
}

const struct sonde__report_stall *sonde__report_stall(const struct sonde__report *r, uint32_t i)
{
    static const struct sonde__report_stall none;
    const struct sonde__report_stall *stall = sonde__report_list_at(&r->stalls, i);
    return stall == NULL ? &none : stall;
}

const struct sonde__report_call *sonde__report_call(const struct sonde__report *r, uint32_t i)
{
    static const struct sonde__report_call none;
    const struct sonde__report_call *call = sonde__report_list_at(&r->calls, i);
    return call == NULL ? &none : call;
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

uint32_t sonde__report_image_count(const struct sonde__report *report)
{
    return report->images.count;
}

uint32_t sonde__report_frame_count(const struct sonde__report *report)
{
    return report->frames.count;
}

uint32_t sonde__report_node_count(const struct sonde__report *report)
{
    return report->nodes.count;
}

uint32_t sonde__report_thread_count(const struct sonde__report *report)
{
    return report->threads.count;
}

uint32_t sonde__report_stall_count(const struct sonde__report *report)
{
    return report->stalls.count;
}

uint32_t sonde__report_call_count(const struct sonde__report *report)
{
    return report->calls.count;
}

uint32_t sonde__report_note_count(const struct sonde__report *report)
{
    return report->notes.count;
}

uint32_t sonde__report_heap_blocks_count(const struct sonde__report *report)
{
    return report->heap_blocks.count;
}

const struct sonde__report_heap_blocks *sonde__report_heap_blocks(const struct sonde__report *r,
                                                                  uint32_t i)
{
    static const struct sonde__report_heap_blocks none;
    const struct sonde__report_heap_blocks *blocks = sonde__report_list_at(&r->heap_blocks, i);
    return blocks != NULL ? blocks : &none;
}
