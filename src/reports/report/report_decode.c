// SPDX-License-Identifier: Apache-2.0
/* A field of a known number and an unknown wire type counts as unknown, as protobuf has it. A
 * malformed message costs what it could not say, but keeps its place: ids stay right. */
#include "report_decode.h"

#include <string.h>

#include "mem_heap.h"
#include "report_proto.h"
#include "report_schema.h"
#include "report_store.h"

struct field {
    uint32_t number;
    enum sonde__proto_wire wire;
    uint64_t value; /* varint, fixed */
    const uint8_t *bytes;
    size_t size;
};

/* The next field, whatever it is. False: the message has ended, or is malformed (failed). */
static bool next_field(struct sonde__bytes *message, struct field *ret_field)
{
    if (sonde__base_bytes_left(message) == 0) {
        return false;
    }
    uint64_t tag = sonde__base_bytes_uleb(message);
    struct field f = {.number = (uint32_t)(tag >> 3), .wire = (enum sonde__proto_wire)(tag & 7)};
    if (tag > UINT32_MAX || f.number == 0) {
        return sonde__base_bytes_fail(message);
    }
    switch (f.wire) {
    case SONDE__PROTO_VARINT:
        f.value = sonde__base_bytes_uleb(message);
        break;
    case SONDE__PROTO_FIXED64:
        f.value = sonde__base_bytes_u64(message);
        break;
    case SONDE__PROTO_FIXED32:
        f.value = sonde__base_bytes_u32(message);
        break;
    case SONDE__PROTO_BYTES:
        f.size = (size_t)sonde__base_bytes_uleb(message);
        f.bytes = message->failed ? NULL : sonde__base_bytes_take(message, f.size);
        break;
    default: /* groups: gone from proto3, and no length to skip by */
        return sonde__base_bytes_fail(message);
    }
    *ret_field = f;
    return !message->failed;
}

static struct sonde__bytes open_message(const struct field *f)
{
    struct sonde__bytes message;
    sonde__base_bytes_init(&message, f->bytes, f->size);
    return message;
}

/* Number and wire type together, to switch on. */
#define VARINT(number)  ((number)*8 + SONDE__PROTO_VARINT)
#define FIXED64(number) ((number)*8 + SONDE__PROTO_FIXED64)
#define BYTES(number)   ((number)*8 + SONDE__PROTO_BYTES)

static uint64_t key_of(const struct field *f)
{
    return (uint64_t)f->number * 8 + f->wire;
}

static void close_message(struct sonde__report_decoded *d, const struct sonde__bytes *message)
{
    d->bad_parts += message->failed;
}

static const char *take_text(struct sonde__report_decoded *d, const struct field *f)
{
    uint32_t length = 0;
    const char *text = sonde__report_copy_text(d->report, f->bytes, f->size, &length);
    if (text == NULL) {
        d->report->lost.strings++;
        return "";
    }
    return text;
}

static void decode_header(struct sonde__report_decoded *d, const struct field *record)
{
    struct sonde__report_header *h = &d->report->header;
    struct sonde__bytes message = open_message(record);
    struct field f;
    while (next_field(&message, &f)) {
        switch (key_of(&f)) {
        case VARINT(SONDE__HEADER_FORMAT):
            h->format = (uint32_t)f.value;
            break;
        case VARINT(SONDE__HEADER_KIND):
            h->kind = (uint32_t)f.value;
            break;
        case BYTES(SONDE__HEADER_TOOL):
            h->tool = take_text(d, &f);
            break;
        case FIXED64(SONDE__HEADER_TIME):
            h->time_unix_ns = f.value;
            break;
        case VARINT(SONDE__HEADER_PID):
            h->pid = (int32_t)f.value;
            break;
        case BYTES(SONDE__HEADER_EXECUTABLE):
            h->executable = take_text(d, &f);
            break;
        case BYTES(SONDE__HEADER_OS):
            h->os = take_text(d, &f);
            break;
        case BYTES(SONDE__HEADER_ARCH):
            h->arch = take_text(d, &f);
            break;
        case VARINT(SONDE__HEADER_THRESHOLD):
            h->threshold_ns = f.value;
            break;
        case BYTES(SONDE__HEADER_SOURCE):
            h->source = take_text(d, &f);
            break;
        case VARINT(SONDE__HEADER_PAUSE):
            h->pause_ns = f.value;
            break;
        default:
            break;
        }
    }
    close_message(d, &message);
    d->header = d->header || h->format != 0;
}

