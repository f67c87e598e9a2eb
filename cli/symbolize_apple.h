// SPDX-License-Identifier: Apache-2.0
/* Apple's crash logs: text (.crash) and JSON (.ips). The text is passed on; each frame gets its
 * image, by UUID, and its offset from the header of the image. No files are read here. Logs list
 * their images after the frames, so a whole log is needed. */
#ifndef SONDE_SYMBOLIZE_APPLE_H
#define SONDE_SYMBOLIZE_APPLE_H

#include "symbolize_scan.h"

/* Where a log goes, in its order. */
struct symbolize_apple_sink {
    void (*text)(void *ctx, const char *bytes, size_t size); /* as it stands */
    /* a line with its newline that is not a frame of such a log; it may be one of another log */
    void (*line)(void *ctx, const char *bytes, size_t size);
    /* The end of a frame. asked: its text in the log. in_json: an object whose closing brace comes
     * next; else a line whose newline comes next. */
    void (*frame)(void *ctx, const struct symbolize_place *place, const char *asked, size_t size,
                  bool in_json);
    void *ctx;
};

/* Does such a log begin with this line? JSON with a line for each member needs more lines, up to
 * SYMBOLIZE_APPLE_LOOK bytes. */
enum symbolize_apple_begin { SYMBOLIZE_APPLE_NO, SYMBOLIZE_APPLE_YES, SYMBOLIZE_APPLE_MORE };
enum { SYMBOLIZE_APPLE_LOOK = 4096 };
enum symbolize_apple_begin symbolize_apple_begins(const char *text, size_t size);

/* What was met. */
struct symbolize_apple_seen {
    size_t images;  /* that are listed */
    size_t frames;  /* of them, */
    size_t outside; /* these lie in no image that is listed with a path or UUID */
};

/* False: no memory. Malformed parts are text. Each of several logs in a row has its own images. */
bool symbolize_apple(const char *log, size_t size, const struct symbolize_apple_sink *sink,
                     struct symbolize_apple_seen *ret_seen);

/* The same of a JSON log (symbolize_ips.c); adds to `seen`. */
bool symbolize_ips(const char *log, size_t size, const struct symbolize_apple_sink *sink,
                   struct symbolize_apple_seen *seen);

#endif
