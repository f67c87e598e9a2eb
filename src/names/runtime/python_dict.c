// SPDX-License-Identifier: Apache-2.0
/* Dicts: a table of indices, then entries in the order of insertion. From 3.11 on, entries of dicts
 * whose keys are all str have no hash. */
#include <string.h>

#include "base_bytes.h"
#include "python.h"

enum {
    DICT_KEYS = 32,
    DICT_VALUES = 40, /* not null: values are apart, as for instances */
    DICT_BYTES = 48,
    KEYS_SIZE = 8, /* of the table of indices */
    KEYS_USED = 32,
    KEYS_BYTES = 40,
    ENTRY_BYTES = 24, /* hash, key, value */
    /* 3.11 on */
    NEW_KEYS_LOG_SIZE = 8,  /* a byte */
    NEW_KEYS_LOG_BYTES = 9, /* of the table of indices, a byte */
    NEW_KEYS_KIND = 10,     /* a byte */
    NEW_KEYS_USED = 24,
    NEW_KEYS_BYTES = 32,
    KIND_GENERAL = 0,
    KIND_TEXT = 1,
    TEXT_ENTRY_BYTES = 16, /* key, value */
    LOG_MAX = 24,
};

struct entries {
    uint64_t at;
    uint32_t count, stride; /* stride: bytes of an entry, which ends with key and value */
};

static uint64_t word(const uint8_t *bytes, unsigned offset)
{
    return sonde__base_le64(bytes + offset);
}

/* Up to 3.10. */
static bool old_entries(struct sonde__view *view, uint64_t keys, struct entries *ret)
{
    const uint8_t *bytes = sonde__view_at(view, keys, KEYS_BYTES, false);
    uint64_t size = bytes != NULL ? word(bytes, KEYS_SIZE) : 0;
    uint64_t used = bytes != NULL ? word(bytes, KEYS_USED) : 0;
    if (size == 0 || size > PYTHON_DICT_MAX || used > size) {
        return false;
    }
    *ret = (struct entries){.at = keys + KEYS_BYTES + size * (size <= 0xff ? 1 : 2),
                            .count = (uint32_t)used,
                            .stride = ENTRY_BYTES};
    return true;
}

static bool new_entries(struct sonde__view *view, uint64_t keys, struct entries *ret)
{
    const uint8_t *bytes = sonde__view_at(view, keys, NEW_KEYS_BYTES, false);
    if (bytes == NULL || bytes[NEW_KEYS_LOG_SIZE] > LOG_MAX ||
        bytes[NEW_KEYS_LOG_BYTES] > LOG_MAX + 3 || bytes[NEW_KEYS_KIND] > KIND_TEXT) {
        return false;
    }
    uint64_t size = 1u << bytes[NEW_KEYS_LOG_SIZE], used = word(bytes, NEW_KEYS_USED);
    if (size > PYTHON_DICT_MAX || used > size) {
        return false;
    }
    *ret = (struct entries){.at = keys + NEW_KEYS_BYTES + (1u << bytes[NEW_KEYS_LOG_BYTES]),
                            .count = (uint32_t)used,
                            .stride =
                                bytes[NEW_KEYS_KIND] == KIND_TEXT ? TEXT_ENTRY_BYTES : ENTRY_BYTES};
    return true;
}

static bool find_entries(struct python *python, struct sonde__view *view, uint64_t dict,
                         struct entries *ret)
{
    const uint8_t *bytes = sonde__view_at(view, dict, DICT_BYTES, false);
    if (bytes == NULL || word(bytes, DICT_VALUES) != 0 ||
        !python_is_of_type(&python->codes, view, bytes, "dict", &python->codes.types.dict)) {
        return false;
    }
    uint64_t keys = word(bytes, DICT_KEYS);
    return python->layout.minor >= 11 ? new_entries(view, keys, ret) : old_entries(view, keys, ret);
}

uint32_t python_dict_values(struct python *python, struct sonde__view *view, uint64_t dict,
                            uint64_t *ret_values, uint32_t capacity)
{
    struct entries entries;
    uint32_t found = 0;
    if (!find_entries(python, view, dict, &entries)) {
        return 0;
    }
    const uint8_t *bytes = sonde__view_at(view, entries.at, entries.count * entries.stride, false);
    for (uint32_t i = 0; bytes != NULL && i < entries.count && found < capacity; i++) {
        ret_values[found] = word(bytes, (i + 1) * entries.stride - 8);
        found += ret_values[found] != 0; /* 0: deleted */
    }
    return found;
}

/* Is the object an ASCII str with this text? */
static bool is_text(struct python *python, struct sonde__view *view, uint64_t object,
                    const char *text)
{
    const struct python_layout *l = &python->layout;
    uint32_t size = (uint32_t)strlen(text);
    const uint8_t *bytes = sonde__view_at(view, object, l->text_ascii_bytes + size, false);
    return bytes != NULL && word(bytes, l->text_length) == size &&
           memcmp(bytes + l->text_ascii_bytes, text, size) == 0 &&
           python_is_of_type(&python->codes, view, bytes, "str", &python->codes.types.text);
}

uint64_t python_dict_find(struct python *python, struct sonde__view *view, uint64_t dict,
                          const char *key)
{
    struct sonde__view_block wanted[SONDE__VIEW_BATCH];
    struct entries entries;
    uint32_t ahead = 0;
    uint32_t size = python->layout.text_ascii_bytes + (uint32_t)strlen(key);
    if (!find_entries(python, view, dict, &entries)) {
        return 0;
    }
    const uint8_t *bytes = sonde__view_at(view, entries.at, entries.count * entries.stride, false);
    for (uint32_t i = 0; bytes != NULL && i < entries.count && ahead < SONDE__VIEW_BATCH; i++) {
        wanted[ahead++] = (struct sonde__view_block){
            .address = word(bytes, (i + 1) * entries.stride - 16), .size = size};
    }
    sonde__view_ahead(view, wanted, ahead);
    for (uint32_t i = 0; bytes != NULL && i < entries.count; i++) {
        uint64_t value = word(bytes, (i + 1) * entries.stride - 8);
        if (value != 0 && is_text(python, view, word(bytes, (i + 1) * entries.stride - 16), key)) {
            return value;
        }
    }
    return 0;
}
