// SPDX-License-Identifier: Apache-2.0
/* Strings are written when something that is written refers to them, under the next id of the
 * file: so leaving the names of functions out leaves no trace of them in the dictionary either.
 * All other ids are the model's own. */
#include "report_write.h"

#include <string.h>

#include "base_crc32c.h"
#include "mem_heap.h"
#include "report_proto.h"
#include "report_schema.h"
#include "report_store.h"

/* A record is closed when it has grown to this: what a cut can cost at most, beside one stall. */
#define RECORD_BYTES ((size_t)64 << 10)

/* How far the model has been written. */
struct progress {
    bool header;
    uint32_t strings; /* ids given out in the file */
    uint32_t images, frames, nodes, threads, stalls, notes, calls, heap_blocks;
};

struct sonde__report_writer {
    sonde__report_write *write;
    void *ctx;
    bool no_names;
    enum sonde_status failed; /* of `write`, for good */
    struct progress done;     /* what whole records hold */
    struct progress now;      /* with the record being made */
    uint32_t *string_ids;     /* model id -> id in the file, 0: not written */
    size_t string_capacity;
    struct sonde__proto strings, body, record;
};

enum sonde_status sonde__report_writer_create(const struct sonde__report_writer_options *options,
                                              sonde__report_write *write, void *ctx,
                                              struct sonde__report_writer **ret_writer)
{
    struct sonde__report_writer *writer = sonde__mem_alloc_zeroed(sizeof *writer);
    if (writer == NULL) {
        return SONDE_MEMORY;
    }
    writer->write = write;
    writer->ctx = ctx;
    writer->no_names = options != NULL && options->no_names;
    *ret_writer = writer;
    return SONDE_OK;
}

void sonde__report_writer_destroy(struct sonde__report_writer *writer)
{
    if (writer != NULL) {
        sonde__proto_done(&writer->strings);
        sonde__proto_done(&writer->body);
        sonde__proto_done(&writer->record);
        sonde__mem_free(writer->string_ids);
        sonde__mem_free(writer);
    }
}

/* The file's id of a string, which is written if it was not yet. */
static uint32_t use_string(struct sonde__report_writer *w, const struct sonde__report *report,
                           uint32_t id)
{
    const struct sonde__report_string *s =
        id == 0 ? NULL : sonde__report_list_at(&report->strings, id - 1);
    if (s == NULL || id > w->string_capacity) {
        return 0;
    }
    if (w->string_ids[id - 1] == 0) {
        sonde__proto_element(&w->strings, SONDE__RECORD_STRINGS, s->text, s->length);
        w->string_ids[id - 1] = ++w->now.strings;
    }
    return w->string_ids[id - 1];
}

static bool reserve_string_ids(struct sonde__report_writer *w, const struct sonde__report *report)
{
    size_t count = sonde__report_string_count(report), capacity = w->string_capacity;
    if (count <= capacity) {
        return true;
    }
    capacity = count < 64 ? 64 : count + count / 2;
    uint32_t *ids = sonde__mem_resize_array(w->string_ids, capacity, sizeof *ids);
    if (ids == NULL) {
        return false;
    }
    memset(ids + w->string_capacity, 0, (capacity - w->string_capacity) * sizeof *ids);
    w->string_ids = ids;
    w->string_capacity = capacity;
    return true;
}

/* -- one message each -- */

static void put_text(struct sonde__proto *p, uint32_t field, const char *text)
{
    sonde__proto_bytes(p, field, text, strlen(text));
}

