// SPDX-License-Identifier: Apache-2.0
/* The JSON form of Apple's logs (Apple, "Interpreting the JSON format of a crash report"): a header
 * on the first line, then an object with "usedImages": [{"base", "uuid", "path"}], and frames
 * {"imageIndex", "imageOffset"} in "threads"[n]."frames", "lastExceptionBacktrace" and others. Any
 * object with both numbers is a frame. What is no JSON is passed as text. */
#include <string.h>

#include "mem_heap.h"
#include "symbolize_apple.h"
#include "symbolize_log.h"
#include "tape.h"

/* Values of one object; logs have some ten thousand. */
#define VALUES_MAX (1u << 22)

struct ips {
    struct sonde__tape tape;
    struct symbolize_log images;
    const struct symbolize_apple_sink *sink;
    struct symbolize_apple_seen *seen;
    size_t given;       /* bytes of the tape's text that were written */
    uint32_t innermost; /* the first frame of the thread that is read: its pc is exact */
    struct symbolize_place place;
};

/* False: no memory. */
static bool collect_images(struct ips *ips)
{
    const struct sonde__tape *tape = &ips->tape;
    uint32_t all = sonde__tape_get(tape, 0, "usedImages");
    SONDE__TAPE_EACH(at, tape, all)
    {
        char uuid[64] = "";
        struct symbolize_log_image image = {0};
        uint32_t path = sonde__tape_get(tape, at, "path");
        (void)sonde__tape_uint(tape, sonde__tape_get(tape, at, "base"), &image.base);
        (void)sonde__tape_string(tape, sonde__tape_get(tape, at, "uuid"), uuid, sizeof uuid);
        symbolize_log_uuid(uuid, strlen(uuid), image.uuid);
        image.end = path; /* the value of the tape that has the path, which has escapes */
        if (!symbolize_log_add(&ips->images, &image)) {
            return false;
        }
    }
    ips->seen->images += ips->images.count;
    return true;
}

static void give_text(struct ips *ips, size_t end)
{
    ips->sink->text(ips->sink->ctx, ips->tape.text + ips->given, end - ips->given);
    ips->given = end;
}

static void give_frame(struct ips *ips, uint32_t at, uint64_t index, uint64_t offset)
{
    const struct sonde__tape_value *value = &ips->tape.values[at];
    if (value->begin < ips->given) {
        return; /* in another frame */
    }
    ips->seen->frames++;
    ips->seen->outside++; /* assume so; corrected below */
    if (index >= ips->images.count) {
        return;
    }
    const struct symbolize_log_image *image = &ips->images.all[index];
    ips->place.image[0] = '\0';
    (void)sonde__tape_string(&ips->tape, (uint32_t)image->end, ips->place.image,
                             sizeof ips->place.image);
    memcpy(ips->place.build_id, image->uuid, sizeof image->uuid);
    ips->place.symbol[0] = '\0';
    ips->place.offset = offset;
    ips->place.returns = at != ips->innermost;
    if (ips->place.image[0] == '\0' && ips->place.build_id[0] == '\0') {
        return;
    }
    ips->seen->outside--;
    give_text(ips, value->end - 1);
    ips->sink->frame(ips->sink->ctx, &ips->place, ips->tape.text + value->begin,
                     value->end - value->begin, true);
}

/* The tape has all values in the order of the text. */
static void give_frames(struct ips *ips)
{
    const struct sonde__tape *tape = &ips->tape;
    for (uint32_t at = 0; at < tape->count; at++) {
        uint64_t index, offset;
        if (sonde__tape_kind(tape, at) == SONDE__TAPE_ARRAY && at != 0 &&
            sonde__tape_is(tape, at - 1, "frames")) {
            ips->innermost = at + 1;
        }
        if (sonde__tape_kind(tape, at) == SONDE__TAPE_OBJECT &&
            sonde__tape_uint(tape, sonde__tape_get(tape, at, "imageIndex"), &index) &&
            sonde__tape_uint(tape, sonde__tape_get(tape, at, "imageOffset"), &offset)) {
            give_frame(ips, at, index, offset);
        }
    }
}

/* Process the next object, a header or a log, and what stands before it. Returns its end; null: no
 * memory. */
static const char *give_object(const char *log, const char *end,
                               const struct symbolize_apple_sink *sink,
                               struct symbolize_apple_seen *seen)
{
    static struct ips ips;
    const char *brace = memchr(log, '{', (size_t)(end - log));
    size_t used;
    memset(&ips, 0, sizeof ips);
    ips.sink = sink;
    ips.seen = seen;
    enum sonde_status status = brace == NULL ? SONDE_ABSENT
                                             : sonde__tape_read(brace, (size_t)(end - brace),
                                                                VALUES_MAX, &ips.tape, &used, NULL);
    if (status == SONDE_MEMORY) {
        return NULL;
    }
    if (status != SONDE_OK) { /* cut, or another text */
        sink->text(sink->ctx, log, (size_t)(end - log));
        return end;
    }
    sink->text(sink->ctx, log, (size_t)(brace - log));
    bool done = collect_images(&ips);
    if (done) {
        give_frames(&ips);
        give_text(&ips, used);
    }
    sonde__mem_free(ips.images.all);
    sonde__tape_done(&ips.tape);
    return done ? brace + used : NULL;
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
