// SPDX-License-Identifier: Apache-2.0
/* A known field with another wire type counts as unknown, as in protobuf. A malformed message keeps
 * its place and the fields that could be read, so later ids stay valid. */
#include "report_decode.h"

#include <string.h>

#include "report_messages.h"
#include "report_proto.h"
#include "report_store.h"

struct field {
    uint32_t number;
    enum sonde__proto_wire wire;
    uint64_t value; /* varint, fixed */
    const uint8_t *bytes;
    size_t size;
};

/* Read the next field. False: end of the message, or malformed (failed). */
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
    default: /* groups: not in proto3, and without a length to skip */
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

static void store_number(const struct sonde__field *field, void *member, uint64_t value)
{
    switch (field->size_bytes) {
    case 1:
        *(bool *)member = value != 0;
        break;
    case 4:
        *(uint32_t *)member = (uint32_t)value;
        break;
    default:
        *(uint64_t *)member = value;
        break;
    }
}

static void store_build_id(struct sonde__report_decoded *d, struct sonde__build_id *id,
                           const struct field *f)
{
    if (f->bytes != NULL && f->size <= SONDE__BUILD_ID_MAX) {
        id->size = (uint8_t)f->size;
        memcpy(id->bytes, f->bytes, f->size);
    } else {
        d->bad_parts++;
    }
}

/* The table's entry for a field number, if the wire type fits; else null. Arrays of numbers may be
 * unpacked. */
static const struct sonde__field *find_field(const struct sonde__message *message,
                                             const struct field *f)
{
    static const uint8_t wires[] = {
        [SONDE__FIELD_NUMBER] = SONDE__PROTO_VARINT,  [SONDE__FIELD_FIXED64] = SONDE__PROTO_FIXED64,
        [SONDE__FIELD_STRING] = SONDE__PROTO_VARINT,  [SONDE__FIELD_TEXT] = SONDE__PROTO_BYTES,
        [SONDE__FIELD_BUILD_ID] = SONDE__PROTO_BYTES, [SONDE__FIELD_NUMBERS] = SONDE__PROTO_BYTES,
        [SONDE__FIELD_MESSAGES] = SONDE__PROTO_BYTES, [SONDE__FIELD_MESSAGE] = SONDE__PROTO_BYTES,
    };
    /* numbers ascend with few gaps, so field N is at index N - 1 or earlier */
    uint32_t first = f->number <= message->field_count ? f->number : message->field_count;
    for (uint32_t i = first; i > 0; i--) {
        const struct sonde__field *field = &message->fields[i - 1];
        if (field->number == f->number) {
            bool is_unpacked =
                field->kind == SONDE__FIELD_NUMBERS && f->wire == SONDE__PROTO_VARINT;
            return wires[field->kind] == f->wire || is_unpacked ? field : NULL;
        }
    }
    return NULL;
}

static void decode_message(struct sonde__report_decoded *d, const struct field *part,
                           const struct sonde__message *message, void *object);

/* Store a field in its member. Of an array, count the elements only. */
static void store_field(struct sonde__report_decoded *d, const struct sonde__field *field,
                        const struct field *f, void *object)
{
    void *member = (char *)object + field->offset;
    switch ((enum sonde__field_kind)field->kind) {
    case SONDE__FIELD_NUMBER:
        store_number(field, member, f->value);
        break;
    case SONDE__FIELD_STRING:
        *(uint32_t *)member = (uint32_t)f->value;
        break;
    case SONDE__FIELD_FIXED64:
        *(uint64_t *)member = f->value;
        break;
    case SONDE__FIELD_TEXT:
        *(const char **)member = take_text(d, f);
        break;
    case SONDE__FIELD_BUILD_ID:
        store_build_id(d, member, f);
        break;
    case SONDE__FIELD_NUMBERS: /* the last byte of each varint has the top bit clear */
        for (size_t i = 0; i < f->size; i++) {
            *sonde__field_count(field, object) += f->bytes[i] < 0x80;
        }
        *sonde__field_count(field, object) += f->wire == SONDE__PROTO_VARINT;
        break;
    case SONDE__FIELD_MESSAGES:
        *sonde__field_count(field, object) += 1;
        break;
    case SONDE__FIELD_MESSAGE:
        decode_message(d, f, field->elements, member);
        break;
    }
}

/* Allocate the arrays by their counts, and reset the counts. Elements over a limit or without
 * memory are counted as lost. False: no arrays. */
static bool take_arrays(struct sonde__report_decoded *d, const struct sonde__message *message,
                        void *object, uint32_t *room)
{
    bool any = false;
    for (uint32_t i = 0; i < message->field_count; i++) {
        const struct sonde__field *field = &message->fields[i];
        if (!sonde__field_is_array(field)) {
            continue;
        }
        uint32_t *count = sonde__field_count(field, object);
        void *elements = NULL;
        room[i] = *count < field->max ? *count : field->max;
        if (room[i] != 0) {
            elements = sonde__report_arena_take(&d->report->arena,
                                                room[i] * sonde__field_element_bytes(field));
            d->full |= elements == NULL;
            room[i] = elements != NULL ? room[i] : 0;
        }
        *(uint64_t *)(void *)((char *)&d->report->lost + field->lost_offset) += *count - room[i];
        *sonde__field_elements(field, object) = elements;
        *count = 0;
        any |= room[i] != 0;
    }
    return any;
}

