// SPDX-License-Identifier: Apache-2.0
#include "breakpad.h"

#include <string.h>

#include "base_status.h"

#define OFFSET_MAX ((uint64_t)UINT32_MAX)

bool breakpad_next(const char **at, const char *end, struct breakpad_line *ret_line)
{
    if (*at == end) {
        return false;
    }
    const char *newline = memchr(*at, '\n', (size_t)(end - *at));
    *ret_line = (struct breakpad_line){*at, newline != NULL ? newline : end};
    *at = newline != NULL ? newline + 1 : end;
    while (ret_line->end > ret_line->at && ret_line->end[-1] == '\r') {
        ret_line->end--;
    }
    return true;
}

static void skip_spaces(struct breakpad_line *line)
{
    while (line->at < line->end && *line->at == ' ') {
        line->at++;
    }
}

bool breakpad_word(struct breakpad_line *line, const char *word)
{
    size_t size = strlen(word), left = (size_t)(line->end - line->at);
    if (left < size || memcmp(line->at, word, size) != 0 ||
        (left > size && line->at[size] != ' ')) {
        return false;
    }
    line->at += size;
    skip_spaces(line);
    return true;
}

static unsigned digit_of(char c)
{
    return c >= '0' && c <= '9'   ? (unsigned)(c - '0')
           : c >= 'a' && c <= 'f' ? (unsigned)(c - 'a') + 10
           : c >= 'A' && c <= 'F' ? (unsigned)(c - 'A') + 10
                                  : 16;
}

static bool take_number(struct breakpad_line *line, unsigned base, uint64_t max,
                        uint64_t *ret_value)
{
    const char *at = line->at;
    uint64_t value = 0;
    for (; at < line->end && digit_of(*at) < base; at++) {
        if (value > UINT32_MAX) { /* larger than all that is wanted */
            return false;
        }
        value = value * base + digit_of(*at);
    }
    if (at == line->at || value > max || (at < line->end && *at != ' ')) {
        return false;
    }
    line->at = at;
    skip_spaces(line);
    *ret_value = value;
    return true;
}

bool breakpad_hex(struct breakpad_line *line, uint64_t max, uint64_t *ret_value)
{
    return take_number(line, 16, max, ret_value);
}

bool breakpad_decimal(struct breakpad_line *line, uint64_t max, uint64_t *ret_value)
{
    return take_number(line, 10, max, ret_value);
}

/* Pairs of hexadecimal digits, at most `most`. */
static void read_id(const struct breakpad_line *line, unsigned most, struct sonde__build_id *ret_id)
{
    *ret_id = (struct sonde__build_id){0};
    for (const char *at = line->at; line->end - at >= 2 && ret_id->size < most; at += 2) {
        unsigned high = digit_of(at[0]), low = digit_of(at[1]);
        if (high > 15 || low > 15) {
            break;
        }
        ret_id->bytes[ret_id->size++] = (uint8_t)(high << 4 | low);
    }
}

/* The module's ID: a GUID, and its age. A Mach-O's is its UUID; an ELF's is the first 16 bytes of
 * the build-id, with the first three numbers of the GUID in the other order of bytes. All zero: the
 * file that it was made from had none. */
static void read_guid(const struct breakpad_line *line, bool is_macho,
                      struct sonde__build_id *ret_id)
{
    static const uint8_t order[] = {3, 2, 1, 0, 5, 4, 7, 6, 8, 9, 10, 11, 12, 13, 14, 15};
    struct sonde__build_id guid, id = {.size = SONDE__BREAKPAD_ID};
    uint8_t any = 0;
    read_id(line, SONDE__BREAKPAD_ID, &guid);
    for (unsigned i = 0; i < SONDE__BREAKPAD_ID; i++) {
        id.bytes[i] = guid.bytes[is_macho ? i : order[i]];
        any |= id.bytes[i];
    }
    if (guid.size == SONDE__BREAKPAD_ID && any != 0) {
        *ret_id = id;
    }
}

/* "MODULE Linux x86_64 ID name" */
static bool read_module(struct breakpad_line line, struct sonde__breakpad *file)
{
    file->is_macho =
        breakpad_word(&line, "mac") || breakpad_word(&line, "iOS") || breakpad_word(&line, "ios");
    if (!file->is_macho && !breakpad_word(&line, "Linux") && !breakpad_word(&line, "Android")) {
        return false;
    }
    file->arch = breakpad_word(&line, "x86_64") ? SONDE_ARCH_X86_64
                 : breakpad_word(&line, "arm64") || breakpad_word(&line, "arm64e") ||
                         breakpad_word(&line, "aarch64")
                     ? SONDE_ARCH_AARCH64
                     : SONDE_ARCH_OTHER;
    if (file->arch == SONDE_ARCH_OTHER) {
        const char *space = memchr(line.at, ' ', (size_t)(line.end - line.at));
        line.at = space != NULL ? space + 1 : line.end;
    }
    read_guid(&line, file->is_macho, &file->id);
    return true;
}

/* "INFO CODE_ID build-id": all of it. */
static void read_code_id(const struct breakpad_line *line, struct sonde__build_id *id)
{
    struct sonde__build_id whole;
    read_id(line, SONDE__BUILD_ID_MAX, &whole);
    if (whole.size != 0) {
        *id = whole;
    }
}

static void note_end(struct sonde__breakpad *file, struct breakpad_line line, bool has_size)
{
    uint64_t start, size = 1;
    (void)breakpad_word(&line, "m");
    if (breakpad_hex(&line, OFFSET_MAX, &start) &&
        (!has_size || breakpad_hex(&line, OFFSET_MAX - start, &size)) && start + size > file->end) {
        file->end = start + size;
    }
}

bool sonde__breakpad_begins(const void *data, size_t size)
{
    return size > 7 && memcmp(data, "MODULE ", 7) == 0;
}

enum sonde_status sonde__breakpad_open(const void *data, size_t size,
                                       struct sonde__breakpad *ret_file,
                                       struct sonde_error *ret_error)
{
    struct sonde__breakpad file = {.text = data, .size = size};
    struct breakpad_line line;
    const char *at = data, *end = at + size;
    if (!sonde__breakpad_begins(data, size) || !breakpad_next(&at, end, &line) ||
        !breakpad_word(&line, "MODULE") || !read_module(line, &file)) {
        return sonde__base_fail(ret_error, SONDE_UNSUPPORTED,
                                "not a Breakpad symbol file of Linux, macOS or iOS", NULL, 0, 0);
    }
    while (breakpad_next(&at, end, &line)) {
        if (breakpad_word(&line, "FUNC")) {
            note_end(&file, line, true);
        } else if (breakpad_word(&line, "PUBLIC")) {
            note_end(&file, line, false);
        } else if (!file.is_macho && breakpad_word(&line, "INFO") &&
                   breakpad_word(&line, "CODE_ID")) {
            read_code_id(&line, &file.id);
        }
    }
    if (file.end == 0) {
        return sonde__base_fail(ret_error, SONDE_CORRUPT, "no function has an address", NULL, 0, 0);
    }
    *ret_file = file;
    return SONDE_OK;
}
