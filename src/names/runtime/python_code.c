// SPDX-License-Identifier: Apache-2.0
#include "python_code.h"

#include <string.h>

#include "base_bytes.h"
#include "base_utf8.h"
#include "mem_heap.h"
#include "python_own.h"

static void forget(struct python_code *code)
{
    if (code != NULL) {
        sonde__mem_free(code->head);
        sonde__mem_free(code);
    }
}

static void forget_replaced(struct python_codes *codes)
{
    while (codes->replaced != NULL) {
        struct python_code *code = codes->replaced;
        codes->replaced = code->next;
        forget(code);
    }
}

void python_codes_done(struct python_codes *codes)
{
    forget_replaced(codes);
    for (size_t i = 0; i < codes->count; i++) {
        forget(codes->list[i]);
    }
    sonde__mem_free(codes->list);
    sonde__mem_table_done(&codes->table);
    codes->list = NULL;
    codes->count = codes->capacity = 0;
    codes->table = (struct sonde__mem_table){0};
}

void python_codes_trim(struct python_codes *codes)
{
    forget_replaced(codes);
    if (codes->count >= PYTHON_CODES_MAX) {
        python_codes_done(codes);
    }
}

static uint64_t word(const uint8_t *object, unsigned offset)
{
    return sonde__base_le64(object + offset);
}

/* --- types --- */

bool python_is_of_type(const struct python_codes *codes, struct sonde__view *view,
                       const uint8_t *head, const char *name, uint64_t *known)
{
    enum { TP_NAME = 24 }; /* offset in PyTypeObject, after its PyVarObject */
    uint64_t type = word(head, codes->layout->object_type);
    uint32_t size = (uint32_t)strlen(name) + 1;
    if (type == *known && type != 0) {
        return true;
    }
    const uint8_t *member = sonde__view_at(view, type + TP_NAME, 8, false);
    uint64_t text = member != NULL ? word(member, 0) : 0;
    const uint8_t *bytes = text != 0 ? sonde__view_at(view, text, size, false) : NULL;
    if (bytes == NULL || memcmp(bytes, name, size) != 0) {
        return false;
    }
    *known = type;
    return true;
}

/* --- texts --- */

bool python_text(struct python_codes *codes, struct sonde__view *view, uint64_t address,
                 char ret_text[4 * PYTHON_TEXT_MAX + 4], size_t *ret_size)
{
    const struct python_layout *l = codes->layout;
    const uint8_t *head = sonde__view_at(view, address, l->text_compact_bytes, false);
    if (head == NULL) {
        head = sonde__view_at(view, address, l->text_ascii_bytes, false);
    }
    if (head == NULL || !python_is_of_type(codes, view, head, "str", &codes->types.text)) {
        return false;
    }
    uint64_t length = word(head, l->text_length);
    uint32_t state = sonde__base_le32(head + l->text_state) >> l->text_kind_shift;
    uint32_t kind = state & 7, is_compact = state >> 3 & 1, is_ascii = state >> 4 & 1;
    if (is_compact == 0 || (kind != 1 && kind != 2 && kind != 4) || (is_ascii != 0 && kind != 1) ||
        length > 1u << 24) {
        return false;
    }
    uint32_t count = length < PYTHON_TEXT_MAX ? (uint32_t)length : PYTHON_TEXT_MAX;
    const uint8_t *units = sonde__view_at(
        view, address + (is_ascii != 0 ? l->text_ascii_bytes : l->text_compact_bytes), count * kind,
        false);
    size_t size = 0;
    if (units == NULL && count != 0) {
        return false;
    }
    for (uint32_t i = 0; i < count; i++) {
        uint32_t c = (uint32_t)sonde__base_le(units + (size_t)i * kind, kind);
        if (c == 0 || c > 0x10ffff || (is_ascii != 0 && c > 127)) {
            return false; /* not in names or paths */
        }
        size += sonde__base_put_utf8(ret_text + size, c);
    }
    if (count < length) {
        memcpy(ret_text + size, "...", 3);
        size += 3;
    }
    ret_text[size] = '\0';
    *ret_size = size;
    return true;
}

