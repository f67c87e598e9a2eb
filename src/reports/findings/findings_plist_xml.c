// SPDX-License-Identifier: Apache-2.0
/* The XML form. What is open is in the list's array, so no level of the input is one of the stack.
 */
#include <stdio.h>
#include <string.h>

#include "base_bytes.h"
#include "findings_plist.h"
#include "report_utf8.h"

struct reading {
    struct sonde__plist *list;
    struct sonde__bytes in;
    struct sonde_error *error;
    bool is_in_plist, has_root;
    uint32_t members[SONDE__PLIST_LEVELS_MAX]; /* of the open dictionaries: keys and values */
};

static enum sonde_status fail(struct reading *r, const char *what)
{
    uint32_t line = 1;
    for (const uint8_t *at = r->in.begin; at < r->in.at; at++) {
        line += *at == '\n';
    }
    return sonde__plist_fail(r->error, SONDE_CORRUPT, sonde__base_bytes_offset(&r->in),
                             "line %u: %s", line, what);
}

static bool starts(const struct reading *r, const char *text)
{
    size_t size = strlen(text);
    return sonde__base_bytes_left(&r->in) >= size && memcmp(r->in.at, text, size) == 0;
}

/* Go behind the next of these bytes. False: there are none; the place stays. */
static bool skip_past(struct reading *r, const char *text)
{
    size_t size = strlen(text);
    for (const uint8_t *at = r->in.at; (size_t)(r->in.end - at) >= size; at++) {
        if (memcmp(at, text, size) == 0) {
            r->in.at = at + size;
            return true;
        }
    }
    return false;
}

