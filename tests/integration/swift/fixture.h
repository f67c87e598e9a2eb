// SPDX-License-Identifier: Apache-2.0
/* Three async functions that await one another, under an executor:
 *
 *     task_done <- outer <- middle <- inner
 *
 * `inner` and the continuations `middle_resume` and `outer_resume` each call observe() and go on
 * with the context's continuation by a tail call, as Swift's do. Two builds: with the tag in saved
 * frame pointers (always_) and without (never_). */
#ifndef FIXTURE_H
#define FIXTURE_H

#include <stdint.h>

struct swift_task { /* what the walk reads of AsyncTask: the id */
    char head[36];
    uint32_t id;
};

/* Called by `inner` (where 0), `middle_resume` (1) and `outer_resume` (2). */
void observe(int where);

/* The executor: runs the whole task. */
void always_run(void);
void never_run(void);

/* Addresses of the three continuations of a build, in the order of a chain that starts at inner. */
void always_continuations(uint64_t ret_pcs[3]);
void never_continuations(uint64_t ret_pcs[3]);

/* `inner`, awaited by `depth` recursive calls of itself, in contexts that the caller gives. */
struct context;
void always_run_chain(struct context *innermost);

#endif