static void decode_image(struct sonde__report_decoded *d, const struct field *record)
{
    struct sonde__report_image image = {0};
    struct sonde__bytes message = open_message(record);
    struct field f;
    while (next_field(&message, &f)) {
        switch (key_of(&f)) {
        case VARINT(SONDE__IMAGE_FIELD_PATH):
            image.path = (uint32_t)f.value;
            break;
        case VARINT(SONDE__IMAGE_FIELD_CODE_ID):
            image.code_id = f.value;
            break;
        case BYTES(SONDE__IMAGE_FIELD_BUILD_ID):
            if (f.bytes != NULL && f.size <= SONDE__BUILD_ID_MAX) {
                image.build_id.size = (uint8_t)f.size;
                memcpy(image.build_id.bytes, f.bytes, f.size);
            } else {
                d->bad_parts++;
            }
            break;
        case VARINT(SONDE__IMAGE_FIELD_FLAGS):
            image.flags = (uint32_t)f.value;
            break;
        case VARINT(SONDE__IMAGE_FIELD_ARCH):
            image.arch = (uint32_t)f.value;
            break;
        default:
            break;
        }
    }
    close_message(d, &message);
    d->full |= sonde__report_append_image(d->report, &image) == 0;
}

static void decode_inlined(struct sonde__report_decoded *d, const struct field *part,
                           struct sonde__report_inlined *ret_call)
{
    struct sonde__bytes message = open_message(part);
    struct field f;
    *ret_call = (struct sonde__report_inlined){0};
    while (next_field(&message, &f)) {
        switch (key_of(&f)) {
        case VARINT(SONDE__INLINED_NAME):
            ret_call->name = (uint32_t)f.value;
            break;
        case VARINT(SONDE__INLINED_FILE):
            ret_call->file = (uint32_t)f.value;
            break;
        case VARINT(SONDE__INLINED_LINE):
            ret_call->line = (uint32_t)f.value;
            break;
        default:
            break;
        }
    }
    close_message(d, &message);
}

static void decode_frame(struct sonde__report_decoded *d, const struct field *record)
{
    struct sonde__report_inlined inlined[SONDE__REPORT_INLINED_MAX];
    struct sonde__report_frame frame = {.inlined = inlined};
    struct sonde__bytes message = open_message(record);
    struct field f;
    while (next_field(&message, &f)) {
        switch (key_of(&f)) {
        case VARINT(SONDE__FRAME_IMAGE):
            frame.image = (uint32_t)f.value;
            break;
        case VARINT(SONDE__FRAME_OFFSET):
            frame.offset = f.value;
            break;
        case VARINT(SONDE__FRAME_HOW):
            frame.how = (uint32_t)f.value;
            break;
        case VARINT(SONDE__FRAME_NAME):
            frame.name = (uint32_t)f.value;
            break;
        case VARINT(SONDE__FRAME_NAME_OFFSET):
            frame.name_offset = f.value;
            break;
        case VARINT(SONDE__FRAME_NAME_SOURCE):
            frame.name_source = (uint32_t)f.value;
            break;
        case VARINT(SONDE__FRAME_LOST_COUNT):
            frame.lost_count = f.value;
            break;
        case VARINT(SONDE__FRAME_KIND):
            frame.kind = (uint32_t)f.value;
            break;
        case VARINT(SONDE__FRAME_FILE):
            frame.file = (uint32_t)f.value;
            break;
        case VARINT(SONDE__FRAME_LINE):
            frame.line = (uint32_t)f.value;
            break;
        case BYTES(SONDE__FRAME_INLINED):
            if (frame.inlined_count < SONDE__REPORT_INLINED_MAX) {
                decode_inlined(d, &f, &inlined[frame.inlined_count++]);
            } else {
                d->report->lost.frames++;
            }
            break;
        case VARINT(SONDE__FRAME_ALTERNATIVES):
            frame.alternatives = (uint32_t)f.value;
            break;
        case VARINT(SONDE__FRAME_CODE_ID):
            frame.code_id = f.value;
            break;
        default:
            break;
        }
    }
    close_message(d, &message);
    d->full |= sonde__report_append_frame(d->report, &frame) == 0;
}

struct tail_calls {
    uint32_t frames[SONDE__REPORT_TAIL_CALLS_MAX];
    uint32_t count;
};

