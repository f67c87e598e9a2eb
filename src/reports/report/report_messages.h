// SPDX-License-Identifier: Apache-2.0
/* The messages of proto/sonde/v1/report.proto as tables: the struct member for each field, and the
 * messages that a record repeats. Writer, reader and model each walk these tables, so a new field
 * is one line here. A new repeated message is one line of sonde__parts, its table and its accessors
 * in report_model.h.
 *
 * Fields are in ascending order of their numbers, and are written in this order. */
#ifndef SONDE_REPORT_MESSAGES_H
#define SONDE_REPORT_MESSAGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A file is a sequence of records: this tag (of Report.records), a length, the record. */
#define SONDE__SCHEMA_RECORDS_TAG 0x0a
#define SONDE__SCHEMA_CRC_TAG     0x7d /* Record.crc32c, its last field */
#define SONDE__SCHEMA_CRC_BYTES   5u   /* tag and value */

/* Field numbers of Record that are not in sonde__parts. */
enum sonde__schema_record {
    SONDE__RECORD_HEADER = 1,
    SONDE__RECORD_STRINGS = 2,
    SONDE__RECORD_END = 8,
    SONDE__RECORD_NOTES = 9,
    SONDE__RECORD_CRC32C = 15,
    SONDE__RECORD_GROWING = 19,
};

enum sonde__field_kind {
    SONDE__FIELD_NUMBER,   /* a varint: an integer member of any width; of one byte: a bool */
    SONDE__FIELD_FIXED64,  /* uint64_t */
    SONDE__FIELD_STRING,   /* string id (uint32_t), replaced by the file's id when written */
    SONDE__FIELD_TEXT,     /* const char * */
    SONDE__FIELD_BUILD_ID, /* struct sonde__build_id */
    SONDE__FIELD_NUMBERS,  /* array of uint32_t, packed */
    SONDE__FIELD_MESSAGES, /* array of the structs of another table */
    SONDE__FIELD_MESSAGE,  /* a struct of another table, without arrays; omitted if all zero */
};

struct sonde__message;

/* An array has two members: a pointer and a count (uint32_t). */
struct sonde__field {
    uint8_t number;
    uint8_t kind;       /* enum sonde__field_kind */
    uint8_t size_bytes; /* of a NUMBER's member */
    bool is_signed;     /* a NUMBER */
    bool is_name;       /* omitted from a report without names */
    uint16_t offset;    /* of the member in the struct */
    uint16_t count_offset;
    uint16_t lost_offset; /* in struct sonde__report_lost: counts elements over max */
    uint32_t max;         /* elements of an array that a reader keeps */
    const struct sonde__message *elements;
};

#define SONDE__MESSAGE_FIELDS_MAX 32u /* with room for new ones */

struct sonde__message {
    const struct sonde__field *fields;
    uint16_t field_count;
    uint16_t size_bytes; /* of the struct */
};

extern const struct sonde__message sonde__message_header;
extern const struct sonde__message sonde__message_end;

/* The messages that a record repeats, in writing order: a message comes before those that refer to
 * it. */
enum sonde__report_part {
    SONDE__PART_IMAGES,
    SONDE__PART_FRAMES,
    SONDE__PART_NODES,
    SONDE__PART_PROCESSES,
    SONDE__PART_PHASES,
    SONDE__PART_RULES,
    SONDE__PART_THREADS,
    SONDE__PART_STALLS,
    SONDE__PART_CALLS,
    SONDE__PART_HEAP_BLOCKS,
    SONDE__PART_SAMPLES,
    SONDE__PART_WAITS,
    SONDE__PART_STALL_COUNTS,
    SONDE__PART_TASKS,
    SONDE__PARTS,
};

struct sonde__part {
    const struct sonde__message *message;
    uint8_t number;       /* of the field of Record */
    bool is_dictionary;   /* others refer to its elements by position, so none may be left out */
    uint16_t lost_offset; /* in struct sonde__report_lost */
    uint32_t max;         /* elements that a model keeps */
};

extern const struct sonde__part sonde__parts[SONDE__PARTS];

static inline bool sonde__field_is_array(const struct sonde__field *field)
{
    return field->kind == SONDE__FIELD_NUMBERS || field->kind == SONDE__FIELD_MESSAGES;
}

/* The count and pointer members of an array. */
static inline uint32_t *sonde__field_count(const struct sonde__field *field, void *object)
{
    return (uint32_t *)(void *)((char *)object + field->count_offset);
}

static inline void **sonde__field_elements(const struct sonde__field *field, void *object)
{
    return (void **)(void *)((char *)object + field->offset);
}

static inline size_t sonde__field_element_bytes(const struct sonde__field *field)
{
    return field->elements != NULL ? field->elements->size_bytes : sizeof(uint32_t);
}

#endif
