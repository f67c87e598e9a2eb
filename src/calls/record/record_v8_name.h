// SPDX-License-Identifier: Apache-2.0
/* Names and lines of frames of V8 (record_v8.h), in this process. Context: handler. */
#ifndef SONDE_RECORD_V8_NAME_H
#define SONDE_RECORD_V8_NAME_H

#include "record_script.h"
#include "v8.h"

/* Lines before chunks of sources: a long one is read once. */
enum { SONDE__V8_CHUNK = 65536, SONDE__V8_MARKS = 256, SONDE__V8_WINDOW = 2048 };
struct sonde__v8_mark {
    uint64_t script, address; /* id; of the source */
    uint32_t length, chunk;   /* chunk: its number; 0: none */
    uint32_t lines;           /* that end before it */
};

/* Of one thread. */
struct sonde__v8_namer {
    struct v8 v8;
    struct sonde__v8_mark marks[SONDE__V8_MARKS];
    char texts[2 * V8_TEXT_ROOM + V8_TEXT_ROOM];
    uint8_t window[SONDE__V8_WINDOW];
};

void sonde__record_v8_namer_init(struct sonde__v8_namer *namer, const struct v8_layout *layout);

/* A frame by what it was read from. */
struct sonde__v8_named {
    const char *function, *file; /* function null: it is no call of JavaScript, or is not shown */
    uint64_t shared;             /* the description of its function; 0: no call of JavaScript */
    uint64_t script;             /* V8's word of the script's id; 0: none */
    uint32_t line;               /* 0: unknown */
    bool is_interpreted;
};
/* pc: where the frame's function goes on. False: an object cannot be read. */
bool sonde__record_v8_name(struct sonde__v8_namer *namer, const struct v8_frame *frame, uint64_t pc,
                           struct sonde__v8_named *ret_named);

/* The number of a name and file in the page, added if it is new. False: there is no room. */
bool sonde__record_v8_number(struct sonde__script_page *page, const char *function,
                             const char *file, uint32_t *ret_number);
/* No memory: false. Context: start-up */
bool sonde__record_v8_numbers_begin(void);
void sonde__record_v8_numbers_restart(void);

#endif
