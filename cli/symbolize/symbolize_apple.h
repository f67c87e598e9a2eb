// SPDX-License-Identifier: Apache-2.0
/* Parses Apple's crash logs, text (.crash) and JSON (.ips). Text is passed on; each frame gets its
 * image, by UUID, and the offset from the image's header. Reads no files. Logs list images after
 * frames, so it needs the whole log. */
#ifndef SONDE_SYMBOLIZE_APPLE_H
#define SONDE_SYMBOLIZE_APPLE_H

#include "symbolize_scan.h"

/* Receives a log in order. */
struct symbolize_apple_sink {
    void (*text)(void *ctx, const char *bytes, size_t size); /* unchanged text */
    /* a line with its newline that is no frame of such a log, but may be one of another kind of
     * log */
    void (*line)(void *ctx, const char *bytes, size_t size);
    /* The end of a frame. asked: its text in the log. in_json: the closing brace of its object
     * follows; else the line's newline. */
    void (*frame)(void *ctx, const struct symbolize_place *place, const char *asked, size_t size,
                  bool in_json);
    void *ctx;
};

/* Does such a log begin with this line? For JSON with one member per line, more lines are needed,
 * up to SYMBOLIZE_APPLE_LOOK bytes. */
enum symbolize_apple_begin { SYMBOLIZE_APPLE_NO, SYMBOLIZE_APPLE_YES, SYMBOLIZE_APPLE_MORE };
enum { SYMBOLIZE_APPLE_LOOK = 4096 };
enum symbolize_apple_begin symbolize_apple_begins(const char *text, size_t size);

/* What the log had. */
struct symbolize_apple_seen {
    size_t images;  /* listed */
    size_t frames;  /* in all */
    size_t outside; /* of these, in no listed image with a path or UUID */
};

/* False: no memory. Malformed parts are passed as text. Each of several logs has its own images. */
bool symbolize_apple(const char *log, size_t size, const struct symbolize_apple_sink *sink,
                     struct symbolize_apple_seen *ret_seen);

/* The same for a JSON log (symbolize_ips.c); adds to `seen`. */
bool symbolize_ips(const char *log, size_t size, const struct symbolize_apple_sink *sink,
                   struct symbolize_apple_seen *seen);

#endif
