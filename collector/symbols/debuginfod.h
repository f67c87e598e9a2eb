// SPDX-License-Identifier: Apache-2.0
/* Asks a debuginfod server for the debug file of a build-id (elfutils' debuginfod(8), "WEBAPI"):
 * bounded in time and size. Redirects are followed a few times, to http and https only, and from
 * https to https only. Context: one thread. */
#ifndef SONDE_COLLECTOR_DEBUGINFOD_H
#define SONDE_COLLECTOR_DEBUGINFOD_H

#include <stdbool.h>
#include <stdint.h>

#include "image_set.h"

struct debuginfod;

struct debuginfod_options {
    uint32_t seconds;             /* for one question, from the address to the last byte */
    uint64_t bytes_max;           /* of a file */
    bool (*is_ending)(void *ctx); /* true: give it up; asked at least once a second */
    void *ctx;
};

/* False: the program was built without libcurl, and the others do nothing. */
bool debuginfod_is_there(void);
/* Null: no memory. Ownership: debuginfod_end(). */
struct debuginfod *debuginfod_begin(const struct debuginfod_options *options);
void debuginfod_end(struct debuginfod *debuginfod);

enum debuginfod_answer {
    DEBUGINFOD_FAILED,
    DEBUGINFOD_FOUND,
    DEBUGINFOD_ABSENT,
    DEBUGINFOD_TOO_LARGE
};
struct debuginfod_result {
    enum debuginfod_answer answer;
    uint64_t retry_after_s; /* that a failure asks for; 0: nothing */
    char why[256];          /* of FAILED */
};
/* file: a descriptor; what it has is replaced by what the server sends. */
void debuginfod_ask(struct debuginfod *debuginfod, const char *url,
                    const struct sonde__build_id *id, int file,
                    struct debuginfod_result *ret_result);

#endif
