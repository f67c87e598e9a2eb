// SPDX-License-Identifier: Apache-2.0
/* Names of a target's JIT code, from the files of its runtime (symfile_jit.h) and from GDB's list
 * in its memory. Read when the first pc is in no image, and again later, at most once a second and
 * 2 % of the time. Context: as drain_stack.h. */
#ifndef SONDE_DRAIN_JIT_H
#define SONDE_DRAIN_JIT_H

#include "jit_names.h"
#include "report_model.h"
#include "symfile_cache.h"
#include "target.h"

struct drain_jit {
    struct sonde__target *target;
    struct sonde__symfile_cache *symbols; /* null: no names */
    struct sonde__jit names;
    bool is_read;
    uint64_t next_ns; /* earliest time of the next reading */
    uint64_t noted;   /* notes added to the report */
};

void drain_jit_done(struct drain_jit *jit);

/* The JIT code at an address. False: unknown. */
bool drain_jit_find(struct drain_jit *jit, struct sonde__report *report, uint64_t address,
                    struct sonde__jit_code *ret_code);

#endif