static void put_header(struct sonde__proto *p, const struct sonde__report_header *h)
{
    size_t mark = sonde__proto_begin(p, SONDE__RECORD_HEADER);
    sonde__proto_uint(p, SONDE__HEADER_FORMAT, h->format);
    sonde__proto_uint(p, SONDE__HEADER_KIND, h->kind);
    put_text(p, SONDE__HEADER_TOOL, h->tool);
    sonde__proto_fixed64(p, SONDE__HEADER_TIME, h->time_unix_ns);
    sonde__proto_int(p, SONDE__HEADER_PID, h->pid);
    put_text(p, SONDE__HEADER_EXECUTABLE, h->executable);
    put_text(p, SONDE__HEADER_OS, h->os);
    put_text(p, SONDE__HEADER_ARCH, h->arch);
    sonde__proto_uint(p, SONDE__HEADER_THRESHOLD, h->threshold_ns);
    put_text(p, SONDE__HEADER_SOURCE, h->source);
    sonde__proto_uint(p, SONDE__HEADER_PAUSE, h->pause_ns);
    sonde__proto_end(p, mark);
}

static void put_image(struct sonde__report_writer *w, const struct sonde__report *report,
                      const struct sonde__report_image *image)
{
    struct sonde__proto *p = &w->body;
    size_t mark = sonde__proto_begin(p, SONDE__RECORD_IMAGES);
    sonde__proto_uint(p, SONDE__IMAGE_FIELD_PATH, use_string(w, report, image->path));
    sonde__proto_bytes(p, SONDE__IMAGE_FIELD_BUILD_ID, image->build_id.bytes, image->build_id.size);
    sonde__proto_uint(p, SONDE__IMAGE_FIELD_FLAGS, image->flags);
    sonde__proto_uint(p, SONDE__IMAGE_FIELD_ARCH, image->arch);
    sonde__proto_uint(p, SONDE__IMAGE_FIELD_CODE_ID, image->code_id);
    sonde__proto_end(p, mark);
}

static void put_inlined(struct sonde__report_writer *w, const struct sonde__report *report,
                        const struct sonde__report_inlined *call)
{
    struct sonde__proto *p = &w->body;
    size_t mark = sonde__proto_begin(p, SONDE__FRAME_INLINED);
    sonde__proto_uint(p, SONDE__INLINED_NAME, use_string(w, report, call->name));
    sonde__proto_uint(p, SONDE__INLINED_FILE, use_string(w, report, call->file));
    sonde__proto_uint(p, SONDE__INLINED_LINE, call->line);
    sonde__proto_end(p, mark);
}

static void put_frame(struct sonde__report_writer *w, const struct sonde__report *report,
                      const struct sonde__report_frame *frame)
{
    struct sonde__proto *p = &w->body;
    size_t mark = sonde__proto_begin(p, SONDE__RECORD_FRAMES);
    sonde__proto_uint(p, SONDE__FRAME_IMAGE, frame->image);
    sonde__proto_uint(p, SONDE__FRAME_OFFSET, frame->offset);
    sonde__proto_uint(p, SONDE__FRAME_HOW, frame->how);
    if (!w->no_names) {
        sonde__proto_uint(p, SONDE__FRAME_NAME, use_string(w, report, frame->name));
    }
    sonde__proto_uint(p, SONDE__FRAME_NAME_OFFSET, frame->name_offset);
    if (!w->no_names) {
        sonde__proto_uint(p, SONDE__FRAME_NAME_SOURCE, frame->name_source);
    }
    sonde__proto_uint(p, SONDE__FRAME_LOST_COUNT, frame->lost_count);
    sonde__proto_uint(p, SONDE__FRAME_KIND, frame->kind);
    if (!w->no_names) {
        sonde__proto_uint(p, SONDE__FRAME_FILE, use_string(w, report, frame->file));
        sonde__proto_uint(p, SONDE__FRAME_LINE, frame->line);
        for (uint32_t i = 0; i < frame->inlined_count; i++) {
            put_inlined(w, report, &frame->inlined[i]);
        }
    }
    sonde__proto_uint(p, SONDE__FRAME_ALTERNATIVES, frame->alternatives);
    sonde__proto_uint(p, SONDE__FRAME_CODE_ID, frame->code_id);
    sonde__proto_end(p, mark);
}

