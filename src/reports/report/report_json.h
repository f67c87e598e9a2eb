// SPDX-License-Identifier: Apache-2.0
/* A streaming writer of JSON (RFC 8259): it adds commas and line breaks. Keys are plain text of
 * ours; null for elements of arrays. */
#ifndef SONDE_REPORT_JSON_H
#define SONDE_REPORT_JSON_H

#include "report_out.h"

#define SONDE__JSON_DEPTH_MAX 16u /* the views nest less than 8 levels */

struct sonde__json {
    struct sonde__report_out *out;
    uint32_t depth;
    bool filled[SONDE__JSON_DEPTH_MAX]; /* there is an element at this depth */
    char close[SONDE__JSON_DEPTH_MAX];
};

void sonde__json_init(struct sonde__json *json, struct sonde__report_out *out);
void sonde__json_object(struct sonde__json *json, const char *key);
void sonde__json_array(struct sonde__json *json, const char *key);
void sonde__json_close(struct sonde__json *json);
/* `value` is escaped; it must be valid UTF-8 (the model's texts are; see report_utf8.h). */
void sonde__json_string(struct sonde__json *json, const char *key, const char *value);
void sonde__json_uint(struct sonde__json *json, const char *key, uint64_t value);
void sonde__json_int(struct sonde__json *json, const char *key, int64_t value);
void sonde__json_bool(struct sonde__json *json, const char *key, bool value);
void sonde__json_hex(struct sonde__json *json, const char *key, uint64_t value); /* "0x1f" */
/* "2023-11-14T22:13:20.123456789Z"; nothing for 0. */
void sonde__json_time(struct sonde__json *json, const char *key, uint64_t unix_ns);

#endif
