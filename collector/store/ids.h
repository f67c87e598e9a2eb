// SPDX-License-Identifier: Apache-2.0
/* Ids of reports, secrets and their hashes. Context: any thread. */
#ifndef SONDE_COLLECTOR_IDS_H
#define SONDE_COLLECTOR_IDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { IDS_REPORT = 16, IDS_HASH = 32, IDS_REPORT_TEXT = 33, IDS_HASH_TEXT = 65 };

struct report_id {
    uint8_t bytes[IDS_REPORT];
};
struct hash {
    uint8_t bytes[IDS_HASH];
};

/* 32 hexadecimal digits and no more. */
bool ids_parse_report(const char *text, size_t size, struct report_id *ret_id);
void ids_report_text(const struct report_id *id, char ret_text[IDS_REPORT_TEXT]);

/* SHA-256 (FIPS 180-4). */
struct hash ids_hash(const void *bytes, size_t size);
void ids_hash_text(const struct hash *hash, char ret_text[IDS_HASH_TEXT]);

/* A new secret: a prefix that names its kind, and 160 random bits. False: the system has none. */
enum { IDS_SECRET_TEXT = 48 };
bool ids_make_secret(const char *prefix, char ret_text[IDS_SECRET_TEXT]);

#endif
