// SPDX-License-Identifier: Apache-2.0
/* A field of a known number and an unknown wire type counts as unknown, as protobuf has it. A
 * malformed message costs what it could not say, but keeps its place: ids stay right. */
#include "report_decode.h"

#include <string.h>

#include "mem_heap.h"
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
#define BYTES(number) ((number)*8 + SONDE__PROTO_BYTES)

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

/* The field of a table with that number, if the wire type is one of its kind; else null. A writer
 * may leave numbers unpacked. */
static const struct sonde__field *find_field(const struct sonde__message *message,
                                             const struct field *f)
{
    static const uint8_t wires[] = {
        [SONDE__FIELD_NUMBER] = SONDE__PROTO_VARINT,  [SONDE__FIELD_FIXED64] = SONDE__PROTO_FIXED64,
        [SONDE__FIELD_STRING] = SONDE__PROTO_VARINT,  [SONDE__FIELD_TEXT] = SONDE__PROTO_BYTES,
        [SONDE__FIELD_BUILD_ID] = SONDE__PROTO_BYTES, [SONDE__FIELD_NUMBERS] = SONDE__PROTO_BYTES,
        [SONDE__FIELD_MESSAGES] = SONDE__PROTO_BYTES,
    };
    for (uint32_t i = 0; i < message->field_count; i++) {
        const struct sonde__field *field = &message->fields[i];
        if (field->number == f->number) {
            bool is_unpacked =
                field->kind == SONDE__FIELD_NUMBERS && f->wire == SONDE__PROTO_VARINT;
            return wires[field->kind] == f->wire || is_unpacked ? field : NULL;
        }
    }
    return NULL;
}

static uint32_t *count_of(const struct sonde__field *field, void *object)
{
    return (uint32_t *)(void *)((char *)object + field->count_offset);
}

static void **elements_of(const struct sonde__field *field, void *object)
{
    return (void **)(void *)((char *)object + field->offset);
}

static bool is_array(const struct sonde__field *field)
{
    return field->kind == SONDE__FIELD_NUMBERS || field->kind == SONDE__FIELD_MESSAGES;
}

/* A field that is no array, into its member; of an array only the number of elements is added. */
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
    case SONDE__FIELD_NUMBERS: /* a number has one byte without the bit that says that more follow
                                */
        for (size_t i = 0; i < f->size; i++) {
            *count_of(field, object) += f->bytes[i] < 0x80;
        }
        *count_of(field, object) += f->wire == SONDE__PROTO_VARINT;
        break;
    case SONDE__FIELD_MESSAGES:
        *count_of(field, object) += 1;
        break;
    }
}

/* Memory for the arrays that were counted, and the counts back to 0. What is over a limit, or finds
 * no memory, is counted as lost. */
static bool take_arrays(struct sonde__report_decoded *d, const struct sonde__message *message,
                        void *object, uint32_t *room)
{
    bool any = false;
    for (uint32_t i = 0; i < message->field_count; i++) {
        const struct sonde__field *field = &message->fields[i];
        if (!is_array(field)) {
            continue;
        }
        uint32_t count = *count_of(field, object);
        size_t size = field->elements != NULL ? field->elements->size_bytes : sizeof(uint32_t);
        uint64_t *lost = (uint64_t *)(void *)((char *)&d->report->lost + field->lost_offset);
        room[i] = count < field->max ? count : field->max;
        *elements_of(field, object) = room[i] == 0 ? NULL : sonde__mem_alloc_array(room[i], size);
        if (room[i] != 0 && *elements_of(field, object) == NULL) {
            d->full = true;
            room[i] = 0;
        }
        *lost += count - room[i];
        *count_of(field, object) = 0;
        any |= room[i] != 0;
    }
    return any;
}

static void free_arrays(const struct sonde__message *message, void *object)
{
    for (uint32_t i = 0; i < message->field_count; i++) {
        if (is_array(&message->fields[i])) {
            sonde__mem_free(*elements_of(&message->fields[i], object));
        }
    }
}

static void decode_message(struct sonde__report_decoded *d, const struct field *part,
                           const struct sonde__message *message, void *object);