/* Get the address and size of a bytes object's contents. */
static bool find_bytes(struct python_codes *codes, struct sonde__view *view, uint64_t address,
                       uint64_t *ret_start, uint32_t *ret_size)
{
    const struct python_layout *l = codes->layout;
    const uint8_t *head = sonde__view_at(view, address, l->bytes_start, false);
    if (head == NULL || !python_is_of_type(codes, view, head, "bytes", &codes->types.bytes)) {
        return false;
    }
    uint64_t size = word(head, l->bytes_size);
    if (size > PYTHON_LINES_MAX) {
        return false;
    }
    *ret_start = address + l->bytes_start;
    *ret_size = (uint32_t)size;
    return true;
}

/* --- code objects --- */

static bool is_code(struct python_codes *codes, struct sonde__view *view, const uint8_t *head)
{
    return python_is_of_type(codes, view, head, "code", &codes->types.code);
}

/* Where the code object points to a part of it. */
static uint64_t address_of(const struct python_layout *l, const uint8_t *head, unsigned part)
{
    switch (part) {
    case PYTHON_NAME:
        return word(head, l->code_qualname != PYTHON_NO ? l->code_qualname : l->code_name);
    case PYTHON_FILE:
        return word(head, l->code_filename);
    case PYTHON_OWN_NAME:
        return word(head, l->code_name);
    default:
        return word(head, l->code_linetable);
    }
}

/* Compare the type, and the members that we use. Counters in the object's head change (references,
 * warm-up). */
static bool is_same_head(const struct python_layout *l, const uint8_t *a, const uint8_t *b)
{
    enum { OB_SIZE = 16 }; /* instructions, 3.11 on */
    const uint16_t words[] = {l->object_type, l->code_filename, l->code_name, l->code_linetable,
                              OB_SIZE};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        if (word(a, words[i]) != word(b, words[i])) {
            return false;
        }
    }
    return address_of(l, a, PYTHON_NAME) == address_of(l, b, PYTHON_NAME) &&
           memcmp(a + l->code_firstline, b + l->code_firstline, 4) == 0 &&
           memcmp(a + l->code_flags, b + l->code_flags, 4) == 0 &&
           (l->code_first_traced == PYTHON_NO ||
            memcmp(a + l->code_first_traced, b + l->code_first_traced, 4) == 0);
}

static bool is_same_part(struct sonde__view *view, const struct python_copy *part)
{
    const uint8_t *bytes =
        part->size != 0 ? sonde__view_at(view, part->address, part->size, false) : NULL;
    return part->size == 0 || (bytes != NULL && memcmp(bytes, part->bytes, part->size) == 0);
}

/* Is the object what it was? Compared once for each look. */
static bool is_same(const struct python_codes *codes, struct sonde__view *view,
                    struct python_code *code, const uint8_t *head)
{
    if (code->look != view->looks) {
        if (!is_same_head(codes->layout, code->head, head)) {
            return false;
        }
        for (unsigned i = 0; i < PYTHON_PARTS; i++) {
            if (!is_same_part(view, &code->parts[i])) {
                return false;
            }
        }
        code->look = view->looks;
    }
    return true;
}

/* --- reading one --- */

static char *put(char *to, const void *from, size_t size)
{
    memcpy(to, from, size);
    to[size] = '\0';
    return to + size + 1;
}

/* Names, path and line table of an object that is new; most are not longer than these sizes. */
static void new_parts(const struct python_layout *l, const uint8_t *head,
                      struct sonde__view_block ret_parts[PYTHON_PARTS])
{
    static const uint32_t sizes[PYTHON_PARTS] = {
        [PYTHON_NAME] = 128, [PYTHON_FILE] = 256, [PYTHON_LINES] = 768, [PYTHON_OWN_NAME] = 128};
    for (unsigned i = 0; i < PYTHON_PARTS; i++) {
        ret_parts[i] =
            (struct sonde__view_block){.address = address_of(l, head, i), .size = sizes[i]};
    }
}

