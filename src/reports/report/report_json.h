// SPDX-License-Identifier: Apache-2.0
/* A streaming JSON writer (RFC 8259), which adds commas and line breaks. Keys are our own plain
 * text; null for elements of arrays. */
#ifndef SONDE_REPORT_JSON_H
#define SONDE_REPORT_JSON_H

#include "report_out.h"

#define SONDE__JSON_DEPTH_MAX 80u /* `sonde types` nests 32 structs, of two levels each */

struct sonde__json {
    struct sonde__report_out *out;
    uint32_t depth;
    bool compact;        /* values follow each other on one line */
    int32_t line_indent; /* >= 0: start a line with this many spaces before the next value */
    bool filled[SONDE__JSON_DEPTH_MAX]; /* the object or array at this depth has an element */
    char close[SONDE__JSON_DEPTH_MAX];
};

/* Writes each value on a line of its own. */
void sonde__json_init(struct sonde__json *json, struct sonde__report_out *out);
/* Writes values on one line, except after sonde__json_line(). Control characters are escaped by
 * number. */
void sonde__json_init_compact(struct sonde__json *json, struct sonde__report_out *out);
/* Start a new line with `spaces` spaces before the next value or the end of the current object. */
void sonde__json_line(struct sonde__json *json, uint32_t spaces);
void sonde__json_object(struct sonde__json *json, const char *key);
void sonde__json_array(struct sonde__json *json, const char *key);
void sonde__json_close(struct sonde__json *json);
/* Escapes `value`; bytes that are not valid UTF-8 become U+FFFD. Null is written as null. */
void sonde__json_string(struct sonde__json *json, const char *key, const char *value);
void sonde__json_uint(struct sonde__json *json, const char *key, uint64_t value);
void sonde__json_int(struct sonde__json *json, const char *key, int64_t value);
void sonde__json_bool(struct sonde__json *json, const char *key, bool value);
void sonde__json_hex(struct sonde__json *json, const char *key, uint64_t value); /* "0x1f" */
/* Write a byte, escaped if necessary. In compact mode controls are escaped by number. */
void sonde__json_escape(struct sonde__report_out *out, unsigned char byte, bool compact);
/* "2023-11-14T22:13:20.123456789Z"; for 0 nothing is written. */
void sonde__json_time(struct sonde__json *json, const char *key, uint64_t unix_ns);

#endif