static void put_node(struct sonde__proto *p, const struct sonde__report_node *node)
{
    size_t mark = sonde__proto_begin(p, SONDE__RECORD_STACKS);
    sonde__proto_uint(p, SONDE__NODE_PARENT, node->parent);
    sonde__proto_uint(p, SONDE__NODE_FRAME, node->frame);
    if (node->tail_call_count != 0) {
        size_t packed = sonde__proto_begin(p, SONDE__NODE_TAIL_CALLS);
        for (uint32_t i = 0; i < node->tail_call_count; i++) {
            sonde__proto_varint(p, node->tail_calls[i]);
        }
        sonde__proto_end(p, packed);
    }
    sonde__proto_end(p, mark);
}

static void put_thread(struct sonde__report_writer *w, const struct sonde__report *report,
                       uint32_t field, const struct sonde__report_thread *t)
{
    struct sonde__proto *p = &w->body;
    size_t mark = sonde__proto_begin(p, field);
    sonde__proto_int(p, SONDE__THREAD_TID, t->tid);
    sonde__proto_uint(p, SONDE__THREAD_NAME, use_string(w, report, t->name));
    sonde__proto_uint(p, SONDE__THREAD_STATE, t->state);
    sonde__proto_uint(p, SONDE__THREAD_MAIN, t->main);
    sonde__proto_uint(p, SONDE__THREAD_STACK, t->stack);
    sonde__proto_uint(p, SONDE__THREAD_END, t->end);
    sonde__proto_uint(p, SONDE__THREAD_END_AT, t->end_at);
    sonde__proto_uint(p, SONDE__THREAD_CAPTURED_BY, t->captured_by);
    sonde__proto_int(p, SONDE__THREAD_SYSCALL, t->syscall);
    sonde__proto_uint(p, SONDE__THREAD_PAUSE, t->pause_ns);
    sonde__proto_uint(p, SONDE__THREAD_NOTE, use_string(w, report, t->note));
    sonde__proto_uint(p, SONDE__THREAD_FRAME_COUNT, t->frame_count);
    sonde__proto_uint(p, SONDE__THREAD_TIME, t->time_ns);
    sonde__proto_uint(p, SONDE__THREAD_DETAIL, use_string(w, report, t->detail));
    sonde__proto_end(p, mark);
}

static void put_call(struct sonde__report_writer *w, const struct sonde__report *report,
                     const struct sonde__report_call *call)
{
    struct sonde__proto *p = &w->body;
    size_t mark = sonde__proto_begin(p, SONDE__RECORD_CALLS);
    sonde__proto_uint(p, SONDE__CALL_FUNCTION, use_string(w, report, call->function));
    sonde__proto_uint(p, SONDE__CALL_STACK, call->stack);
    sonde__proto_uint(p, SONDE__CALL_COUNT, call->count);
    sonde__proto_end(p, mark);
}

static void put_heap_blocks(struct sonde__report_writer *w,
                            const struct sonde__report_heap_blocks *b)
{
    struct sonde__proto *p = &w->body;
    size_t mark = sonde__proto_begin(p, SONDE__RECORD_HEAP_BLOCKS);
    sonde__proto_uint(p, SONDE__HEAP_BLOCKS_TIME, b->time_ns);
    sonde__proto_uint(p, SONDE__HEAP_BLOCKS_STACK, b->stack);
    sonde__proto_uint(p, SONDE__HEAP_BLOCKS_FUNCTION, b->function);
    sonde__proto_uint(p, SONDE__HEAP_BLOCKS_COUNT, b->count);
    sonde__proto_uint(p, SONDE__HEAP_BLOCKS_SIZE, b->size_bytes);
    sonde__proto_int(p, SONDE__HEAP_BLOCKS_GROWTH, b->growth);
    sonde__proto_int(p, SONDE__HEAP_BLOCKS_GROWTH_BYTES, b->growth_bytes);
    sonde__proto_uint(p, SONDE__HEAP_BLOCKS_OLDEST, b->oldest_ns);
    sonde__proto_uint(p, SONDE__HEAP_BLOCKS_NEWEST, b->newest_ns);
    sonde__proto_int(p, SONDE__HEAP_BLOCKS_TID, b->tid);
    sonde__proto_end(p, mark);
}

