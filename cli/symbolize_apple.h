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
    /* a line with its newline that is none of such a log's frames; it may be another log's */
    void (*line)(void *ctx, const char *bytes, size_t size);
    /* A frame ends here. asked: what the log says of it. in_json: a JSON object, of which the
     * closing brace comes next; else a line, of which the newline comes next. */
    void (*frame)(void *ctx, const struct symbolize_place *place, const char *asked, size_t size,
                  bool in_json);
    void *ctx;
};

/* Does such a log begin with this line? Of JSON that is a line of its own for each member, more
 * lines are needed, up to SYMBOLIZE_APPLE_LOOK bytes. */
enum symbolize_apple_begin { SYMBOLIZE_APPLE_NO, SYMBOLIZE_APPLE_YES, SYMBOLIZE_APPLE_MORE };
enum { SYMBOLIZE_APPLE_LOOK = 4096 };
enum symbolize_apple_begin symbolize_apple_begins(const char *text, size_t size);

/* What was met. */
struct symbolize_apple_seen {
    size_t images;  /* that are listed */
    size_t frames;  /* of them, */
    size_t outside; /* these lie in no image that is listed with a path or UUID */
};

/* False: no memory. What is malformed is text. Several logs in a row each have their own images. */
bool symbolize_apple(const char *log, size_t size, const struct symbolize_apple_sink *sink,
                     struct symbolize_apple_seen *ret_seen);

/* The same of a JSON log (symbolize_ips.c); adds to `seen`. */
bool symbolize_ips(const char *log, size_t size, const struct symbolize_apple_sink *sink,
                   struct symbolize_apple_seen *seen);

#endif