/* An index into the list, or SONDE__TABLE_NONE. */
static uint32_t find_known(const struct python_codes *codes, uint64_t address)
{
    return SONDE__TABLE_FIND(&codes->table, sonde__mem_hash(address), i,
                             codes->list[i]->address == address);
}

uint32_t python_codes_parts(const struct python_codes *codes, struct sonde__view *view,
                            uint64_t address, struct sonde__view_block ret_parts[PYTHON_PARTS])
{
    const struct python_layout *l = codes->layout;
    uint32_t index = find_known(codes, address), count = 0;
    const struct python_code *known = index != SONDE__TABLE_NONE ? codes->list[index] : NULL;
    const uint8_t *head = sonde__view_at(view, address, l->code_bytes, false);
    if (head == NULL || (known != NULL && known->look == view->looks)) {
        return 0;
    }
    if (known == NULL || !is_same_head(l, known->head, head)) {
        new_parts(l, head, ret_parts);
        return PYTHON_PARTS;
    }
    for (unsigned i = 0; i < PYTHON_PARTS; i++) {
        const struct python_copy *part = &known->parts[i];
        ret_parts[count] = (struct sonde__view_block){.address = part->address, .size = part->size};
        count += part->size != 0;
    }
    return count;
}

enum { OBJECT_HEAD = 16 };

/* Find a part that was decoded. `lines_size`: bytes of the line table */
static bool find_part(const struct python_layout *l, struct sonde__view *view, uint64_t address,
                      unsigned part, uint32_t lines_size, struct python_copy *ret_part,
                      const uint8_t **ret_bytes)
{
    uint32_t size = l->bytes_start + lines_size;
    if (part != PYTHON_LINES) {
        const uint8_t *head = sonde__view_at(view, address, l->text_ascii_bytes, false);
        if (head == NULL) {
            return false;
        }
        size = sonde__python_text_bytes(l, head);
    }
    *ret_part = (struct python_copy){.address = address + OBJECT_HEAD, .size = size - OBJECT_HEAD};
    *ret_bytes = sonde__view_at(view, ret_part->address, ret_part->size, false);
    return *ret_bytes != NULL;
}

/* Make a code object of its head, decoded texts and parts. Null: a part cannot be read, or out of
 * memory. */
static struct python_code *make_code(const struct python_layout *l, struct sonde__view *view,
                                     const uint8_t *head, uint32_t lines_size, const char *function,
                                     const char *file)
{
    const uint8_t *bytes[PYTHON_PARTS];
    size_t function_size = strlen(function), file_size = strlen(file);
    size_t size = (size_t)l->code_bytes + function_size + file_size + 3 + PYTHON_PARTS;
    struct python_code *code = sonde__mem_alloc_zeroed(sizeof *code);
    bool found = code != NULL;
    for (unsigned i = 0; i < PYTHON_PARTS && found; i++) {
        uint64_t address = address_of(l, head, i);
        bool is_own = i == PYTHON_OWN_NAME;
        found = (!is_own || address != address_of(l, head, PYTHON_NAME)) &&
                find_part(l, view, address, i, lines_size, &code->parts[i], &bytes[i]);
        if (!found && is_own) {
            code->parts[i] = (struct python_copy){.bytes = NULL};
            bytes[i] = head; /* of no bytes */
            found = true;
        }
        size += found ? code->parts[i].size : 0;
    }
    char *at = found ? sonde__mem_alloc(size) : NULL;
    if (at == NULL) {
        sonde__mem_free(code);
        return NULL;
    }
    code->head = (uint8_t *)at;
    at = put(at, head, l->code_bytes);
    code->function = at;
    at = put(at, function, function_size);
    code->file = at;
    at = put(at, file, file_size);
    for (unsigned i = 0; i < PYTHON_PARTS; i++) {
        code->parts[i].bytes = (uint8_t *)at;
        at = put(at, bytes[i], code->parts[i].size);
    }
    code->lines = code->parts[PYTHON_LINES].bytes + (l->bytes_start - OBJECT_HEAD);
    code->lines_size = lines_size;
    return code;
}

