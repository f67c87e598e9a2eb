// SPDX-License-Identifier: Apache-2.0
/* Names, sorted and front-coded in blocks of 16; files, folders and other text as they are. */
#include <string.h>

#include "encode.h"
#include "mem_heap.h"

/* --- sorting: three-way quicksort by eight bytes at a time --- */

struct key {
    uint64_t word; /* the next eight bytes, big-endian; zeros after the end */
    uint32_t string;
};

static void load_words(const struct convert *c, struct key *keys, size_t count, size_t depth)
{
    for (size_t i = 0; i < count; i++) {
        const struct string *s = &c->strings.all[keys[i].string];
        uint8_t bytes[8] = {0};
        size_t left = s->size > depth ? s->size - depth : 0;
        memcpy(bytes, s->text + (left != 0 ? depth : 0), left < 8 ? left : 8);
        keys[i].word = 0;
        for (unsigned b = 0; b < 8; b++) {
            keys[i].word = keys[i].word << 8 | bytes[b];
        }
    }
}

static void swap(struct key *a, struct key *b)
{
    struct key k = *a;
    *a = *b;
    *b = k;
}

struct sort_part {
    struct key *keys;
    size_t count;
    size_t depth; /* bytes that are equal in all */
    bool loaded;
};

/* The smaller part is sorted first, so each entry on the stack is at most half of the part that it
 * was split from, and there are at most two for each halving of 2^32. */
#define PARTS_MAX 80u

static void push(struct sort_part *parts, size_t *n, struct sort_part part)
{
    if (part.count > 1) {
        parts[(*n)++] = part;
    }
}

/* All strings differ, so a common prefix ends. */
static void sort_names(const struct convert *c, struct key *keys, size_t count)
{
    struct sort_part parts[PARTS_MAX];
    size_t n = 0;
    uint32_t seed = 1;
    push(parts, &n, (struct sort_part){keys, count, 0, false});
    while (n > 0) {
        struct sort_part part = parts[--n];
        struct sort_part made[3];
        size_t less = 0;
        size_t more = part.count;
        if (!part.loaded) {
            load_words(c, part.keys, part.count, part.depth);
        }
        seed = seed * 1664525u + 1013904223u; /* random pivots, so no input order is always bad */
        uint64_t pivot = part.keys[(uint64_t)seed * part.count >> 32].word;
        for (size_t i = 0; i < more;) {
            if (part.keys[i].word < pivot) {
                swap(&part.keys[i++], &part.keys[less++]);
            } else if (part.keys[i].word > pivot) {
                swap(&part.keys[i], &part.keys[--more]);
            } else {
                i++;
            }
        }
        made[0] = (struct sort_part){part.keys, less, part.depth, true};
        made[1] = (struct sort_part){part.keys + less, more - less, part.depth + 8, false};
        made[2] = (struct sort_part){part.keys + more, part.count - more, part.depth, true};
        for (unsigned i = 0; i < 3; i++) { /* push the largest first */
            for (unsigned k = i + 1; k < 3; k++) {
                if (made[k].count > made[i].count) {
                    struct sort_part other = made[i];
                    made[i] = made[k];
                    made[k] = other;
                }
            }
            push(parts, &n, made[i]);
        }
    }
}

/* --- names --- */

static void use_name(struct encode *e, uint32_t string)
{
    if (string != 0 && e->name_ids[string] == 0) {
        e->name_ids[string] = 1;
        e->sorted[e->name_count++] = string;
    }
}

static void collect(struct encode *e)
{
    const struct convert *c = e->c;
    for (size_t i = 0; i < c->function_count; i++) {
        use_name(e, c->functions[i].name);
    }
    for (size_t i = 0; i < c->symbol_count; i++) {
        use_name(e, c->symbols[i].name);
    }
    for (size_t i = 0; i < c->alias_count; i++) {
        use_name(e, c->aliases[i].name);
    }
    for (size_t i = 0; i < c->export_count; i++) {
        use_name(e, c->exports[i].name);
    }
}

static void sort_all(struct encode *e)
{
    struct convert *c = e->c;
    struct key *keys = sonde__mem_alloc_array(e->name_count, sizeof *keys);
    if (keys == NULL) {
        c->status = SONDE_MEMORY;
    } else {
        for (uint32_t i = 0; i < e->name_count; i++) {
            keys[i].string = e->sorted[i];
        }
        sort_names(c, keys, e->name_count);
        for (uint32_t i = 0; i < e->name_count; i++) {
            e->sorted[i] = keys[i].string;
            e->name_ids[keys[i].string] = i + 1;
        }
    }
    sonde__mem_free(keys);
}

static size_t put_uleb(uint8_t *to, uint32_t value)
{
    size_t n = 0;
    do {
        to[n++] = (uint8_t)((value & 0x7f) | (value > 0x7f ? 0x80 : 0));
        value >>= 7;
    } while (value != 0);
    return n;
}

