// SPDX-License-Identifier: Apache-2.0
/* A string is written when a message first refers to it, with the next id of the file, so a report
 * without names of functions does not contain those strings either. All other ids are those of the
 * model. */
#include "report_write.h"

#include <string.h>

#include "base_crc32c.h"
#include "mem_heap.h"
#include "report_messages.h"
#include "report_proto.h"
#include "report_store.h"

/* A record is closed at this size, so a cut file loses at most this and one stall. */
#define RECORD_BYTES ((size_t)64 << 10)

/* How much of the model has been written. */
struct progress {
    bool header;
    uint32_t strings; /* ids used in the file */
    uint32_t notes;
    uint32_t parts[SONDE__PARTS];
};

struct sonde__report_writer {
    sonde__report_write *write;
    void *ctx;
    struct sonde__report_writer_options options;
    uint64_t bytes;           /* written */
    uint64_t left_out;        /* because of the size limit */
    enum sonde_status failed; /* permanent failure of `write` */
    struct progress done;     /* up to the last whole record */
    struct progress now;      /* including the current record */
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
    writer->options = options != NULL ? *options : writer->options;
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

/* The file's id of a string, which is written on first use. */
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

/* -- messages -- */

static void put_message(struct sonde__report_writer *w, const struct sonde__report *report,
                        uint32_t number, const struct sonde__message *message, const void *object);

/* Load a NUMBER member as 64 bits. */
static uint64_t load_number(const struct sonde__field *field, const void *member)
{
    uint64_t value = 0;
    switch (field->size_bytes) {
    case 1:
        return *(const bool *)member;
    case 4:
        memcpy(&value, member, 4); /* both architectures are little-endian */
        return field->is_signed ? (uint64_t)(int64_t)(int32_t)value : value;
    default:
        memcpy(&value, member, 8);
        return value;
    }
}

static void put_array(struct sonde__report_writer *w, const struct sonde__report *report,
                      const struct sonde__field *field, const void *object)
{
    const char *elements = *(const char *const *)((const char *)object + field->offset);
    uint32_t count = *(const uint32_t *)((const char *)object + field->count_offset);
    struct sonde__proto *p = &w->body;
    if (field->kind == SONDE__FIELD_MESSAGES) {
        for (uint32_t i = 0; i < count; i++) {
            put_message(w, report, field->number, field->elements,
                        elements + (size_t)i * field->elements->size_bytes);
        }
    } else if (count != 0) {
        size_t packed = sonde__proto_begin(p, field->number);
        for (uint32_t i = 0; i < count; i++) {
            sonde__proto_varint(p, ((const uint32_t *)(const void *)elements)[i]);
        }
        sonde__proto_end(p, packed);
    }
}

static void put_field(struct sonde__report_writer *w, const struct sonde__report *report,
                      const struct sonde__field *field, const void *object)
{
    struct sonde__proto *p = &w->body;
    const void *member = (const char *)object + field->offset;
    const struct sonde__build_id *id = member;
    const char *text;
    switch ((enum sonde__field_kind)field->kind) {
    case SONDE__FIELD_NUMBER:
        sonde__proto_uint(p, field->number, load_number(field, member));
        break;
    case SONDE__FIELD_FIXED64:
        sonde__proto_fixed64(p, field->number, *(const uint64_t *)member);
        break;
    case SONDE__FIELD_STRING:
        sonde__proto_uint(p, field->number, use_string(w, report, *(const uint32_t *)member));
        break;
    case SONDE__FIELD_TEXT:
        text = *(const char *const *)member;
        sonde__proto_bytes(p, field->number, text, strlen(text));
        break;
    case SONDE__FIELD_BUILD_ID:
        sonde__proto_bytes(p, field->number, id->bytes, id->size);
        break;
    case SONDE__FIELD_NUMBERS:
    case SONDE__FIELD_MESSAGES:
        put_array(w, report, field, object);
        break;
    case SONDE__FIELD_MESSAGE:
        put_message(w, report, field->number, field->elements, member);
        break;
    }
}

static bool is_empty(const struct sonde__field *field, const void *object);

/* A struct is written only if one of its fields has a value. */
static bool is_empty_struct(const struct sonde__message *message, const void *object)
{
    bool empty = true;
    for (uint32_t i = 0; empty && i < message->field_count; i++) {
        empty = is_empty(&message->fields[i], object);
    }
    return empty;
}

/* Most members of most objects are 0, which is not written. False: not certain. */
static bool is_empty(const struct sonde__field *field, const void *object)
{
    const char *member = (const char *)object + field->offset;
    switch ((enum sonde__field_kind)field->kind) {
    case SONDE__FIELD_NUMBER:
        return field->size_bytes == 8   ? *(const uint64_t *)(const void *)member == 0
               : field->size_bytes == 4 ? *(const uint32_t *)(const void *)member == 0
                                        : *member == 0;
    case SONDE__FIELD_STRING:
        return *(const uint32_t *)(const void *)member == 0;
    case SONDE__FIELD_NUMBERS:
    case SONDE__FIELD_MESSAGES:
        return *(const uint32_t *)(const void *)((const char *)object + field->count_offset) == 0;
    case SONDE__FIELD_MESSAGE:
        return is_empty_struct(field->elements, member);
    case SONDE__FIELD_TEXT:
        return **(const char *const *)(const void *)member == '\0';
    default:
        return false;
    }
}

static void put_message(struct sonde__report_writer *w, const struct sonde__report *report,
                        uint32_t number, const struct sonde__message *message, const void *object)
{
    size_t mark = sonde__proto_begin(&w->body, number);
    for (uint32_t i = 0; i < message->field_count; i++) {
        const struct sonde__field *field = &message->fields[i];
        if (!is_empty(field, object) && (!field->is_name || !w->options.no_names)) {
            put_field(w, report, field, object);
        }
    }
    sonde__proto_end(&w->body, mark);
}

static void put_end(struct sonde__report_writer *w, const struct sonde__report *report)
{
    const struct sonde__report_end *known = sonde__report_end(report);
    struct sonde__report_end end = known != NULL ? *known : (struct sonde__report_end){0};
    end.lost_records += sonde__report_lost_records(report) + w->left_out;
    put_message(w, report, SONDE__RECORD_END, &sonde__message_end, &end);
}

/* -- records -- */

/* Discard the current record. */
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
    w->bytes += p->size;
    sonde__proto_reset(&w->strings);
    sonde__proto_reset(&w->body);
    return SONDE_OK;
}

