// SPDX-License-Identifier: Apache-2.0
/* The messages of proto/sonde/v1/report.proto as tables: which field of a message is which member
 * of the model's struct. The writer and the reader are one walk over these tables each, so a field
 * that the schema gains is one line here.
 *
 * The fields of a message stand in ascending order of their numbers, which is the order in which
 * they are written. */
#ifndef SONDE_REPORT_MESSAGES_H
#define SONDE_REPORT_MESSAGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A file is these two things over and over: the tag of Report.records, the length of the record. */
#define SONDE__SCHEMA_RECORDS_TAG 0x0a
#define SONDE__SCHEMA_CRC_TAG     0x7d /* Record.crc32c, its last field */
#define SONDE__SCHEMA_CRC_BYTES   5u   /* tag and value */

/* Field numbers of Record. */
enum sonde__schema_record {
    SONDE__RECORD_HEADER = 1,
    SONDE__RECORD_STRINGS = 2,
    SONDE__RECORD_IMAGES = 3,
    SONDE__RECORD_FRAMES = 4,
    SONDE__RECORD_STACKS = 5,
    SONDE__RECORD_THREADS = 6,
    SONDE__RECORD_STALLS = 7,
    SONDE__RECORD_END = 8,
    SONDE__RECORD_NOTES = 9,
    SONDE__RECORD_CALLS = 10,
    SONDE__RECORD_HEAP_BLOCKS = 11,
    SONDE__RECORD_CRC32C = 15,
};

enum sonde__field_kind {
    SONDE__FIELD_NUMBER,   /* a varint: an integer member of any width; of one byte: a bool */
    SONDE__FIELD_FIXED64,  /* uint64_t */
    SONDE__FIELD_STRING,   /* string id (uint32_t): the writer gives it the id of the file */
    SONDE__FIELD_TEXT,     /* const char * */
    SONDE__FIELD_BUILD_ID, /* struct sonde__build_id */
    SONDE__FIELD_NUMBERS,  /* array of uint32_t, packed */
    SONDE__FIELD_MESSAGES, /* array of the structs of another table */
};

struct sonde__message;

/* An array is two members, a pointer and a count (uint32_t). */
struct sonde__field {
    uint8_t number;
    uint8_t kind;       /* enum sonde__field_kind */
    uint8_t size_bytes; /* of a NUMBER's member */
    bool is_signed;     /* a NUMBER */
    bool is_name;       /* left out of a report without names */
    uint16_t offset;    /* of the member in the struct */
    uint16_t count_offset;
    uint16_t lost_offset; /* in struct sonde__report_lost: where elements over max are counted */
    uint32_t max;         /* elements of an array that a reader keeps */
    const struct sonde__message *elements;
};

#define SONDE__MESSAGE_FIELDS_MAX 24u /* room for what the schema gains */

struct sonde__message {
    const struct sonde__field *fields;
    uint16_t field_count;
    uint16_t size_bytes; /* of the struct */
};

extern const struct sonde__message sonde__message_header;
extern const struct sonde__message sonde__message_image;
extern const struct sonde__message sonde__message_inlined;
extern const struct sonde__message sonde__message_frame;
extern const struct sonde__message sonde__message_node;
extern const struct sonde__message sonde__message_thread;
extern const struct sonde__message sonde__message_sample;
extern const struct sonde__message sonde__message_stall;
extern const struct sonde__message sonde__message_call;
extern const struct sonde__message sonde__message_heap_blocks;
extern const struct sonde__message sonde__message_end;

#endif
