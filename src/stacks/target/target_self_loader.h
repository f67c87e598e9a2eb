// SPDX-License-Identifier: Apache-2.0
/* What this process' loader knows about its images. Each port implements it. Private to
 * target_self*.c. Nothing here allocates. */
#ifndef SONDE_TARGET_SELF_LOADER_H
#define SONDE_TARGET_SELF_LOADER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "image_set.h"

enum { SELF_PATH_MAX = 4096 }; /* PATH_MAX of Linux; Darwin's is less */

/* The loader's counters: equal counters mean equal images. */
struct self_counters {
    unsigned long long adds, subs;
};

/* Call `function` while images cannot change. Calls may nest. counters: null: there are none. */
void self_loader_hold(void (*function)(void *ctx, const struct self_counters *counters), void *ctx);

/* An image of the loader's list. */
struct self_object {
    struct sonde__image image; /* without path and rules */
    const char *path;          /* the loader's; valid during the call */
    const void *dynamic;       /* for self_snapshot_mark_needed(); valid as long as the image */
    const void *segments;      /* the port's */
    uint32_t segment_count;
};
/* The next range of the object's code; *at starts at 0. False: no more. */
bool self_loader_code(const struct self_object *object, uint32_t *at, uint64_t *ret_start,
                      uint64_t *ret_end);

struct self_loader {
    char program[SELF_PATH_MAX]; /* path of the main program */
    bool is_program_deleted;
};
void self_loader_open(struct self_loader *ret_loader);
/* Inside self_loader_hold(): all images, the main program first. */
void self_loader_each(const struct self_loader *loader,
                      void (*each)(void *ctx, struct self_object *object), void *ctx);

#endif
