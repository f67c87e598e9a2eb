// SPDX-License-Identifier: Apache-2.0
/* The JSON form of Apple's logs (Apple, "Interpreting the JSON format of a crash report"): a header
 * on the first line, then an object with "usedImages": [{"base", "size", "uuid", "path"}], and
 * frames {"imageIndex", "imageOffset"} in "threads"[n]."frames", "lastExceptionBacktrace" and
 * others. No tree is built; any object with both numbers is a frame. */
#include <string.h>

#include "mem_heap.h"
#include "symbolize_apple.h"
#include "symbolize_log.h"

/* Logs have eight levels; deeper ones are ignored. */
enum { DEPTH_MAX = 64 };

struct text {
    const char *at;
    size_t size;
};

struct level {
    bool is_object;
    struct text key; /* of the current or next value; empty in arrays */
    uint32_t index;  /* of the value in its array */
    const char *begin;
    bool has_image, has_offset;
    uint64_t image, offset;          /* of a frame */
    struct symbolize_log_image used; /* for an element of usedImages */
};

struct walk {
    const char *at, *end;
    struct level levels[DEPTH_MAX];
    unsigned depth;
    struct symbolize_log images;
    const struct symbolize_apple_sink *sink; /* null: collect images */
    struct symbolize_apple_seen *seen;
    const char *given; /* text before it was written */
    struct symbolize_place place;
    bool out_of_memory;
};

static bool is_text(struct text text, const char *expected)
{
    return text.size == strlen(expected) && memcmp(text.at, expected, text.size) == 0;
}

/* Read from after a quotation mark to after the closing one. False: none. */
static bool read_string(struct walk *w, struct text *ret_text)
{
    const char *begin = w->at;
    while (w->at < w->end && *w->at != '"') {
        w->at += *w->at == '\\' && w->end - w->at > 1 ? 2 : 1;
    }
    if (w->at >= w->end) {
        return false;
    }
    *ret_text = (struct text){begin, (size_t)(w->at - begin)};
    w->at++;
    return true;
}

/* Decode escaped slashes and quotation marks. False: no room, or another escape. */
static bool unescape(struct text text, char *to, size_t capacity)
{
    size_t used = 0;
    for (size_t i = 0; i < text.size; i++) {
        char c = text.at[i];
        if (c == '\\') {
            c = ++i < text.size ? text.at[i] : '\0';
            if (c != '/' && c != '"' && c != '\\') {
                return false;
            }
        }
        if (used + 1 >= capacity) {
            return false;
        }
        to[used++] = c;
    }
    to[used] = '\0';
    return true;
}

/* --- values --- */

static struct level *top(struct walk *w)
{
    return w->depth != 0 && w->depth <= DEPTH_MAX ? &w->levels[w->depth - 1] : NULL;
}

static void see_number(struct walk *w, uint64_t value)
{
    struct level *level = top(w);
    if (level == NULL || !level->is_object) {
        return;
    }
    if (is_text(level->key, "imageIndex")) {
        level->image = value;
        level->has_image = true;
    } else if (is_text(level->key, "imageOffset")) {
        level->offset = value;
        level->has_offset = true;
    } else if (is_text(level->key, "base")) {
        level->used.base = value;
    }
}

static void see_string(struct walk *w, struct text value)
{
    struct level *level = top(w);
    if (level == NULL || !level->is_object) {
        return;
    }
    if (is_text(level->key, "uuid")) {
        symbolize_log_uuid(value.at, value.size, level->used.uuid);
    } else if (is_text(level->key, "path")) {
        level->used.path = value.at;
        level->used.path_size = value.size;
    }
}

/* The array of the top object, or null. */
static const struct level *array_of(const struct walk *w)
{
    return w->depth >= 2 && w->depth <= DEPTH_MAX && !w->levels[w->depth - 2].is_object
               ? &w->levels[w->depth - 2]
               : NULL;
}

/* The array's key. */
static struct text array_key(const struct walk *w)
{
    return w->depth >= 3 ? w->levels[w->depth - 3].key : (struct text){"", 0};
}