/* The elements that one field of the message holds, as far as there is room. */
static void decode_elements(struct sonde__report_decoded *d, const struct sonde__field *field,
                            const struct field *f, void *object, uint32_t room)
{
    uint32_t *count = count_of(field, object);
    void *elements = *elements_of(field, object);
    struct sonde__bytes packed = open_message(f);
    if (field->kind == SONDE__FIELD_MESSAGES) {
        if (*count < room) {
            size_t size = field->elements->size_bytes;
            void *element = memset((char *)elements + (*count)++ * size, 0, size);
            decode_message(d, f, field->elements, element);
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

/* A message into its struct, which is all zero or holds an earlier part of it. Arrays are counted
 * first, so that each can be taken at once; they are the caller's: free_arrays(). An array's
 * elements have no arrays. */
static void decode_message(struct sonde__report_decoded *d, const struct field *part,
                           const struct sonde__message *message, void *object)
{
    uint32_t room[SONDE__MESSAGE_FIELDS_MAX] = {0};
    struct sonde__bytes bytes = open_message(part);
    struct field f;
    while (next_field(&bytes, &f)) {
        const struct sonde__field *field = find_field(message, &f);
        if (field != NULL) {
            store_field(d, field, &f, object);
        }
    }
    close_message(d, &bytes);
    if (!take_arrays(d, message, object, room)) {
        return;
    }
    bytes = open_message(part);
    while (next_field(&bytes, &f)) {
        const struct sonde__field *field = find_field(message, &f);
        if (field != NULL && is_array(field)) {
            decode_elements(d, field, &f, object, room[field - message->fields]);
        }
    }
}

/* Any of the structs that a record brings. */
union object {
    struct sonde__report_image image;
    struct sonde__report_frame frame;
    struct sonde__report_node node;
    struct sonde__report_thread thread;
    struct sonde__report_stall stall;
    struct sonde__report_call call;
    struct sonde__report_heap_blocks heap_blocks;
    struct sonde__report_end end;
};

static const struct sonde__message *message_of(uint64_t key)
{
    switch (key) {
    case BYTES(SONDE__RECORD_IMAGES):
        return &sonde__message_image;
    case BYTES(SONDE__RECORD_FRAMES):
        return &sonde__message_frame;
    case BYTES(SONDE__RECORD_STACKS):
        return &sonde__message_node;
    case BYTES(SONDE__RECORD_THREADS):
        return &sonde__message_thread;
    case BYTES(SONDE__RECORD_STALLS):
        return &sonde__message_stall;
    case BYTES(SONDE__RECORD_CALLS):
        return &sonde__message_call;
    case BYTES(SONDE__RECORD_HEAP_BLOCKS):
        return &sonde__message_heap_blocks;
    case BYTES(SONDE__RECORD_END):
        return &sonde__message_end;
    default:
        return NULL;
    }
}

static void add_object(struct sonde__report_decoded *d, uint64_t key, const union object *o)
{
    switch (key) {
    case BYTES(SONDE__RECORD_IMAGES):
        d->full |= sonde__report_append_image(d->report, &o->image) == 0;
        break;
    case BYTES(SONDE__RECORD_FRAMES):
        d->full |= sonde__report_append_frame(d->report, &o->frame) == 0;
        break;
    case BYTES(SONDE__RECORD_STACKS):
        d->full |= sonde__report_append_node(d->report, &o->node) == 0;
        break;
    case BYTES(SONDE__RECORD_THREADS):
        sonde__report_add_thread(d->report, &o->thread);
        break;
    case BYTES(SONDE__RECORD_STALLS):
        sonde__report_add_stall(d->report, &o->stall);
        break;
    case BYTES(SONDE__RECORD_CALLS):
        sonde__report_add_call(d->report, &o->call);
        break;
    case BYTES(SONDE__RECORD_HEAP_BLOCKS):
        sonde__report_add_heap_blocks(d->report, &o->heap_blocks);
        break;
    default:
        sonde__report_set_end(d->report, &o->end);
        break;
    }
}

static void decode_part(struct sonde__report_decoded *d, const struct field *f)
{
    uint64_t key = key_of(f);
    const struct sonde__message *message = message_of(key);
    if (message != NULL) {
        union object object;
        memset(&object, 0, sizeof object);
        decode_message(d, f, message, &object);
        add_object(d, key, &object);
        free_arrays(message, &object);
    } else if (key == BYTES(SONDE__RECORD_HEADER)) {
        decode_message(d, f, &sonde__message_header, &d->report->header);
        d->header = d->header || d->report->header.format != 0;
    } else if (key == BYTES(SONDE__RECORD_STRINGS)) {
        d->full |= sonde__report_append_string(d->report, f->bytes, f->size) == 0;
    } else if (key == BYTES(SONDE__RECORD_NOTES)) {
        sonde__report_append_note(d->report, f->bytes, f->size);
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