static void put_sample(struct sonde__report_writer *w, const struct sonde__report *report,
                       const struct sonde__report_sample *s)
{
    struct sonde__proto *p = &w->body;
    size_t mark = sonde__proto_begin(p, SONDE__STALL_SAMPLES);
    sonde__proto_uint(p, SONDE__SAMPLE_TIME, s->time_ns);
    sonde__proto_uint(p, SONDE__SAMPLE_WEIGHT, s->weight_ns);
    sonde__proto_uint(p, SONDE__SAMPLE_STACK, s->stack);
    sonde__proto_uint(p, SONDE__SAMPLE_END, s->end);
    sonde__proto_uint(p, SONDE__SAMPLE_PHASE, s->phase);
    sonde__proto_uint(p, SONDE__SAMPLE_CAPTURED_BY, s->captured_by);
    sonde__proto_int(p, SONDE__SAMPLE_SYSCALL, s->syscall);
    sonde__proto_uint(p, SONDE__SAMPLE_DETAIL, use_string(w, report, s->detail));
    sonde__proto_end(p, mark);
}

static void put_stall(struct sonde__report_writer *w, const struct sonde__report *report,
                      const struct sonde__report_stall *s)
{
    struct sonde__proto *p = &w->body;
    size_t mark = sonde__proto_begin(p, SONDE__RECORD_STALLS);
    sonde__proto_uint(p, SONDE__STALL_BEGIN, s->begin_ns);
    sonde__proto_uint(p, SONDE__STALL_DURATION, s->duration_ns);
    sonde__proto_int(p, SONDE__STALL_TID, s->tid);
    sonde__proto_uint(p, SONDE__STALL_THREAD_NAME, use_string(w, report, s->thread_name));
    sonde__proto_uint(p, SONDE__STALL_LOOP, s->loop);
    sonde__proto_uint(p, SONDE__STALL_LOOP_DETAIL, use_string(w, report, s->loop_detail));
    sonde__proto_uint(p, SONDE__STALL_LOOP_TURNS, s->loop_turns);
    for (uint32_t i = 0; i < s->sample_count; i++) {
        put_sample(w, report, &s->samples[i]);
    }
    for (uint32_t i = 0; i < s->thread_count; i++) {
        put_thread(w, report, SONDE__STALL_THREADS, &s->threads[i]);
    }
    sonde__proto_uint(p, SONDE__STALL_CPU, s->cpu_ns);
    sonde__proto_uint(p, SONDE__STALL_RUNQUEUE, s->runqueue_ns);
    sonde__proto_uint(p, SONDE__STALL_OPEN, s->open);
    sonde__proto_uint(p, SONDE__STALL_OVERHEAD, s->overhead_ns);
    sonde__proto_uint(p, SONDE__STALL_SAMPLES_EARLY, s->samples_early);
    sonde__proto_uint(p, SONDE__STALL_SAMPLER, s->sampler);
    sonde__proto_uint(p, SONDE__STALL_MAIN, s->main);
    sonde__proto_end(p, mark);
}

static void put_end(struct sonde__proto *p, const struct sonde__report *report)
{
    const struct sonde__report_end *end = sonde__report_end(report);
    uint64_t lost = sonde__report_lost_records(report);
    size_t mark = sonde__proto_begin(p, SONDE__RECORD_END);
    if (end != NULL) {
        sonde__proto_uint(p, SONDE__END_STALL_COUNT, end->stall_count);
        sonde__proto_uint(p, SONDE__END_TURN_COUNT, end->turn_count);
        lost += end->lost_records;
    }
    sonde__proto_uint(p, SONDE__END_LOST_RECORDS, lost);
    if (end != NULL) {
        sonde__proto_uint(p, SONDE__END_WATCHED, end->watched_ns);
    }
    sonde__proto_end(p, mark);
}

/* -- records -- */

/* Forget the record that was being made. */
static void roll_back(struct sonde__report_writer *w)
{
    for (size_t i = 0; i < w->string_capacity; i++) {
        if (w->string_ids[i] > w->done.strings) {
            w->string_ids[i] = 0;
        }
    }
    w->now = w->done;
    sonde__proto_reset(&w->strings);
    sonde__proto_reset(&w->body);
}

