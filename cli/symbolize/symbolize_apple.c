// SPDX-License-Identifier: Apache-2.0
/* Lines that are read of a .crash log (Apple, "Examining the fields in a crash report"):
 *
 *     Last Exception Backtrace:
 *     (0x1a2b3c4d5 0x1a2b3c4e6)                          return addresses
 *     Thread 0 Crashed:
 *     0   App      0x0000000102a0c1a4 0x102a08000 + 16804     exact; the others are returned to 1
 *     App      0x0000000102a0c234 main + 52
 *     Binary Images:
 *     0x102a08000 - 0x102a0ffff App arm64  <e8a1d40c...> /private/var/.../App
 *        0x7fff2034e000 - 0x7fff2034ffff  com.apple.x (1.0 - 1) <UUID> /System/... */
#include "symbolize_apple.h"

#include <string.h>

#include "mem_heap.h"
#include "symbolize_log.h"

/* --- where a log begins --- */

static bool has_prefix(const char *line, size_t size, const char *prefix)
{
    size_t length = strlen(prefix);
    return size >= length && memcmp(line, prefix, length) == 0;
}

/* "Process:             program [2341]" */
static bool is_process(const char *line, size_t size)
{
    while (size > 0 && (line[size - 1] == '\n' || line[size - 1] == '\r')) {
        size--;
    }
    return has_prefix(line, size, "Process:  ") && line[size - 1] == ']';
}

/* "Thread 7 Crashed:", "Thread 0 Crashed:: Dispatch queue: ..." */
static bool is_crashed_thread(const char *line, size_t size)
{
    size_t at = strlen("Thread ");
    if (!has_prefix(line, size, "Thread ")) {
        return false;
    }
    while (at < size && line[at] >= '0' && line[at] <= '9') {
        at++;
    }
    return has_prefix(line + at, size - at, " Crashed:");
}

static bool begins_text(const char *line, size_t size)
{
    static const char *const firsts[] = {"Incident Identifier:", "CrashReporter Key:",
                                         "Hardware Model:",      "Translated Report (",
                                         "Exception Type:  ",    "Last Exception Backtrace:"};
    for (size_t i = 0; i < sizeof firsts / sizeof firsts[0]; i++) {
        if (has_prefix(line, size, firsts[i])) {
            return true;
        }
    }
    return is_process(line, size) || is_crashed_thread(line, size);
}

static bool is_space(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

static size_t skip_space(const char *text, size_t size, size_t at)
{
    while (at < size && is_space(text[at])) {
        at++;
    }
    return at;
}

static bool has_key_of_log(const char *text, size_t size)
{
    static const char *const keys[] = {"\"bug_type\"",   "\"incident_id\"", "\"incident\"",
                                       "\"usedImages\"", "\"imageIndex\"",  "\"procRole\"",
                                       "\"captureTime\""};
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        if (memmem(text, size, keys[i], strlen(keys[i])) != NULL) {
            return true;
        }
    }
    return false;
}

/* A header is one line; in the log after it the brace and each member have their own lines. */
static enum symbolize_apple_begin begins_json(const char *text, size_t size)
{
    size_t at = skip_space(text, size, 0) + 1; /* after the brace */
    if (has_key_of_log(text, size)) {
        return SYMBOLIZE_APPLE_YES;
    }
    for (; at < size && text[at] != '\n'; at++) {
        if (!is_space(text[at])) {
            return SYMBOLIZE_APPLE_NO;
        }
    }
    /* each line has a member, or begins or ends one */
    while ((at = skip_space(text, size, at)) < size) {
        if (strchr("\"{}[]", text[at]) == NULL || (text[at] == '}' && text[at - 1] == '\n')) {
            return SYMBOLIZE_APPLE_NO;
        }
        const char *newline = memchr(text + at, '\n', size - at);
        at = newline != NULL ? (size_t)(newline - text) : size;
    }
    return SYMBOLIZE_APPLE_MORE;
}

static bool is_brace(const char *text, size_t size)
{
    size_t at = skip_space(text, size, 0);
    return at < size && text[at] == '{';
}

static bool is_json(const char *text, size_t size)
{
    return is_brace(text, size) && begins_json(text, size) == SYMBOLIZE_APPLE_YES;
}

enum symbolize_apple_begin symbolize_apple_begins(const char *text, size_t size)
{
    if (is_brace(text, size)) {
        return begins_json(text, size);
    }
    return begins_text(text, size) ? SYMBOLIZE_APPLE_YES : SYMBOLIZE_APPLE_NO;
}

static bool is_hex(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
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

/* "0x102a0c1a4". False: not an address; `line` is unchanged. */
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

/* Frame number and address. The name between may contain spaces, so the first word that is an
 * address ends it. */
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

/* "0x102a08000 - 0x102a0ffff App arm64  <uuid> /path". Unknown parts are "???" and a zero UUID:
 * "0x0 - 0xffffffffffffffff ??? (*) <00000000-...> ???". */
static bool read_image(struct line line, struct symbolize_log_image *ret_image)
{
    struct symbolize_log_image image = {0};
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
    symbolize_log_uuid(open + 1, (size_t)(close - open - 1), image.uuid);
    line.at = close + 1;
    skip_spaces(&line);
    image.path = line.at;
    image.path_size = (size_t)(line.end - line.at);
    if (image.path_size == 3 && memcmp(image.path, "???", 3) == 0) {
        image.path_size = 0;
    }
    *ret_image = image;
    return true;
}

/* --- the log --- */

/* The line at `at` without newline and carriage return. */
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
    return has_prefix(line.at, (size_t)(line.end - line.at), text);
}

