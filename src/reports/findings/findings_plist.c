// SPDX-License-Identifier: Apache-2.0
#include "findings_plist.h"

#include <string.h>

#include "base_bytes.h"
#include "mem_heap.h"

enum sonde_status sonde__plist_read(const void *bytes, size_t size, struct sonde__plist *ret_list,
                                    struct sonde_error *ret_error)
{
    static const char magic[8] = "bplist00";
    struct sonde__plist list = {.bytes = bytes, .size = size};
    if (size >= UINT32_MAX) {
        return sonde__plist_fail(ret_error, SONDE_LIMIT, 0, "it has 4 GiB or more");
    }
    bool is_binary = size >= sizeof magic && memcmp(bytes, magic, sizeof magic) == 0;
    enum sonde_status status = is_binary ? sonde__plist_read_binary(&list, ret_error)
                                         : sonde__plist_read_xml(&list, ret_error);
    if (status != SONDE_OK) {
        sonde__plist_done(&list);
        return status;
    }
    *ret_list = list;
    return SONDE_OK;
}

void sonde__plist_done(struct sonde__plist *list)
{
    sonde__mem_free(list->values);
    list->values = NULL;
}

/* --- texts --- */

struct target {
    char *to;
    size_t used, size;
    bool fits;
};

static void put(struct target *target, const void *bytes, size_t size)
{
    if (!target->fits || size >= target->size - target->used) {
        target->fits = false;
        return;
    }
    memcpy(target->to + target->used, bytes, size);
    target->used += size;
}

/* RFC 3629. */
static void put_character(struct target *target, uint32_t c)
{
    uint8_t bytes[4];
    unsigned more = c < 0x80 ? 0 : c < 0x800 ? 1 : c < 0x10000 ? 2 : 3;
    static const uint8_t first[] = {0, 0xc0, 0xe0, 0xf0};
    bytes[0] = (uint8_t)(first[more] | c >> 6 * more);
    for (unsigned i = 1; i <= more; i++) {
        bytes[i] = (uint8_t)(0x80 | (c >> 6 * (more - i) & 0x3f));
    }
    put(target, bytes, more + 1);
}

static void put_utf16(struct target *target, struct sonde__bytes text)
{
    text.big_endian = true;
    while (sonde__base_bytes_left(&text) != 0 && target->fits) {
        uint32_t unit = sonde__base_bytes_u16(&text);
        if (unit >= 0xd800 && unit < 0xdc00 && sonde__base_bytes_left(&text) != 0) {
            uint32_t low = sonde__base_bytes_u16(&text);
            target->fits &= low >= 0xdc00 && low < 0xe000;
            unit = 0x10000 + ((unit - 0xd800) << 10) + (low - 0xdc00);
        } else {
            target->fits &= unit < 0xd800 || unit >= 0xe000;
        }
        if (target->fits) {
            put_character(target, unit);
        }
    }
}

static bool begins(const struct sonde__bytes *text, const char *bytes)
{
    size_t size = strlen(bytes);
    return sonde__base_bytes_left(text) >= size && memcmp(text->at, bytes, size) == 0;
}

/* The reader has checked that what begins with & is one of these. */
static void put_entity(struct target *target, struct sonde__bytes *text)
{
    static const struct {
        const char *name;
        char c;
    } named[] = {{"amp;", '&'}, {"lt;", '<'}, {"gt;", '>'}, {"quot;", '"'}, {"apos;", '\''}};
    uint32_t number = 0;
    for (size_t i = 0; i < sizeof named / sizeof *named; i++) {
        if (begins(text, named[i].name)) {
            put(target, &named[i].c, 1);
            (void)sonde__base_bytes_take(text, strlen(named[i].name));
            return;
        }
    }
    (void)sonde__base_bytes_u8(text); /* # */
    uint32_t base = text->at < text->end && *text->at == 'x' ? 16 : 10;
    while (text->at < text->end && *text->at != ';') {
        uint8_t c = sonde__base_bytes_u8(text);
        uint32_t digit = c >= 'a' ? c - 'a' + 10u : c >= 'A' ? c - 'A' + 10u : c - (uint32_t)'0';
        number = c == 'x' ? 0 : number * base + digit; /* seven digits at most */
    }
    (void)sonde__base_bytes_u8(text);
    put_character(target, number);
}

/* The index of the first of these bytes, or where the text ends. */
static size_t find(const struct sonde__bytes *text, const char *bytes)
{
    size_t size = strlen(bytes), left = sonde__base_bytes_left(text);
    for (size_t i = 0; i + size <= left; i++) {
        if (memcmp(text->at + i, bytes, size) == 0) {
            return i;
        }
    }
    return left;
}

static void put_markup(struct target *target, struct sonde__bytes text)
{
    static const char comment[] = "!--", raw[] = "![CDATA[";
    while (sonde__base_bytes_left(&text) != 0 && target->fits) {
        uint8_t c = sonde__base_bytes_u8(&text);
        if (c == '&') {
            put_entity(target, &text);
        } else if (c == '<' && begins(&text, comment)) {
            (void)sonde__base_bytes_take(&text, find(&text, "-->") + 3);
        } else if (c == '<' && begins(&text, raw)) {
            (void)sonde__base_bytes_take(&text, sizeof raw - 1);
            size_t size = find(&text, "]]>");
            put(target, text.at, size);
            (void)sonde__base_bytes_take(&text, size + 3);
        } else {
            put(target, &c, 1);
        }
    }
}

static bool has_controls(const struct target *target)
{
    for (size_t i = 0; i < target->used; i++) {
        if ((unsigned char)target->to[i] < 0x20 || target->to[i] == 0x7f) {
            return true;
        }
    }
    return false;
}

bool sonde__plist_text(const struct sonde__plist *list, uint32_t value, char *ret_text, size_t size)
{
    const struct sonde__plist_value *v = &list->values[value];
    struct target target = {ret_text, 0, size, v->kind == SONDE__PLIST_STRING};
    struct sonde__bytes text;
    if (!target.fits) {
        return false;
    }
    sonde__base_bytes_init(&text, list->bytes + v->begin, v->end - v->begin);
    if (v->form == SONDE__PLIST_UTF16) {
        put_utf16(&target, text);
    } else if (v->form == SONDE__PLIST_MARKUP) {
        put_markup(&target, text);
    } else {
        put(&target, text.at, sonde__base_bytes_left(&text));
    }
    if (!target.fits || has_controls(&target)) {
        return false;
    }
    ret_text[target.used] = '\0';
    return true;
}

uint32_t sonde__plist_member(const struct sonde__plist *list, uint32_t dict, const char *name)
{
    char text[128];
    const struct sonde__plist_value *of = &list->values[dict];
    for (uint32_t at = dict + 1; of->kind == SONDE__PLIST_DICT && at < of->next;
         at = list->values[at + 1].next) {
        if (sonde__plist_text(list, at, text, sizeof text) && strcmp(text, name) == 0) {
            return at + 1;
        }
    }
    return 0;
}