static enum sonde_status close_record(struct sonde__report_writer *w)
{
    struct sonde__proto *p = &w->record;
    if (w->strings.size == 0 && w->body.size == 0 && !w->strings.failed && !w->body.failed) {
        return SONDE_OK;
    }
    sonde__proto_reset(p);
    size_t mark = sonde__proto_begin(p, SONDE__SCHEMA_RECORDS_TAG >> 3);
    sonde__proto_raw(p, w->strings.data, w->strings.size);
    sonde__proto_raw(p, w->body.data, w->body.size);
    if (!p->failed) {
        uint32_t crc = sonde__base_crc32c(0, p->data + mark, p->size - mark);
        sonde__proto_fixed32(p, SONDE__RECORD_CRC32C, crc);
    }
    sonde__proto_end(p, mark);
    if (p->failed || w->strings.failed || w->body.failed) {
        roll_back(w);
        return SONDE_MEMORY;
    }
    w->failed = w->write(w->ctx, p->data, p->size);
    if (w->failed != SONDE_OK) {
        return w->failed;
    }
    w->done = w->now;
    sonde__proto_reset(&w->strings);
    sonde__proto_reset(&w->body);
    return SONDE_OK;
}

/* Put the next new thing, things that others refer to first. False: nothing is new. */
static bool put_next(struct sonde__report_writer *w, const struct sonde__report *report)
{
    struct progress *now = &w->now;
    if (!now->header) {
        put_header(&w->body, sonde__report_header(report));
        now->header = true;
    } else if (now->notes < sonde__report_note_count(report)) {
        const char *note = sonde__report_note(report, now->notes++);
        sonde__proto_element(&w->body, SONDE__RECORD_NOTES, note, strlen(note));
    } else if (now->images < sonde__report_image_count(report)) {
        put_image(w, report, sonde__report_image(report, ++now->images));
    } else if (now->frames < sonde__report_frame_count(report)) {
        put_frame(w, report, sonde__report_frame(report, ++now->frames));
    } else if (now->nodes < sonde__report_node_count(report)) {
        put_node(&w->body, sonde__report_node(report, ++now->nodes));
    } else if (now->threads < sonde__report_thread_count(report)) {
        put_thread(w, report, SONDE__RECORD_THREADS, sonde__report_thread(report, now->threads++));
    } else if (now->stalls < sonde__report_stall_count(report)) {
        put_stall(w, report, sonde__report_stall(report, now->stalls++));
    } else if (now->calls < sonde__report_call_count(report)) {
        put_call(w, report, sonde__report_call(report, now->calls++));
    } else if (now->heap_blocks < sonde__report_heap_blocks_count(report)) {
        put_heap_blocks(w, sonde__report_heap_blocks(report, now->heap_blocks++));
    } else {
        return false;
    }
    return true;
}

/* Whole records as they fill; the last one stays open. */
static enum sonde_status put_new(struct sonde__report_writer *w, const struct sonde__report *report)
{
    if (w->failed != SONDE_OK) {
        return w->failed;
    }
    if (!reserve_string_ids(w, report)) {
        return SONDE_MEMORY;
    }
    while (put_next(w, report)) {
        if (w->strings.size + w->body.size >= RECORD_BYTES || w->strings.failed || w->body.failed) {
            enum sonde_status status = close_record(w);
            if (status != SONDE_OK) {
                return status;
            }
        }
    }
    return SONDE_OK;
}

enum sonde_status sonde__report_writer_flush(struct sonde__report_writer *writer,
                                             const struct sonde__report *report)
{
    enum sonde_status status = put_new(writer, report);
    return status == SONDE_OK ? close_record(writer) : status;
}

enum sonde_status sonde__report_writer_finish(struct sonde__report_writer *writer,
                                              const struct sonde__report *report)
{
    enum sonde_status status = put_new(writer, report);
    if (status == SONDE_OK) {
        put_end(&writer->body, report);
        status = close_record(writer);
    }
    return status;
}