static void decode_elements(struct sonde__report_decoded *d, const struct sonde__field *field,
                            const struct field *f, void *object, uint32_t room)
{
    uint32_t *count = sonde__field_count(field, object);
    void *elements = *sonde__field_elements(field, object);
    struct sonde__bytes packed = open_message(f);
    if (field->kind == SONDE__FIELD_MESSAGES) {
        if (*count < room) {
            size_t size = field->elements->size_bytes;
            decode_message(d, f, field->elements, (char *)elements + (*count)++ * size);
        }
    } else if (f->wire == SONDE__PROTO_VARINT) {
        if (*count < room) {
            ((uint32_t *)elements)[(*count)++] = (uint32_t)f->value;
        }
    } else {
        while (*count < room && sonde__base_bytes_left(&packed) != 0 && !packed.failed) {
            ((uint32_t *)elements)[(*count)++] = (uint32_t)sonde__base_bytes_uleb(&packed);
        }
        close_message(d, &packed);
    }
}

/* Decode a message into its struct, which is zero or holds an earlier part of the same message.
 * Array elements are counted first, so each array is allocated once. Elements have no arrays of
 * their own. */
static void decode_message(struct sonde__report_decoded *d, const struct field *part,
                           const struct sonde__message *message, void *object)
{
    uint32_t room[SONDE__MESSAGE_FIELDS_MAX]; /* of arrays; set by take_arrays */
    struct sonde__bytes bytes = open_message(part);
    struct field f;
    while (next_field(&bytes, &f)) {
        const struct sonde__field *field = find_field(message, &f);
        if (field != NULL) {
            store_field(d, field, &f, object);
        } else {
            d->unknown_fields++;
        }
    }
    close_message(d, &bytes);
    if (!take_arrays(d, message, object, room)) {
        return;
    }
    bytes = open_message(part);
    while (next_field(&bytes, &f)) {
        const struct sonde__field *field = find_field(message, &f);
        if (field != NULL && sonde__field_is_array(field)) {
            decode_elements(d, field, &f, object, room[field - message->fields]);
        }
    }
}

/* The list for a field of Record; SONDE__PARTS: none. */
static uint32_t part_of(const struct field *f)
{
    uint32_t part = 0;
    while (part < SONDE__PARTS && sonde__parts[part].number != f->number) {
        part++;
    }
    return part;
}

static void decode_part(struct sonde__report_decoded *d, const struct field *f, uint32_t part)
{
    union sonde__report_object object;
    memset(&object, 0, sonde__parts[part].message->size_bytes);
    decode_message(d, f, sonde__parts[part].message, &object);
    uint32_t id = part == SONDE__PART_NODES ? sonde__report_append_node(d->report, &object.node)
                  : part == SONDE__PART_PROCESSES
                      ? sonde__report_add_process(d->report, &object.process)
                      : sonde__report_append(d->report, part, &object);
    d->full |= id == 0 && sonde__parts[part].is_dictionary;
}

static void decode_growing(struct sonde__report_decoded *d, const struct field *f)
{
    const struct sonde__message *message = sonde__parts[SONDE__PART_STALLS].message;
    d->growing.element_bytes = message->size_bytes;
    struct sonde__report_stall *part = d->growing.count < SONDE__REPORT_GROWING_MAX
                                           ? sonde__report_list_add(&d->report->arena, &d->growing)
                                           : NULL;
    if (part != NULL) {
        decode_message(d, f, message, part);
    } else {
        d->report->lost.stalls++;
    }
}

/* Texts that are missing become "". */
static void fill_texts(const struct sonde__message *message, void *object)
{
    for (uint32_t i = 0; i < message->field_count; i++) {
        const struct sonde__field *field = &message->fields[i];
        const char **text = (const char **)(void *)((char *)object + field->offset);
        if (field->kind == SONDE__FIELD_TEXT && *text == NULL) {
            *text = "";
        } else if (field->kind == SONDE__FIELD_MESSAGE) {
            fill_texts(field->elements, (char *)object + field->offset);
        } else if (field->kind == SONDE__FIELD_MESSAGES) {
            for (uint32_t k = 0; k < *sonde__field_count(field, object); k++) {
                fill_texts(field->elements, (char *)*sonde__field_elements(field, object) +
                                                k * sonde__field_element_bytes(field));
            }
        }
    }
}

static void decode_field(struct sonde__report_decoded *d, const struct field *f)
{
    struct sonde__report_end end = {0};
    uint32_t part = part_of(f);
    if (f->wire != SONDE__PROTO_BYTES) {
        d->unknown_fields++;
        return;
    }
    if (part != SONDE__PARTS) {
        decode_part(d, f, part);
        return;
    }
    switch (f->number) {
    case SONDE__RECORD_HEADER:
        decode_message(d, f, &sonde__message_header, &d->report->header);
        fill_texts(&sonde__message_header, &d->report->header);
        d->header = d->header || d->report->header.format != 0;
        break;
    case SONDE__RECORD_STRINGS:
        d->full |= sonde__report_append_string(d->report, f->bytes, f->size) == 0;
        break;
    case SONDE__RECORD_GROWING:
        decode_growing(d, f);
        break;
    case SONDE__RECORD_NOTES:
        sonde__report_append_note(d->report, f->bytes, f->size);
        break;
    case SONDE__RECORD_END:
        decode_message(d, f, &sonde__message_end, &end);
        sonde__report_set_end(d->report, &end);
        break;
    default:
        d->unknown_fields++;
        break;
    }
}

void sonde__report_decode_record(struct sonde__report_decoded *decoded, struct sonde__bytes *body)
{
    struct field f;
    while (!decoded->full && next_field(body, &f)) {
        decode_field(decoded, &f);
    }
    close_message(decoded, body);
}
