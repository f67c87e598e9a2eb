// SPDX-License-Identifier: Apache-2.0
/* Names of code that no image has, of the program that is looked at: from the files that its
 * runtime writes (symfile_jit.h), and from GDB's list in its memory. Read when such code is first
 * met, and again when there may be more of it: not more often than once a second, and for at most
 * some 2 % of the time. Context: as drain_stack.h. */
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
    uint64_t next_ns; /* when it may be read again */
    uint64_t noted;   /* notes that the report has */
};

void drain_jit_done(struct drain_jit *jit);

/* What the code at an address of no image is. False: unknown. */
bool drain_jit_find(struct drain_jit *jit, struct sonde__report *report, uint64_t address,
                    struct sonde__jit_code *ret_code);

#endif
