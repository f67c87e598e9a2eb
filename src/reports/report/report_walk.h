// SPDX-License-Identifier: Apache-2.0
/* A stack in the order of the views, innermost first: before each captured frame the calls inlined
 * into its function, after it the functions that left by a tail call. All views use this walk and
 * so show the same. Context: any thread. */
#ifndef SONDE_REPORT_WALK_H
#define SONDE_REPORT_WALK_H

#include "report_model.h"

enum sonde__report_step_kind {
    SONDE__REPORT_STEP_PHYSICAL,  /* a call that was captured */
    SONDE__REPORT_STEP_INLINED,   /* runs at the pc of the next physical frame */
    SONDE__REPORT_STEP_TAIL_CALL, /* inferred: it left by a jump, so it is not on the stack */
    SONDE__REPORT_STEP_ASYNC,     /* the awaiting function: not on the stack */
    SONDE__REPORT_STEP_GAP,       /* frames that were left out */
    SONDE__REPORT_STEP_SCRIPT,    /* a script's function: runs on the next physical frame */
};

struct sonde__report_step {
    enum sonde__report_step_kind kind;
    uint32_t task;  /* string id, of an asynchronous task's outermost frame */
    uint64_t depth; /* of a physical frame; of an inlined call, of the frame that runs it; of a tail
                       call, of the frame that it led to; of a gap, of the first one left out */
    const struct sonde__report_frame *frame;     /* of an inlined call: what it was inlined into */
    const struct sonde__report_inlined *inlined; /* of an inlined call */
};

/* Has the stack script frames? */
bool sonde__report_has_script(const struct sonde__report *report, uint32_t stack);
/* Is the frame the interpreter's own? Script frames say what it runs. */
bool sonde__report_is_interpreter(const struct sonde__report *report,
                                  const struct sonde__report_frame *frame);

/* What is shown: the function's name and its place in the source (string ids, 0: not known). */
struct sonde__report_shown {
    uint32_t name, file, line;
};
struct sonde__report_shown sonde__report_shown(const struct sonde__report_step *step);

struct sonde__report_walk {
    const struct sonde__report *report;
    uint32_t node; /* the next one; 0: the end */
    uint32_t part; /* of what belongs to it: inlined calls, the frame, tail calls */
    uint64_t depth;
    uint32_t awaiter; /* the innermost one of the nodes so far: what awaits them, a stack of its
                         own; its id is smaller than theirs */
};

void sonde__report_walk_begin(struct sonde__report_walk *walk, const struct sonde__report *report,
                              uint32_t stack);
/* False: the end. */
bool sonde__report_walk_next(struct sonde__report_walk *walk, struct sonde__report_step *ret_step);

#endif
