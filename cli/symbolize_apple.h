// SPDX-License-Identifier: Apache-2.0
/* Apple's crash logs: text (.crash) and JSON (.ips). The text is kept; for each frame it is told
 * which image, by its UUID, and which offset from that image's header it is. No files are read
 * here. The images are listed behind the frames, so a log is needed whole. */
#ifndef SONDE_SYMBOLIZE_APPLE_H
#define SONDE_SYMBOLIZE_APPLE_H

#include "symbolize_scan.h"

/* What a log is made into, in its order. */
struct symbolize_apple_sink {
    void (*text)(void *ctx, const char *bytes, size_t size); /* as it stands */
    /* A frame ends here. asked: what the log says of it. in_json: a JSON object, of which the
     * closing brace comes next; else a line, of which the newline comes next. */
    void (*frame)(void *ctx, const struct symbolize_place *place, const char *asked, size_t size,
                  bool in_json);
    void *ctx;
};

/* Is this the first line of such a log? */
bool symbolize_apple_begins(const char *line, size_t size);

/* False: no memory. What is malformed is text. */
bool symbolize_apple(const char *log, size_t size, const struct symbolize_apple_sink *sink);

/* --- between symbolize_apple.c (text) and symbolize_ips.c (JSON) --- */

struct symbolize_apple_image {
    uint64_t base, end; /* addresses: first, and last of it */
    const char *path;   /* in the log; of JSON with its escapes */
    size_t path_size;
    char uuid[33]; /* lower-case digits; "" when unknown */
};

struct symbolize_apple_images {
    struct symbolize_apple_image *all;
    size_t count, capacity;
};

/* False: no memory. More than a process can have are left out. */
bool symbolize_apple_add(struct symbolize_apple_images *images,
                         const struct symbolize_apple_image *image);
/* "DFC6A3E1-...", or 32 digits, to digits; "" when it is none. */
void symbolize_apple_uuid(const char *text, size_t size, char *ret_digits);
bool symbolize_ips(const char *log, size_t size, const struct symbolize_apple_sink *sink);

#endif