static bool is_space(uint8_t c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static void skip_space(struct reading *r)
{
    while (r->in.at < r->in.end && is_space(*r->in.at)) {
        r->in.at++;
    }
}

/* A document type by its name: what it declares itself could make any size of text. */
static enum sonde_status skip_document_type(struct reading *r)
{
    uint8_t quote = 0;
    for (; r->in.at < r->in.end; r->in.at++) {
        uint8_t c = *r->in.at;
        if (quote != 0) {
            quote = c == quote ? 0 : quote;
        } else if (c == '"' || c == '\'') {
            quote = c;
        } else if (c == '[') {
            return fail(r, "a document type with declarations is not accepted");
        } else if (c == '>') {
            r->in.at++;
            return SONDE_OK;
        }
    }
    return fail(r, "the document type has no end");
}

/* &amp; and the like, and numbers of characters that XML allows (XML 1.0, 2.2, but for control
 * characters). */
static bool is_entity(const struct reading *r, size_t *ret_size)
{
    static const char *const names[] = {"&amp;", "&lt;", "&gt;", "&quot;", "&apos;"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (starts(r, names[i])) {
            *ret_size = strlen(names[i]);
            return true;
        }
    }
    bool is_hex = starts(r, "&#x");
    size_t begin = is_hex ? 3 : 2, size = begin, left = sonde__base_bytes_left(&r->in);
    uint32_t number = 0;
    if (!starts(r, "&#")) {
        return false;
    }
    for (; size < left && size < begin + 7; size++) {
        uint8_t c = r->in.at[size];
        uint8_t lower = (uint8_t)(c | 0x20);
        bool is_letter = is_hex && lower >= 'a' && lower <= 'f';
        if (!is_letter && (c < '0' || c > '9')) {
            break;
        }
        number = number * (is_hex ? 16 : 10) + (is_letter ? lower - 'a' + 10u : c - (uint32_t)'0');
    }
    *ret_size = size + 1;
    return size > begin && size < left && r->in.at[size] == ';' && number >= 0x20 &&
           (number < 0xd800 || number >= 0xe000) && number < 0x110000;
}

/* The text of an element, up to its end tag, which is read, too. */
static enum sonde_status read_text(struct reading *r, const char *name, size_t *ret_begin,
                                   size_t *ret_end)
{
    char end[24];
    size_t size = 0;
    snprintf(end, sizeof end, "</%s", name);
    *ret_begin = sonde__base_bytes_offset(&r->in);
    while (r->in.at < r->in.end) {
        if (*r->in.at == '&') {
            if (!is_entity(r, &size)) {
                return fail(r, "an entity that is not known");
            }
            r->in.at += size;
        } else if (starts(r, "<!--")        ? skip_past(r, "-->")
                   : starts(r, "<![CDATA[") ? skip_past(r, "]]>")
                                            : false) {
            continue;
        } else if (*r->in.at == '<') {
            *ret_end = sonde__base_bytes_offset(&r->in);
            if (!starts(r, end)) {
                return fail(r, "an end tag is expected");
            }
            r->in.at += strlen(end);
            skip_space(r);
            return r->in.at < r->in.end && *r->in.at++ == '>' ? SONDE_OK
                                                              : fail(r, "an end tag is expected");
        } else {
            r->in.at++;
        }
    }
    return fail(r, "the file ends in an element");
}

/* --- elements --- */

static const struct element {
    const char *name;
    enum sonde__plist_kind kind;
} elements[] = {
    {"dict", SONDE__PLIST_DICT},     {"array", SONDE__PLIST_ARRAY},   {"key", SONDE__PLIST_STRING},
    {"string", SONDE__PLIST_STRING}, {"integer", SONDE__PLIST_OTHER}, {"real", SONDE__PLIST_OTHER},
    {"date", SONDE__PLIST_OTHER},    {"data", SONDE__PLIST_OTHER},    {"true", SONDE__PLIST_OTHER},
    {"false", SONDE__PLIST_OTHER},
};

/* The element of a tag's name at the cursor, which goes behind it; null: none. */
static const struct element *read_name(struct reading *r)
{
    for (size_t i = 0; i < sizeof elements / sizeof *elements; i++) {
        size_t size = strlen(elements[i].name), left = sonde__base_bytes_left(&r->in);
        if (starts(r, elements[i].name) && (left == size || is_space(r->in.at[size]) ||
                                            r->in.at[size] == '>' || r->in.at[size] == '/')) {
            r->in.at += size;
            return &elements[i];
        }
    }
    return NULL;
}

/* The rest of a start tag; attributes have no meaning. */
static enum sonde_status end_tag(struct reading *r, bool *ret_is_empty)
{
    while (r->in.at < r->in.end && *r->in.at != '>' && *r->in.at != '<') {
        r->in.at++;
    }
    if (r->in.at == r->in.end || *r->in.at != '>') {
        return fail(r, "a tag has no end");
    }
    *ret_is_empty = r->in.at[-1] == '/';
    r->in.at++;
    return SONDE_OK;
}

static const struct sonde__plist_value *container_of(const struct reading *r)
{
    const struct sonde__plist *list = r->list;
    return list->levels != 0 ? &list->values[list->open[list->levels - 1]] : NULL;
}

/* A dictionary has a key and a value in turn, and no other place has a key. */
static enum sonde_status check_place(struct reading *r, const struct element *element)
{
    const struct sonde__plist_value *in = container_of(r);
    bool is_key = strcmp(element->name, "key") == 0;
    if (!r->is_in_plist || (in == NULL && r->has_root)) {
        return fail(r, "one value in <plist> is expected");
    }
    bool needs_key =
        in != NULL && in->kind == SONDE__PLIST_DICT && r->members[r->list->levels - 1]++ % 2 == 0;
    return is_key == needs_key ? SONDE_OK
                               : fail(r, needs_key ? "a key is expected" : "a value is expected");
}

static enum sonde_status read_element(struct reading *r)
{
    bool is_empty = false;
    size_t begin = 0, end = 0;
    const struct element *element = read_name(r);
    if (element == NULL) {
        return fail(r, "not an element of a property list");
    }
    enum sonde_status status = check_place(r, element);
    status = status == SONDE_OK ? end_tag(r, &is_empty) : status;
    if (status != SONDE_OK) {
        return status;
    }
    bool is_container = element->kind == SONDE__PLIST_ARRAY || element->kind == SONDE__PLIST_DICT;
    if (!is_container && !is_empty) {
        status = read_text(r, element->name, &begin, &end);
    }
    r->has_root = true;
    if (status == SONDE_OK) {
        status =
            sonde__plist_add(r->list, element->kind, SONDE__PLIST_MARKUP, begin, end, r->error);
    }
    if (status == SONDE_OK && is_container) {
        r->members[r->list->levels - 1] = 0;
        if (is_empty) {
            sonde__plist_close(r->list);
        }
    }
    return status;
}

static enum sonde_status read_end(struct reading *r)
{
    bool is_empty = false;
    const struct sonde__plist_value *in = container_of(r);
    if (in == NULL) {
        bool is_plist = r->is_in_plist && r->has_root && starts(r, "plist");
        r->is_in_plist = false;
        return is_plist ? end_tag(r, &is_empty) : fail(r, "an end tag without a begin");
    }
    const struct element *element = read_name(r);
    if (element == NULL || element->kind != (enum sonde__plist_kind)in->kind) {
        return fail(r, "another end tag is expected");
    }
    if (in->kind == SONDE__PLIST_DICT && r->members[r->list->levels - 1] % 2 != 0) {
        return fail(r, "a key has no value");
    }
    sonde__plist_close(r->list);
    return end_tag(r, &is_empty);
}

/* What begins with <. */
static enum sonde_status read_tag(struct reading *r)
{
    bool is_empty = false;
    if (starts(r, "<!--")) {
        return skip_past(r, "-->") ? SONDE_OK : fail(r, "a comment has no end");
    }
    if (starts(r, "<?")) {
        return skip_past(r, "?>") ? SONDE_OK : fail(r, "an instruction has no end");
    }
    if (starts(r, "<!DOCTYPE") && !r->is_in_plist && !r->has_root) {
        return skip_document_type(r);
    }
    if (starts(r, "</")) {
        r->in.at += 2;
        return read_end(r);
    }
    r->in.at++;
    if (starts(r, "plist") && !r->is_in_plist && !r->has_root) {
        r->is_in_plist = true;
        enum sonde_status status = end_tag(r, &is_empty);
        return status == SONDE_OK && is_empty ? fail(r, "there is no value in <plist>") : status;
    }
    return read_element(r);
}

static enum sonde_status check_encoding(struct reading *r)
{
    static const char mark[] = "\xef\xbb\xbf";
    if (starts(r, "\xff\xfe") || starts(r, "\xfe\xff")) {
        return sonde__plist_fail(r->error, SONDE_CORRUPT, 0, "it is UTF-16: UTF-8 is expected");
    }
    if (!sonde__report_utf8_valid(r->in.at, sonde__base_bytes_left(&r->in))) {
        return sonde__plist_fail(r->error, SONDE_CORRUPT, 0,
                                 "not a property list: it is neither binary nor UTF-8");
    }
    r->in.at += starts(r, mark) ? sizeof mark - 1 : 0;
    return SONDE_OK;
}

enum sonde_status sonde__plist_read_xml(struct sonde__plist *list, struct sonde_error *ret_error)
{
    struct reading r = {.list = list, .error = ret_error};
    sonde__base_bytes_init(&r.in, list->bytes, list->size);
    enum sonde_status status = check_encoding(&r);
    for (skip_space(&r); status == SONDE_OK && r.in.at < r.in.end; skip_space(&r)) {
        status = *r.in.at == '<' ? read_tag(&r)
                 : r.has_root || r.is_in_plist
                     ? fail(&r, "text outside of an element")
                     : fail(&r, "not a property list: <plist> is expected");
    }
    if (status == SONDE_OK && (!r.has_root || r.is_in_plist)) {
        status = fail(&r, r.has_root ? "the file ends in <plist>" : "not a property list");
    }
    return status;
}
