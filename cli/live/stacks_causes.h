// SPDX-License-Identifier: Apache-2.0
/* Finds what blocked threads of a process wait for, and who holds it. Runs after stacks were
 * captured, because it is slower and may search all processes. */
#ifndef SONDE_STACKS_CAUSES_H
#define SONDE_STACKS_CAUSES_H

#include "cause.h"
#include "report_model.h"
#include "stacks_capture.h"

#define SONDE__STACKS_CIRCLES_MAX 16u

struct sonde__stacks_causes {
    struct sonde__cause *list; /* one per thread of the stacks; null: unknown */
    uint32_t count;
    int32_t pid;
    struct sonde__cause_circle *circles;
    uint32_t circle_count;
};

/* Finds nothing for a core, or without memory. Ownership: _done(). */
void sonde__stacks_causes_find(struct sonde__target *target, struct sonde__stacks *stacks,
                               struct sonde__stacks_causes *ret_causes);
void sonde__stacks_causes_done(struct sonde__stacks_causes *causes);

/* Complete the record of thread `index`, and add its wait to the report. */
void sonde__stacks_causes_add(const struct sonde__stacks_causes *causes, uint32_t index,
                              struct sonde__report *report, struct sonde__report_thread *thread);
void sonde__stacks_causes_add_circles(const struct sonde__stacks_causes *causes,
                                      struct sonde__report *report);

#endif