static void add_tail_call(struct sonde__report_decoded *d, struct tail_calls *calls, uint64_t frame)
{
    if (calls->count < SONDE__REPORT_TAIL_CALLS_MAX) {
        calls->frames[calls->count++] = (uint32_t)frame;
    } else {
        d->report->lost.frames++;
    }
}

static void decode_node(struct sonde__report_decoded *d, const struct field *record)
{
    struct tail_calls calls = {.count = 0};
    struct sonde__report_node node = {0};
    struct sonde__bytes message = open_message(record);
    struct field f;
    while (next_field(&message, &f)) {
        switch (key_of(&f)) {
        case VARINT(SONDE__NODE_PARENT):
            node.parent = (uint32_t)f.value;
            break;
        case VARINT(SONDE__NODE_FRAME):
            node.frame = (uint32_t)f.value;
            break;
        case VARINT(SONDE__NODE_TAIL_CALLS): /* not packed: a writer may choose */
            add_tail_call(d, &calls, f.value);
            break;
        case BYTES(SONDE__NODE_TAIL_CALLS): {
            struct sonde__bytes packed = open_message(&f);
            while (sonde__base_bytes_left(&packed) != 0 && !packed.failed) {
                add_tail_call(d, &calls, sonde__base_bytes_uleb(&packed));
            }
            close_message(d, &packed);
            break;
        }
        default:
            break;
        }
    }
    close_message(d, &message);
    node.tail_calls = calls.frames;
    node.tail_call_count = calls.count;
    d->full |= sonde__report_append_node(d->report, &node) == 0;
}

static void set_thread_field(struct sonde__report_thread *t, const struct field *f)
{
    switch (key_of(f)) {
    case VARINT(SONDE__THREAD_TID):
        t->tid = (int64_t)f->value;
        break;
    case VARINT(SONDE__THREAD_NAME):
        t->name = (uint32_t)f->value;
        break;
    case VARINT(SONDE__THREAD_STATE):
        t->state = (uint32_t)f->value;
        break;
    case VARINT(SONDE__THREAD_MAIN):
        t->main = f->value != 0;
        break;
    case VARINT(SONDE__THREAD_STACK):
        t->stack = (uint32_t)f->value;
        break;
    case VARINT(SONDE__THREAD_END):
        t->end = (uint32_t)f->value;
        break;
    case VARINT(SONDE__THREAD_END_AT):
        t->end_at = f->value;
        break;
    case VARINT(SONDE__THREAD_CAPTURED_BY):
        t->captured_by = (uint32_t)f->value;
        break;
    case VARINT(SONDE__THREAD_SYSCALL):
        t->syscall = (int64_t)f->value;
        break;
    case VARINT(SONDE__THREAD_PAUSE):
        t->pause_ns = f->value;
        break;
    case VARINT(SONDE__THREAD_NOTE):
        t->note = (uint32_t)f->value;
        break;
    case VARINT(SONDE__THREAD_FRAME_COUNT):
        t->frame_count = (uint32_t)f->value;
        break;
    case VARINT(SONDE__THREAD_TIME):
        t->time_ns = f->value;
        break;
    case VARINT(SONDE__THREAD_DETAIL):
        t->detail = (uint32_t)f->value;
        break;
    default:
        break;
    }
}

static void decode_thread(struct sonde__report_decoded *d, const struct field *record,
                          struct sonde__report_thread *ret_thread)
{
    struct sonde__bytes message = open_message(record);
    struct field f;
    *ret_thread = (struct sonde__report_thread){0};
    while (next_field(&message, &f)) {
        set_thread_field(ret_thread, &f);
    }
    close_message(d, &message);
}

static void decode_sample(struct sonde__report_decoded *d, const struct field *record,
                          struct sonde__report_sample *ret_sample)
{
    struct sonde__report_sample s = {0};
    struct sonde__bytes message = open_message(record);
    struct field f;
    while (next_field(&message, &f)) {
        switch (key_of(&f)) {
        case VARINT(SONDE__SAMPLE_TIME):
            s.time_ns = f.value;
            break;
        case VARINT(SONDE__SAMPLE_WEIGHT):
            s.weight_ns = f.value;
            break;
        case VARINT(SONDE__SAMPLE_STACK):
            s.stack = (uint32_t)f.value;
            break;
        case VARINT(SONDE__SAMPLE_END):
            s.end = (uint32_t)f.value;
            break;
        case VARINT(SONDE__SAMPLE_PHASE):
            s.phase = (uint32_t)f.value;
            break;
        case VARINT(SONDE__SAMPLE_CAPTURED_BY):
            s.captured_by = (uint32_t)f.value;
            break;
        case VARINT(SONDE__SAMPLE_SYSCALL):
            s.syscall = (int64_t)f.value;
            break;
        case VARINT(SONDE__SAMPLE_DETAIL):
            s.detail = (uint32_t)f.value;
            break;
        default:
            break;
        }
    }
    close_message(d, &message);
    *ret_sample = s;
}

