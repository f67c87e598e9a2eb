// SPDX-License-Identifier: Apache-2.0
/* Runs the process that reads a symbol file (converter.h), and reads what it says. That process may
 * say anything: each line is checked. Context: one conversion at a time. */
#ifndef SONDE_COLLECTOR_SANDBOX_H
#define SONDE_COLLECTOR_SANDBOX_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "image_set.h"

struct sandbox {
    const char *program; /* sonde-collector */
    uint32_t memory_mb;
    uint32_t seconds;      /* it is killed after them */
    atomic_bool is_ending; /* set: kill it, and convert no more */
};

/* A part of the file. */
struct sandbox_part {
    bool is_made;
    struct sonde__build_id id;
    char arch[16];
    uint64_t offset, size; /* of the index in the output */
    uint32_t units, bad_units;
    bool is_debug;
    char name[256], why[256]; /* why: it gives no index */
};
typedef void sandbox_each(void *ctx, const struct sandbox_part *part);

/* Convert the file of descriptor `input` into indexes in that of `output`; `each` is called for
 * each part meanwhile. Returns null, or why it did not come to its end (static text): what was
 * given before counts. */
const char *sandbox_convert(struct sandbox *sandbox, int input, int output, sandbox_each *each,
                            void *ctx);

#endif
