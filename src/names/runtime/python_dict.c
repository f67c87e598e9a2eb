// SPDX-License-Identifier: Apache-2.0
/* Dicts of CPython 3.8 to 3.10: a table of indices, then entries in the order of insertion. */
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
};

static uint64_t word(const uint8_t *bytes, unsigned offset)
{
    return sonde__base_le64(bytes + offset);
}

/* Get the address of the entries and their number. */
static bool find_entries(struct python *python, struct sonde__view *view, uint64_t dict,
                         uint64_t *ret_entries, uint32_t *ret_count)
{
    const uint8_t *bytes = sonde__view_at(view, dict, DICT_BYTES, false);
    if (bytes == NULL || word(bytes, DICT_VALUES) != 0 ||
        !python_is_of_type(&python->codes, view, bytes, "dict", &python->codes.types.dict)) {
        return false;
    }
    uint64_t keys = word(bytes, DICT_KEYS);
    bytes = sonde__view_at(view, keys, KEYS_BYTES, false);
    uint64_t size = bytes != NULL ? word(bytes, KEYS_SIZE) : 0;
    uint64_t used = bytes != NULL ? word(bytes, KEYS_USED) : 0;
    if (size == 0 || size > PYTHON_DICT_MAX || used > size) {
        return false;
    }
    *ret_entries = keys + KEYS_BYTES + size * (size <= 0xff ? 1 : 2);
    *ret_count = (uint32_t)used;
    return true;
}

uint32_t python_dict_values(struct python *python, struct sonde__view *view, uint64_t dict,
                            uint64_t *ret_values, uint32_t capacity)
{
    uint64_t entries = 0;
    uint32_t count = 0, found = 0;
    if (!find_entries(python, view, dict, &entries, &count)) {
        return 0;
    }
    const uint8_t *bytes = sonde__view_at(view, entries, count * ENTRY_BYTES, false);
    for (uint32_t i = 0; bytes != NULL && i < count && found < capacity; i++) {
        ret_values[found] = word(bytes, i * ENTRY_BYTES + 16);
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
    uint64_t entries = 0;
    uint32_t count = 0, ahead = 0;
    uint32_t size = python->layout.text_ascii_bytes + (uint32_t)strlen(key);
    if (!find_entries(python, view, dict, &entries, &count)) {
        return 0;
    }
    const uint8_t *bytes = sonde__view_at(view, entries, count * ENTRY_BYTES, false);
    for (uint32_t i = 0; bytes != NULL && i < count && ahead < SONDE__VIEW_BATCH; i++) {
        wanted[ahead++] =
            (struct sonde__view_block){.address = word(bytes, i * ENTRY_BYTES + 8), .size = size};
    }
    sonde__view_ahead(view, wanted, ahead);
    for (uint32_t i = 0; bytes != NULL && i < count; i++) {
        uint64_t value = word(bytes, i * ENTRY_BYTES + 16);
        if (value != 0 && is_text(python, view, word(bytes, i * ENTRY_BYTES + 8), key)) {
            return value;
        }
    }
    return 0;
}