static void set_stall_field(struct sonde__report_stall *s, const struct field *f)
{
    switch (key_of(f)) {
    case VARINT(SONDE__STALL_BEGIN):
        s->begin_ns = f->value;
        break;
    case VARINT(SONDE__STALL_DURATION):
        s->duration_ns = f->value;
        break;
    case VARINT(SONDE__STALL_TID):
        s->tid = (int64_t)f->value;
        break;
    case VARINT(SONDE__STALL_THREAD_NAME):
        s->thread_name = (uint32_t)f->value;
        break;
    case VARINT(SONDE__STALL_LOOP):
        s->loop = (uint32_t)f->value;
        break;
    case VARINT(SONDE__STALL_LOOP_DETAIL):
        s->loop_detail = (uint32_t)f->value;
        break;
    case VARINT(SONDE__STALL_LOOP_TURNS):
        s->loop_turns = f->value;
        break;
    case VARINT(SONDE__STALL_CPU):
        s->cpu_ns = f->value;
        break;
    case VARINT(SONDE__STALL_RUNQUEUE):
        s->runqueue_ns = f->value;
        break;
    case VARINT(SONDE__STALL_OPEN):
        s->open = f->value != 0;
        break;
    case VARINT(SONDE__STALL_OVERHEAD):
        s->overhead_ns = f->value;
        break;
    case VARINT(SONDE__STALL_SAMPLES_EARLY):
        s->samples_early = f->value;
        break;
    case VARINT(SONDE__STALL_SAMPLER):
        s->sampler = (uint32_t)f->value;
        break;
    case VARINT(SONDE__STALL_MAIN):
        s->main = f->value != 0;
        break;
    default:
        break;
    }
}

/* Samples and threads are counted first, so that their arrays can be taken at once. */
static void decode_stall(struct sonde__report_decoded *d, const struct field *record)
{
    struct sonde__report_stall stall = {0};
    struct sonde__report_sample *samples = NULL;
    struct sonde__report_thread *threads = NULL;
    uint32_t sample_count = 0, thread_count = 0;
    struct sonde__bytes message = open_message(record);
    struct field f;
    while (next_field(&message, &f)) {
        sample_count += key_of(&f) == BYTES(SONDE__STALL_SAMPLES);
        thread_count += key_of(&f) == BYTES(SONDE__STALL_THREADS);
        set_stall_field(&stall, &f);
    }
    close_message(d, &message);
    samples = sample_count == 0 ? NULL : sonde__mem_alloc_array(sample_count, sizeof *samples);
    threads = thread_count == 0 ? NULL : sonde__mem_alloc_array(thread_count, sizeof *threads);
    message = open_message(record);
    while (next_field(&message, &f)) {
        if (key_of(&f) == BYTES(SONDE__STALL_SAMPLES) && samples != NULL) {
            decode_sample(d, &f, &samples[stall.sample_count++]);
        } else if (key_of(&f) == BYTES(SONDE__STALL_THREADS) && threads != NULL) {
            decode_thread(d, &f, &threads[stall.thread_count++]);
        }
    }
    d->report->lost.samples += sample_count - stall.sample_count;
    d->report->lost.threads += thread_count - stall.thread_count;
    stall.samples = samples;
    stall.threads = threads;
    sonde__report_add_stall(d->report, &stall);
    sonde__mem_free(samples);
    sonde__mem_free(threads);
}

static void decode_call(struct sonde__report_decoded *d, const struct field *record)
{
    struct sonde__report_call call = {0};
    struct sonde__bytes message = open_message(record);
    struct field f;
    while (next_field(&message, &f)) {
        switch (key_of(&f)) {
        case VARINT(SONDE__CALL_FUNCTION):
            call.function = (uint32_t)f.value;
            break;
        case VARINT(SONDE__CALL_STACK):
            call.stack = (uint32_t)f.value;
            break;
        case VARINT(SONDE__CALL_COUNT):
            call.count = f.value;
            break;
        default:
            break;
        }
    }
    close_message(d, &message);
    sonde__report_add_call(d->report, &call);
}

