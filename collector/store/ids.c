// SPDX-License-Identifier: Apache-2.0
#include "ids.h"

#include <nettle/sha2.h>

#include <stdio.h>
#include <string.h>
#include <sys/random.h>

static const char digits[] = "0123456789abcdef";

static void put_hex(const uint8_t *bytes, size_t size, char *ret_text)
{
    for (size_t i = 0; i < size; i++) {
        ret_text[2 * i] = digits[bytes[i] >> 4];
        ret_text[2 * i + 1] = digits[bytes[i] & 15];
    }
    ret_text[2 * size] = '\0';
}

/* -1: not a digit. */
static int value_of(char c)
{
    if (c >= '0' && c <= '9') {
        return c - '0';
    }
    if (c >= 'a' && c <= 'f') {
        return c - 'a' + 10;
    }
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

bool ids_parse_report(const char *text, size_t size, struct report_id *ret_id)
{
    struct report_id id;
    if (size != 2 * sizeof id.bytes) {
        return false;
    }
    for (size_t i = 0; i < sizeof id.bytes; i++) {
        int high = value_of(text[2 * i]), low = value_of(text[2 * i + 1]);
        if (high < 0 || low < 0) {
            return false;
        }
        id.bytes[i] = (uint8_t)(high << 4 | low);
    }
    *ret_id = id;
    return true;
}

void ids_report_text(const struct report_id *id, char ret_text[IDS_REPORT_TEXT])
{
    put_hex(id->bytes, sizeof id->bytes, ret_text);
}

struct hash ids_hash(const void *bytes, size_t size)
{
    struct sha256_ctx sha;
    struct hash hash;
    sha256_init(&sha);
    sha256_update(&sha, size, bytes);
    sha256_digest(&sha, sizeof hash.bytes, hash.bytes);
    return hash;
}

void ids_hash_text(const struct hash *hash, char ret_text[IDS_HASH_TEXT])
{
    put_hex(hash->bytes, sizeof hash->bytes, ret_text);
}

bool ids_make_secret(const char *prefix, char ret_text[IDS_SECRET_TEXT])
{
    uint8_t random[20];
    size_t size = strlen(prefix);
    if (size + 2 * sizeof random >= IDS_SECRET_TEXT ||
        getrandom(random, sizeof random, 0) != (ssize_t)sizeof random) {
        return false;
    }
    snprintf(ret_text, IDS_SECRET_TEXT, "%s", prefix);
    put_hex(random, sizeof random, ret_text + size);
    return true;
}
