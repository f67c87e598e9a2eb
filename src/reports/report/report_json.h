// SPDX-License-Identifier: Apache-2.0
/* A streaming writer of JSON (RFC 8259): it adds commas and line breaks. Keys are plain text of
 * ours; null for elements of arrays. */
#ifndef SONDE_REPORT_JSON_H
#define SONDE_REPORT_JSON_H

#include "report_out.h"

#define SONDE__JSON_DEPTH_MAX 80u /* `sonde types` nests 32 structs, of two levels each */

struct sonde__json {
    struct sonde__report_out *out;
    uint32_t depth;
    bool compact;        /* values follow each other on one line */
    int32_t line_indent; /* >= 0: what comes next begins a line, after so many spaces */
    bool filled[SONDE__JSON_DEPTH_MAX]; /* there is an element at this depth */
    char close[SONDE__JSON_DEPTH_MAX];
};

/* Each value is on a line of its own. */
void sonde__json_init(struct sonde__json *json, struct sonde__report_out *out);
/* Values follow each other on one line, except after sonde__json_line(). Control characters are
 * escaped by number. */
void sonde__json_init_compact(struct sonde__json *json, struct sonde__report_out *out);
/* The next value, or the end of the one at hand, begins a line, after so many spaces. */
void sonde__json_line(struct sonde__json *json, uint32_t spaces);
void sonde__json_object(struct sonde__json *json, const char *key);
void sonde__json_array(struct sonde__json *json, const char *key);
void sonde__json_close(struct sonde__json *json);
/* `value` is escaped; each byte that is no part of UTF-8 becomes U+FFFD. A null pointer is null. */
void sonde__json_string(struct sonde__json *json, const char *key, const char *value);
void sonde__json_uint(struct sonde__json *json, const char *key, uint64_t value);
void sonde__json_int(struct sonde__json *json, const char *key, int64_t value);
void sonde__json_bool(struct sonde__json *json, const char *key, bool value);
void sonde__json_hex(struct sonde__json *json, const char *key, uint64_t value); /* "0x1f" */
/* A byte of a string that may need an escape; compact: controls are escaped by number, all else is
 * written as it is. */
void sonde__json_escape(struct sonde__report_out *out, unsigned char byte, bool compact);
/* "2023-11-14T22:13:20.123456789Z"; nothing for 0. */
void sonde__json_time(struct sonde__json *json, const char *key, uint64_t unix_ns);

#endif