static void decode_heap_blocks(struct sonde__report_decoded *d, const struct field *record)
{
    struct sonde__report_heap_blocks b = {0};
    struct sonde__bytes message = open_message(record);
    struct field f;
    while (next_field(&message, &f)) {
        switch (key_of(&f)) {
        case VARINT(SONDE__HEAP_BLOCKS_TIME):
            b.time_ns = f.value;
            break;
        case VARINT(SONDE__HEAP_BLOCKS_STACK):
            b.stack = (uint32_t)f.value;
            break;
        case VARINT(SONDE__HEAP_BLOCKS_FUNCTION):
            b.function = (uint32_t)f.value;
            break;
        case VARINT(SONDE__HEAP_BLOCKS_COUNT):
            b.count = f.value;
            break;
        case VARINT(SONDE__HEAP_BLOCKS_SIZE):
            b.size_bytes = f.value;
            break;
        case VARINT(SONDE__HEAP_BLOCKS_GROWTH):
            b.growth = (int64_t)f.value;
            break;
        case VARINT(SONDE__HEAP_BLOCKS_GROWTH_BYTES):
            b.growth_bytes = (int64_t)f.value;
            break;
        case VARINT(SONDE__HEAP_BLOCKS_OLDEST):
            b.oldest_ns = f.value;
            break;
        case VARINT(SONDE__HEAP_BLOCKS_NEWEST):
            b.newest_ns = f.value;
            break;
        case VARINT(SONDE__HEAP_BLOCKS_TID):
            b.tid = (int64_t)f.value;
            break;
        default:
            break;
        }
    }
    close_message(d, &message);
    sonde__report_add_heap_blocks(d->report, &b);
}

static void decode_end(struct sonde__report_decoded *d, const struct field *record)
{
    struct sonde__report_end end = {0};
    struct sonde__bytes message = open_message(record);
    struct field f;
    while (next_field(&message, &f)) {
        switch (key_of(&f)) {
        case VARINT(SONDE__END_STALL_COUNT):
            end.stall_count = f.value;
            break;
        case VARINT(SONDE__END_TURN_COUNT):
            end.turn_count = f.value;
            break;
        case VARINT(SONDE__END_LOST_RECORDS):
            end.lost_records = f.value;
            break;
        case VARINT(SONDE__END_WATCHED):
            end.watched_ns = f.value;
            break;
        default:
            break;
        }
    }
    close_message(d, &message);
    sonde__report_set_end(d->report, &end);
}

static void decode_part(struct sonde__report_decoded *d, const struct field *f)
{
    struct sonde__report_thread thread;
    switch (key_of(f)) {
    case BYTES(SONDE__RECORD_HEADER):
        decode_header(d, f);
        break;
    case BYTES(SONDE__RECORD_STRINGS):
        d->full |= sonde__report_append_string(d->report, f->bytes, f->size) == 0;
        break;
    case BYTES(SONDE__RECORD_IMAGES):
        decode_image(d, f);
        break;
    case BYTES(SONDE__RECORD_FRAMES):
        decode_frame(d, f);
        break;
    case BYTES(SONDE__RECORD_STACKS):
        decode_node(d, f);
        break;
    case BYTES(SONDE__RECORD_THREADS):
        decode_thread(d, f, &thread);
        sonde__report_add_thread(d->report, &thread);
        break;
    case BYTES(SONDE__RECORD_STALLS):
        decode_stall(d, f);
        break;
    case BYTES(SONDE__RECORD_END):
        decode_end(d, f);
        break;
    case BYTES(SONDE__RECORD_CALLS):
        decode_call(d, f);
        break;
    case BYTES(SONDE__RECORD_HEAP_BLOCKS):
        decode_heap_blocks(d, f);
        break;
    case BYTES(SONDE__RECORD_NOTES):
        sonde__report_append_note(d->report, f->bytes, f->size);
        break;
    default:
        break;
    }
}

void sonde__report_decode_record(struct sonde__report_decoded *decoded, struct sonde__bytes *body)
{
    struct field f;
    while (!decoded->full && next_field(body, &f)) {
        decode_part(decoded, &f);
    }
    close_message(decoded, body);
}