static void put_name(struct encode *e, const struct string *name, const struct string *before)
{
    uint8_t head[10];
    size_t common = 0;
    size_t n;
    uint8_t *to;
    if (before != NULL) {
        size_t most = name->size < before->size ? name->size : before->size;
        while (common < most && name->text[common] == before->text[common]) {
            common++;
        }
    }
    n = put_uleb(head, (uint32_t)common);
    n += put_uleb(head + n, (uint32_t)(name->size - common));
    to = encode_room(e, SYMINDEX_NAMES, n + name->size - common);
    if (to != NULL) {
        memcpy(to, head, n);
        memcpy(to + n, name->text + common, name->size - common);
    }
}

void encode_names(struct encode *e)
{
    struct convert *c = e->c;
    size_t strings = c->strings.count != 0 ? c->strings.count : 1;
    e->name_ids = sonde__mem_alloc_zeroed(strings * sizeof *e->name_ids);
    e->sorted = sonde__mem_alloc_array(strings, sizeof *e->sorted);
    if (e->name_ids == NULL || e->sorted == NULL) {
        c->status = SONDE_MEMORY;
        return;
    }
    collect(e);
    sort_all(e);
    for (uint32_t i = 0; i < e->name_count && c->status == SONDE_OK; i++) {
        const struct string *before = NULL;
        if (i % SYMINDEX_NAME_BLOCK == 0) {
            uint8_t *at = encode_room(e, SYMINDEX_NAME_BLOCKS, 4);
            if (at != NULL) {
                sonde__base_put_le32(at, (uint32_t)e->sections[SYMINDEX_NAMES].size);
            }
        } else {
            before = &c->strings.all[e->sorted[i - 1]];
        }
        put_name(e, &c->strings.all[e->sorted[i]], before);
    }
    if (e->sections[SYMINDEX_NAMES].size > UINT32_MAX) {
        c->status = SONDE_LIMIT;
    }
}

/* --- files and other text --- */

/* Offset of a string in TEXT, where it is NUL-terminated. Offset 0 is "". */
static uint32_t text_place(struct encode *e, uint32_t string)
{
    const struct string *s = &e->c->strings.all[string];
    uint8_t *to;
    if (string == 0 || e->text_at[string] != 0) {
        return string != 0 ? e->text_at[string] : 0;
    }
    e->text_at[string] = (uint32_t)e->sections[SYMINDEX_TEXT].size;
    to = encode_room(e, SYMINDEX_TEXT, (size_t)s->size + 1);
    if (to != NULL) {
        memcpy(to, s->text, s->size);
    }
    return e->text_at[string];
}

void encode_files(struct encode *e)
{
    struct convert *c = e->c;
    size_t strings = c->strings.count != 0 ? c->strings.count : 1;
    e->text_at = sonde__mem_alloc_zeroed(strings * sizeof *e->text_at);
    e->directory_ids = sonde__mem_alloc_zeroed(strings * sizeof *e->directory_ids);
    if (e->text_at == NULL || e->directory_ids == NULL) {
        c->status = SONDE_MEMORY;
        return;
    }
    (void)encode_room(e, SYMINDEX_TEXT, 1);
    (void)encode_room(e, SYMINDEX_DIRECTORIES, 4);
    e->directory_count = 1; /* [0]: none */
    for (size_t i = 0; i < c->file_count && c->status == SONDE_OK; i++) {
        const struct file *f = &c->files[i];
        uint8_t *to = encode_room(e, SYMINDEX_FILES, 8);
        if (f->directory != 0 && e->directory_ids[f->directory] == 0) {
            uint8_t *directory = encode_room(e, SYMINDEX_DIRECTORIES, 4);
            uint32_t place = text_place(e, f->directory);
            if (directory != NULL) {
                sonde__base_put_le32(directory, place);
                e->directory_ids[f->directory] = e->directory_count++;
            }
        }
        if (to != NULL) {
            sonde__base_put_le32(to, f->directory != 0 ? e->directory_ids[f->directory] : 0);
            sonde__base_put_le32(to + 4, text_place(e, f->base));
        }
    }
    for (size_t i = 0; i < c->bad_unit_count && c->status == SONDE_OK; i++) {
        const struct bad_unit *bad = &c->bad_units[i];
        uint32_t name = text_place(e, bad->name);
        uint32_t what = text_place(e, bad->what);
        uint8_t *to = encode_room(e, SYMINDEX_BAD_UNITS, 16);
        if (to != NULL) {
            sonde__base_put_le64(to, bad->offset);
            sonde__base_put_le32(to + 8, name);
            sonde__base_put_le32(to + 12, what);
        }
    }
}

void encode_symbols(struct encode *e)
{
    const struct convert *c = e->c;
    uint8_t *to = encode_room(e, SYMINDEX_SYMBOLS, c->symbol_count * 12);
    for (size_t i = 0; to != NULL && i < c->symbol_count; i++, to += 12) {
        sonde__base_put_le32(to, c->symbols[i].start);
        sonde__base_put_le32(to + 4, c->symbols[i].size);
        sonde__base_put_le32(to + 8, e->name_ids[c->symbols[i].name]);
    }
    to = encode_room(e, SYMINDEX_ALIASES, c->alias_count * 8);
    for (size_t i = 0; to != NULL && i < c->alias_count; i++, to += 8) {
        sonde__base_put_le32(to, c->aliases[i].symbol);
        sonde__base_put_le32(to + 4, e->name_ids[c->aliases[i].name]);
    }
}
