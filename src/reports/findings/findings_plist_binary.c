// SPDX-License-Identifier: Apache-2.0
/* The binary form: objects, a table of their offsets, and a trailer. One object may be in many
 * places, also in itself: the list's bounds end that. */
#include "base_bytes.h"
#include "findings_plist.h"

enum { TRAILER = 32, MAGIC = 8 };

struct reading {
    struct sonde__plist *list;
    struct sonde_error *error;
    struct sonde__bytes objects; /* up to the table */
    struct sonde__bytes table;
    unsigned offset_bytes, reference_bytes;
    uint64_t count;
    /* Of each open container: where its references are, how many it has, and the next. A
     * dictionary has the references of all keys first. */
    struct {
        uint64_t at, count, next;
        bool is_dict;
    } levels[SONDE__PLIST_LEVELS_MAX];
};

static enum sonde_status fail(struct reading *r, uint64_t at, const char *what)
{
    return sonde__plist_fail(r->error, SONDE_CORRUPT, at, "%s", what);
}

static enum sonde_status read_trailer(struct reading *r)
{
    const struct sonde__plist *list = r->list;
    struct sonde__bytes all;
    sonde__base_bytes_init(&all, list->bytes, list->size);
    if (list->size < MAGIC + TRAILER) {
        return fail(r, 0, "a binary property list that is cut");
    }
    struct sonde__bytes in = sonde__base_bytes_part(&all, list->size - TRAILER, TRAILER);
    in.big_endian = true;
    (void)sonde__base_bytes_take(&in, 6);
    r->offset_bytes = sonde__base_bytes_u8(&in);
    r->reference_bytes = sonde__base_bytes_u8(&in);
    r->count = sonde__base_bytes_u64(&in);
    uint64_t top = sonde__base_bytes_u64(&in), table = sonde__base_bytes_u64(&in);
    bool is_sound = r->offset_bytes >= 1 && r->offset_bytes <= 8 && r->reference_bytes >= 1 &&
                    r->reference_bytes <= 8 && table >= MAGIC && table <= list->size - TRAILER &&
                    top < r->count && r->count <= (list->size - TRAILER - table) / r->offset_bytes;
    if (!is_sound) {
        return fail(r, list->size - TRAILER, "the trailer is damaged, or the file is cut");
    }
    r->objects = sonde__base_bytes_part(&all, 0, table);
    r->table = sonde__base_bytes_part(&all, table, r->count * r->offset_bytes);
    r->objects.big_endian = r->table.big_endian = true;
    r->levels[0].at = top; /* of the first object */
    return SONDE_OK;
}

/* The count behind a marker: its low four bits, or an integer object. */
static uint64_t read_count(struct sonde__bytes *in, uint8_t marker)
{
    if ((marker & 15) != 15) {
        return marker & 15;
    }
    uint8_t integer = sonde__base_bytes_u8(in);
    return (integer & 0xf0) == 0x10 && (integer & 15) <= 3
               ? sonde__base_bytes_uint(in, 1u << (integer & 15))
               : (uint64_t)sonde__base_bytes_fail(in);
}

static enum sonde_status add_container(struct reading *r, struct sonde__bytes *in, bool is_dict,
                                       uint64_t count)
{
    uint64_t at = sonde__base_bytes_offset(in);
    uint64_t room = sonde__base_bytes_left(in) / r->reference_bytes / (is_dict ? 2 : 1);
    if (in->failed || count > room) {
        return fail(r, at, "an object is larger than the file");
    }
    enum sonde_status status =
        sonde__plist_add(r->list, is_dict ? SONDE__PLIST_DICT : SONDE__PLIST_ARRAY,
                         SONDE__PLIST_ASCII, at, at, r->error);
    if (status == SONDE_OK) {
        r->levels[r->list->levels - 1].at = at;
        r->levels[r->list->levels - 1].count = is_dict ? 2 * count : count;
        r->levels[r->list->levels - 1].next = 0;
        r->levels[r->list->levels - 1].is_dict = is_dict;
    }
    return status;
}

static enum sonde_status add_string(struct reading *r, struct sonde__bytes *in, bool is_wide,
                                    uint64_t count)
{
    uint64_t at = sonde__base_bytes_offset(in);
    if (in->failed || count > sonde__base_bytes_left(in) / (is_wide ? 2 : 1)) {
        return fail(r, at, "an object is larger than the file");
    }
    const uint8_t *bytes = sonde__base_bytes_take(in, count * (is_wide ? 2 : 1));
    for (uint64_t i = 0; i < count && !is_wide; i++) {
        if (bytes[i] >= 0x80) {
            return fail(r, at, "a string has bytes that are not ASCII");
        }
    }
    return sonde__plist_add(r->list, SONDE__PLIST_STRING,
                            is_wide ? SONDE__PLIST_UTF16 : SONDE__PLIST_ASCII, at,
                            sonde__base_bytes_offset(in), r->error);
}

static enum sonde_status add_object(struct reading *r, uint64_t number)
{
    struct sonde__bytes in = r->objects, table = r->table;
    if (number >= r->count) {
        return fail(r, 0, "a reference to an object that is not there");
    }
    (void)sonde__base_bytes_seek(&table, number * r->offset_bytes);
    uint64_t at = sonde__base_bytes_uint(&table, r->offset_bytes);
    if (at < MAGIC || !sonde__base_bytes_seek(&in, at)) {
        return fail(r, at, "an object is outside of the file");
    }
    uint8_t marker = sonde__base_bytes_u8(&in);
    switch (marker >> 4) {
    case 5:
    case 6:
        return add_string(r, &in, marker >> 4 == 6, read_count(&in, marker));
    case 10:
    case 12: /* a set */
    case 13:
        return add_container(r, &in, marker >> 4 == 13, read_count(&in, marker));
    default:
        return in.failed ? fail(r, at, "an object is outside of the file")
                         : sonde__plist_add(r->list, SONDE__PLIST_OTHER, SONDE__PLIST_ASCII, at, at,
                                            r->error);
    }
}

/* Add what the innermost container has next; close it behind its last. */
static enum sonde_status go_on(struct reading *r)
{
    uint32_t level = r->list->levels - 1;
    uint64_t next = r->levels[level].next++, half = r->levels[level].count / 2;
    if (next == r->levels[level].count) {
        sonde__plist_close(r->list);
        return SONDE_OK;
    }
    bool is_key = r->levels[level].is_dict && next % 2 == 0;
    uint64_t place = !r->levels[level].is_dict ? next : next / 2 + (is_key ? 0 : half);
    struct sonde__bytes in = r->objects;
    (void)sonde__base_bytes_seek(&in, r->levels[level].at + place * r->reference_bytes);
    enum sonde_status status = add_object(r, sonde__base_bytes_uint(&in, r->reference_bytes));
    if (status == SONDE_OK && is_key &&
        r->list->values[r->list->count - 1].kind != SONDE__PLIST_STRING) {
        return fail(r, sonde__base_bytes_offset(&in), "a key is no string");
    }
    return status;
}

enum sonde_status sonde__plist_read_binary(struct sonde__plist *list, struct sonde_error *ret_error)
{
    struct reading r = {.list = list, .error = ret_error};
    enum sonde_status status = read_trailer(&r);
    status = status == SONDE_OK ? add_object(&r, r.levels[0].at) : status;
    while (status == SONDE_OK && list->levels != 0) {
        status = go_on(&r);
    }
    return status;
}