/* -- the size limit -- */

static bool is_over_bytes(const struct sonde__report_writer *w)
{
    return w->options.bytes_max != 0 && w->bytes >= w->options.bytes_max;
}

static void put_stall_count(struct sonde__report_writer *w, const struct sonde__report *report,
                            const struct sonde__report_stall *stall)
{
    const struct sonde__report_stall_count count = {
        .fingerprint = stall->fingerprint,
        .count = 1,
        .total_ns = stall->duration_ns,
        .longest_ns = stall->duration_ns,
        .first_ns = stall->begin_ns,
        .last_ns = stall->begin_ns,
    };
    put_message(w, report, sonde__parts[SONDE__PART_STALL_COUNTS].number,
                sonde__parts[SONDE__PART_STALL_COUNTS].message, &count);
}

static void put_part(struct sonde__report_writer *w, const struct sonde__report *report,
                     uint32_t part, const void *object)
{
    bool is_of_stacks =
        part == SONDE__PART_IMAGES || part == SONDE__PART_FRAMES || part == SONDE__PART_NODES;
    if (!is_over_bytes(w)) {
        put_message(w, report, sonde__parts[part].number, sonde__parts[part].message, object);
    } else if (part == SONDE__PART_STALLS) {
        put_stall_count(w, report, object);
    } else if (part == SONDE__PART_THREADS) {
        w->left_out++;
    } else if (!is_of_stacks) {
        put_message(w, report, sonde__parts[part].number, sonde__parts[part].message, object);
    }
}

/* Write the next new object. False: there is none. */
static bool put_next(struct sonde__report_writer *w, const struct sonde__report *report)
{
    struct progress *now = &w->now;
    if (!now->header) {
        put_message(w, report, SONDE__RECORD_HEADER, &sonde__message_header,
                    sonde__report_header(report));
        now->header = true;
        return true;
    }
    if (now->notes < sonde__report_note_count(report)) {
        const char *note = sonde__report_note(report, now->notes++);
        sonde__proto_element(&w->body, SONDE__RECORD_NOTES, note, strlen(note));
        return true;
    }
    for (uint32_t i = 0; i < SONDE__PARTS; i++) {
        if (now->parts[i] < report->parts[i].count) {
            put_part(w, report, i, sonde__report_list_at(&report->parts[i], now->parts[i]++));
            return true;
        }
    }
    return false;
}

/* Write full records; the last one stays open. */
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
        put_end(writer, report);
        status = close_record(writer);
    }
    return status;
}

enum sonde_status sonde__report_writer_growing(struct sonde__report_writer *writer,
                                               const struct sonde__report *report,
                                               const struct sonde__report_stall *part)
{
    enum sonde_status status = put_new(writer, report);
    if (status == SONDE_OK) {
        put_message(writer, report, SONDE__RECORD_GROWING, sonde__parts[SONDE__PART_STALLS].message,
                    part);
        status = close_record(writer);
    }
    return status;
}
