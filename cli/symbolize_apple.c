// SPDX-License-Identifier: Apache-2.0
/* Lines of a .crash log that mean something here (Apple, "Examining the fields in a crash report"):
 *
 *     Last Exception Backtrace:
 *     (0x1a2b3c4d5 0x1a2b3c4e6)                          return addresses
 *     Thread 0 Crashed:
 *     0   App      0x0000000102a0c1a4 0x102a08000 + 16804     exact; the others are returned to
 *     1   App      0x0000000102a0c234 main + 52
 *     Binary Images:
 *     0x102a08000 - 0x102a0ffff App arm64  <e8a1d40c...> /private/var/.../App
 *        0x7fff2034e000 - 0x7fff2034ffff  com.apple.x (1.0 - 1) <UUID> /System/...
 */
#include "symbolize_apple.h"

#include <string.h>

#include "mem_heap.h"

/* More than any process has. */
enum { IMAGES_MAX = 4096 };

bool symbolize_apple_begins(const char *line, size_t size)
{
    static const char *const firsts[] = {"Incident Identifier:", "Process:  ", "Hardware Model:",
                                         "Translated Report (", "--------------------"};
    for (size_t i = 0; i < sizeof firsts / sizeof firsts[0]; i++) {
        size_t length = strlen(firsts[i]);
        if (size > length && memcmp(line, firsts[i], length) == 0) {
            return true;
        }
    }
    return size > 1 && line[0] == '{' &&
           (memmem(line, size, "\"bug_type\"", 10) != NULL ||
            memmem(line, size, "\"incident_id\"", 13) != NULL);
}

bool symbolize_apple_add(struct symbolize_apple_images *images,
                         const struct symbolize_apple_image *image)
{
    if (images->count == IMAGES_MAX) {
        return true;
    }
    if (!sonde__mem_grow(&images->all, images->count, &images->capacity, sizeof *images->all)) {
        return false;
    }
    images->all[images->count++] = *image;
    return true;
}