/* Collect the next list of images, which applies to all text up to its end (*ret_end). False: no
 * memory. */
static bool collect_images(const char *log, const char *end, struct symbolize_log *images,
                           const char **ret_end)
{
    const char *next;
    bool listed = false;
    images->count = 0;
    for (const char *at = log; at < end; at = next) {
        struct line line = line_at(at, end, &next), rest = line;
        struct symbolize_log_image image;
        skip_spaces(&rest);
        if (!listed) {
            listed = begins_with(line, "Binary Images:");
        } else if (begins_with(rest, "0x")) {
            if (read_image(line, &image) && !symbolize_log_add(images, &image)) {
                return false;
            }
        } else if (images->count != 0 || rest.at < rest.end) {
            *ret_end = at;
            return true;
        }
    }
    *ret_end = end;
    return true;
}

static bool find_image(const struct symbolize_log *images, uint64_t address,
                       struct symbolize_place *place)
{
    const struct symbolize_log_image *image = symbolize_log_at(images, address);
    if (image == NULL || image->path_size >= sizeof place->image) {
        return false;
    }
    memcpy(place->image, image->path, image->path_size);
    place->image[image->path_size] = '\0';
    memcpy(place->build_id, image->uuid, sizeof image->uuid);
    place->symbol[0] = '\0';
    place->offset = address - image->base;
    return place->image[0] != '\0' || place->build_id[0] != '\0';
}

/* A part of a log, with the images for its addresses. */
struct part {
    struct symbolize_log images;
    const struct symbolize_apple_sink *sink;
    struct symbolize_apple_seen *seen;
    bool exception; /* in the stack of an exception, which has return addresses only */
};

static bool place_frame(struct part *part, uint64_t address, struct symbolize_place *place)
{
    bool found = find_image(&part->images, address, place);
    part->seen->frames++;
    part->seen->outside += found ? 0 : 1;
    return found;
}

/* "(0x1a2b3c4d5 0x1a2b3c4e6)": process each address with the text after it. */
static void give_list(struct part *part, struct line line, struct symbolize_place *place)
{
    const struct symbolize_apple_sink *sink = part->sink;
    const char *given = line.at;
    uint64_t address;
    for (line.at++; line.at < line.end; line.at++) {
        const char *begin = line.at;
        if (!read_address(&line, &address)) {
            continue;
        }
        sink->text(sink->ctx, given, (size_t)(line.at - given));
        given = line.at;
        if (place_frame(part, address, place)) {
            place->returns = true;
            sink->frame(sink->ctx, place, begin, (size_t)(line.at - begin), false);
        }
        line.at--;
    }
    sink->text(sink->ctx, given, (size_t)(line.end - given));
}

static void give_line(struct part *part, struct line line, const char *next)
{
    static struct symbolize_place place;
    const struct symbolize_apple_sink *sink = part->sink;
    unsigned number;
    uint64_t address;
    if (begins_with(line, "Last Exception Backtrace") ||
        begins_with(line, "Application Specific Backtrace")) {
        part->exception = true;
    } else if (begins_with(line, "Thread ")) {
        part->exception = false;
    }
    if (part->exception && begins_with(line, "(0x")) {
        give_list(part, line, &place);
    } else if (read_frame(line, &number, &address)) {
        sink->text(sink->ctx, line.at, (size_t)(line.end - line.at));
        if (place_frame(part, address, &place)) {
            place.returns = number != 0 || part->exception;
            sink->frame(sink->ctx, &place, line.at, (size_t)(line.end - line.at), false);
        }
    } else {
        sink->line(sink->ctx, line.at, (size_t)(next - line.at));
        return;
    }
    sink->text(sink->ctx, line.end, (size_t)(next - line.end));
}

bool symbolize_apple(const char *log, size_t size, const struct symbolize_apple_sink *sink,
                     struct symbolize_apple_seen *ret_seen)
{
    struct part part = {.sink = sink, .seen = ret_seen};
    const char *end = log + size, *part_end = log, *next;
    bool done = true;
    *ret_seen = (struct symbolize_apple_seen){0};
    for (const char *at = log; done && at < end; at = next) {
        struct line line = line_at(at, end, &next);
        size_t left = (size_t)(end - at);
        /* JSON alone, or followed by its text form */
        if (is_json(at, left < SYMBOLIZE_APPLE_LOOK ? left : SYMBOLIZE_APPLE_LOOK)) {
            done = symbolize_ips(at, left, sink, ret_seen);
            break;
        }
        if (at >= part_end) {
            done = collect_images(at, end, &part.images, &part_end);
            ret_seen->images += part.images.count;
        }
        if (done) {
            give_line(&part, line, next);
        }
    }
    sonde__mem_free(part.images.all);
    return done;
}