static void give_frame(struct walk *w, const struct level *level)
{
    const struct symbolize_log_image *image;
    const struct level *array = array_of(w);
    w->seen->frames++;
    w->seen->outside++; /* assume so; corrected below */
    if (level->image >= w->images.count) {
        return;
    }
    image = &w->images.all[level->image];
    w->place.image[0] = '\0';
    if (image->path != NULL && !unescape((struct text){image->path, image->path_size},
                                         w->place.image, sizeof w->place.image)) {
        w->place.image[0] = '\0';
    }
    memcpy(w->place.build_id, image->uuid, sizeof image->uuid);
    w->place.symbol[0] = '\0';
    w->place.offset = level->offset;
    /* only the first frame of a thread is exact; all others are return addresses */
    w->place.returns = !(array != NULL && array->index == 0 && is_text(array_key(w), "frames"));
    if (w->place.image[0] == '\0' && w->place.build_id[0] == '\0') {
        return;
    }
    w->seen->outside--;
    w->sink->text(w->sink->ctx, w->given, (size_t)(w->at - w->given));
    w->given = w->at;
    w->sink->frame(w->sink->ctx, &w->place, level->begin, (size_t)(w->at - level->begin) + 1, true);
}

static void end_object(struct walk *w)
{
    const struct level *level = top(w);
    if (level == NULL || !level->is_object) {
        return;
    }
    if (w->sink == NULL && array_of(w) != NULL && is_text(array_key(w), "usedImages")) {
        w->out_of_memory = !symbolize_log_add(&w->images, &level->used);
    } else if (w->sink != NULL && level->has_image && level->has_offset) {
        give_frame(w, level);
    }
}

static void open_level(struct walk *w, bool is_object)
{
    w->depth++;
    if (w->depth <= DEPTH_MAX) {
        w->levels[w->depth - 1] = (struct level){.is_object = is_object, .begin = w->at};
    }
}

static void see_digits(struct walk *w)
{
    uint64_t value = 0;
    bool whole = true;
    while (w->at < w->end && *w->at >= '0' && *w->at <= '9') {
        unsigned digit = (unsigned)(*w->at++ - '0');
        whole = whole && value <= (UINT64_MAX - digit) / 10;
        value = value * 10 + digit;
    }
    whole = whole && (w->at == w->end || (*w->at != '.' && *w->at != 'e' && *w->at != 'E'));
    if (whole) {
        see_number(w, value);
    }
}

/* A string is a key if a colon follows, else a value. False: the text ends in it. */
static bool see_text(struct walk *w)
{
    struct text text;
    struct level *level = top(w);
    w->at++;
    if (!read_string(w, &text)) {
        return false;
    }
    while (w->at < w->end && (*w->at == ' ' || *w->at == '\t')) {
        w->at++;
    }
    if (w->at < w->end && *w->at == ':' && level != NULL && level->is_object) {
        level->key = text;
    } else {
        see_string(w, text);
    }
    return true;
}

/* Walk one whole object; another log may follow. */
static void walk(struct walk *w)
{
    while (w->at < w->end && !w->out_of_memory) {
        char c = *w->at;
        if (c == '"') {
            if (!see_text(w)) {
                return;
            }
            continue;
        }
        if (c >= '0' && c <= '9') {
            see_digits(w);
            continue;
        }
        if (c == '{' || c == '[') {
            open_level(w, c == '{');
        } else if (c == '}' || c == ']') {
            if (c == '}') {
                end_object(w);
            }
            w->depth -= w->depth != 0;
            if (w->depth == 0) {
                w->at++;
                return;
            }
        } else if (c == ',' && top(w) != NULL) {
            top(w)->index++;
        } else if (c == '-') { /* offsets are not negative: skip the digits */
            while (w->at + 1 < w->end && w->at[1] >= '0' && w->at[1] <= '9') {
                w->at++;
            }
        }
        w->at++;
    }
}

/* Process the next object, a header or a log. Returns its end; null: no memory. */
static const char *give_object(const char *log, const char *end,
                               const struct symbolize_apple_sink *sink,
                               struct symbolize_apple_seen *seen)
{
    static struct walk w;
    struct symbolize_log images;
    bool done;
    memset(&w, 0, sizeof w);
    w.at = log;
    w.end = end;
    walk(&w);
    done = !w.out_of_memory;
    images = w.images;
    seen->images += images.count;
    if (done) {
        memset(&w, 0, sizeof w);
        w.at = w.given = log;
        w.end = end;
        w.images = images;
        w.sink = sink;
        w.seen = seen;
        walk(&w);
        w.at = w.at < end ? w.at : end;
        sink->text(sink->ctx, w.given, (size_t)(w.at - w.given));
    }
    sonde__mem_free(images.all);
    return done ? w.at : NULL;
}

bool symbolize_ips(const char *log, size_t size, const struct symbolize_apple_sink *sink,
                   struct symbolize_apple_seen *seen)
{
    const char *end = log + size;
    for (const char *at = log; at < end;) {
        at = give_object(at, end, sink, seen);
        if (at == NULL) {
            return false;
        }
    }
    return true;
}