/* A program may give code another name (numpy does): tracebacks show it, and the qualified name is
 * still the old one. Take it if the qualified name does not end with it. */
static void take_own_name(struct python_codes *codes, struct sonde__view *view, const uint8_t *head,
                          char *function)
{
    const struct python_layout *l = codes->layout;
    char name[4 * PYTHON_TEXT_MAX + 4];
    size_t size = 0, full = strlen(function);
    uint64_t address = address_of(l, head, PYTHON_OWN_NAME);
    if (address == address_of(l, head, PYTHON_NAME) ||
        !python_text(codes, view, address, name, &size)) {
        return;
    }
    size = strlen(name);
    bool is_end = size <= full && strcmp(function + full - size, name) == 0 &&
                  (size == full || function[full - size - 1] == '.');
    if (!is_end) {
        memcpy(function, name, size + 1);
    }
}

/* Read a whole code object. Null: not code, unreadable, or out of memory. */
static struct python_code *read_code(struct python_codes *codes, struct sonde__view *view,
                                     uint64_t address)
{
    const struct python_layout *l = codes->layout;
    char function[4 * PYTHON_TEXT_MAX + 4], file[4 * PYTHON_TEXT_MAX + 4];
    size_t size = 0;
    uint64_t lines = 0;
    uint32_t lines_size = 0;
    struct sonde__view_block parts[PYTHON_PARTS];
    const uint8_t *head = sonde__view_at(view, address, l->code_bytes, false);
    if (head == NULL || !is_code(codes, view, head)) {
        return NULL;
    }
    new_parts(l, head, parts);
    sonde__view_ahead(view, parts, PYTHON_PARTS); /* if they were not read with those of others */
    if (!python_text(codes, view, address_of(l, head, PYTHON_NAME), function, &size) ||
        !python_text(codes, view, address_of(l, head, PYTHON_FILE), file, &size) ||
        !find_bytes(codes, view, address_of(l, head, PYTHON_LINES), &lines, &lines_size)) {
        return NULL;
    }
    take_own_name(codes, view, head, function);
    struct python_code *code = make_code(l, view, head, lines_size, function, file);
    if (code == NULL) {
        return NULL;
    }
    code->address = address;
    code->look = view->looks;
    code->first_line = sonde__base_le32(head + l->code_firstline);
    code->flags = sonde__base_le32(head + l->code_flags);
    if (l->code_first_traced != PYTHON_NO) {
        code->first_traced =
            address + l->code_start + 2ull * sonde__base_le32(head + l->code_first_traced);
    }
    return code;
}

bool python_codes_touch(struct python_codes *codes, struct sonde__view *view, uint64_t address)
{
    const uint8_t *head = sonde__view_at(view, address, codes->layout->code_bytes, false);
    return head != NULL && is_code(codes, view, head);
}

const struct python_code *python_codes_find(struct python_codes *codes, struct sonde__view *view,
                                            uint64_t address)
{
    uint32_t known = find_known(codes, address);
    const uint8_t *head = sonde__view_at(view, address, codes->layout->code_bytes, false);
    if (head != NULL && known != SONDE__TABLE_NONE &&
        is_same(codes, view, codes->list[known], head)) {
        return codes->list[known];
    }
    struct python_code *code = read_code(codes, view, address);
    if (code == NULL) {
        return NULL;
    }
    if (known != SONDE__TABLE_NONE) { /* another object is at that address now */
        codes->list[known]->next = codes->replaced;
        codes->replaced = codes->list[known];
        codes->list[known] = code;
        return code;
    }
    if (!sonde__mem_grow(&codes->list, codes->count, &codes->capacity, sizeof(void *)) ||
        !sonde__mem_table_add(&codes->table, sonde__mem_hash(address), (uint32_t)codes->count)) {
        forget(code);
        return NULL;
    }
    codes->list[codes->count++] = code;
    return code;
}