static bool is_hex(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

void symbolize_apple_uuid(const char *text, size_t size, char *ret_digits)
{
    size_t digits = 0;
    ret_digits[0] = '\0';
    for (size_t i = 0; i < size; i++) {
        if (is_hex(text[i]) && digits < 32) {
            ret_digits[digits++] =
                (char)(text[i] >= 'A' && text[i] <= 'F' ? text[i] | 0x20 : text[i]);
        } else if (text[i] != '-') {
            digits = 0;
            break;
        }
    }
    ret_digits[digits == 32 ? digits : 0] = '\0';
}

/* --- pieces of a line --- */

struct line {
    const char *at, *end;
};

static void skip_spaces(struct line *line)
{
    while (line->at < line->end && (*line->at == ' ' || *line->at == '\t')) {
        line->at++;
    }
}

/* "0x102a0c1a4". False: it is none; the place stays. */
static bool read_address(struct line *line, uint64_t *ret_address)
{
    const char *at = line->at;
    uint64_t value = 0;
    unsigned digits = 0;
    if (line->end - at < 3 || at[0] != '0' || at[1] != 'x') {
        return false;
    }
    for (at += 2; at < line->end && is_hex(*at) && digits < 17; at++, digits++) {
        unsigned digit = *at <= '9' ? (unsigned)(*at - '0') : (unsigned)((*at | 0x20) - 'a') + 10;
        value = value << 4 | digit;
    }
    if (digits == 0 || digits > 16) {
        return false;
    }
    line->at = at;
    *ret_address = value;
    return true;
}

/* The frame's number, and its address. The name between them may have spaces: the first word that
 * is an address ends it. */
static bool read_frame(struct line line, unsigned *ret_number, uint64_t *ret_address)
{
    unsigned number = 0;
    const char *begin = line.at;
    while (line.at < line.end && *line.at >= '0' && *line.at <= '9' && line.at - begin < 6) {
        number = number * 10 + (unsigned)(*line.at++ - '0');
    }
    if (line.at == begin || line.at == line.end || (*line.at != ' ' && *line.at != '\t')) {
        return false;
    }
    while (line.at < line.end) {
        skip_spaces(&line);
        if (read_address(&line, ret_address)) {
            *ret_number = number;
            return line.at == line.end || *line.at == ' ' || *line.at == '\t';
        }
        while (line.at < line.end && *line.at != ' ' && *line.at != '\t') {
            line.at++;
        }
    }
    return false;
}

/* "0x102a08000 - 0x102a0ffff App arm64  <uuid> /path" */
static bool read_image(struct line line, struct symbolize_apple_image *ret_image)
{
    struct symbolize_apple_image image = {0};
    const char *open, *close;
    skip_spaces(&line);
    if (!read_address(&line, &image.base)) {
        return false;
    }
    skip_spaces(&line);
    if (line.at == line.end || *line.at++ != '-') {
        return false;
    }
    skip_spaces(&line);
    if (!read_address(&line, &image.end)) {
        image.end = UINT64_MAX; /* "???" */
    }
    open = memchr(line.at, '<', (size_t)(line.end - line.at));
    close = open != NULL ? memchr(open, '>', (size_t)(line.end - open)) : NULL;
    if (close == NULL || image.end < image.base) {
        return false;
    }
    symbolize_apple_uuid(open + 1, (size_t)(close - open - 1), image.uuid);
    line.at = close + 1;
    skip_spaces(&line);
    image.path = line.at;
    image.path_size = (size_t)(line.end - line.at);
    *ret_image = image;
    return true;
}

/* --- the log --- */

/* The line at `at` without its newline (and a carriage return). */
static struct line line_at(const char *at, const char *end, const char **ret_next)
{
    const char *newline = memchr(at, '\n', (size_t)(end - at));
    struct line line = {at, newline != NULL ? newline : end};
    *ret_next = newline != NULL ? newline + 1 : end;
    if (line.end > line.at && line.end[-1] == '\r') {
        line.end--;
    }
    return line;
}

static bool begins_with(struct line line, const char *text)
{
    size_t size = strlen(text);
    return (size_t)(line.end - line.at) >= size && memcmp(line.at, text, size) == 0;
}

static bool collect_images(const char *log, size_t size, struct symbolize_apple_images *images)
{
    const char *next;
    bool listed = false;
    for (const char *at = log; at < log + size; at = next) {
        struct line line = line_at(at, log + size, &next);
        struct symbolize_apple_image image;
        if (begins_with(line, "Binary Images:")) {
            listed = true;
        } else if (listed && read_image(line, &image) && !symbolize_apple_add(images, &image)) {
            return false;
        }
    }
    return true;
}

static bool find_image(const struct symbolize_apple_images *images, uint64_t address,
                       struct symbolize_place *place)
{
    for (size_t i = 0; i < images->count; i++) {
        const struct symbolize_apple_image *image = &images->all[i];
        if (address < image->base || address > image->end ||
            image->path_size >= sizeof place->module) {
            continue;
        }
        memcpy(place->module, image->path, image->path_size);
        place->module[image->path_size] = '\0';
        memcpy(place->build_id, image->uuid, sizeof image->uuid);
        place->symbol[0] = '\0';
        place->offset = address - image->base;
        return place->module[0] != '\0' || place->build_id[0] != '\0';
    }
    return false;
}

/* "(0x1a2b3c4d5 0x1a2b3c4e6)": a text after each. */
static void give_list(struct line line, const struct symbolize_apple_images *images,
                      const struct symbolize_apple_sink *sink, struct symbolize_place *place)
{
    const char *given = line.at;
    uint64_t address;
    for (line.at++; line.at < line.end; line.at++) {
        const char *begin = line.at;
        if (!read_address(&line, &address)) {
            continue;
        }
        sink->text(sink->ctx, given, (size_t)(line.at - given));
        given = line.at;
        if (find_image(images, address, place)) {
            place->returns = true;
            sink->frame(sink->ctx, place, begin, (size_t)(line.at - begin), false);
        }
        line.at--;
    }
    sink->text(sink->ctx, given, (size_t)(line.end - given));
}

bool symbolize_apple(const char *log, size_t size, const struct symbolize_apple_sink *sink)
{
    struct symbolize_apple_images images = {0};
    static struct symbolize_place place;
    const char *next;
    bool exception = false;
    if (size != 0 && log[0] == '{') {
        return symbolize_ips(log, size, sink);
    }
    if (!collect_images(log, size, &images)) {
        sonde__mem_free(images.all);
        return false;
    }
    for (const char *at = log; at < log + size; at = next) {
        struct line line = line_at(at, log + size, &next);
        unsigned number;
        uint64_t address;
        if (begins_with(line, "Last Exception Backtrace") ||
            begins_with(line, "Application Specific Backtrace")) {
            exception = true; /* no frame of it is the one that runs */
        } else if (begins_with(line, "Thread ")) {
            exception = false;
        }
        if (exception && begins_with(line, "(0x")) {
            give_list(line, &images, sink, &place);
        } else {
            sink->text(sink->ctx, line.at, (size_t)(line.end - line.at));
            if (read_frame(line, &number, &address) && find_image(&images, address, &place)) {
                place.returns = number != 0 || exception;
                sink->frame(sink->ctx, &place, line.at, (size_t)(line.end - line.at), false);
            }
        }
        sink->text(sink->ctx, line.end, (size_t)(next - line.end));
    }
    sonde__mem_free(images.all);
    return true;
}
