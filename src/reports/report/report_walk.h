// SPDX-License-Identifier: Apache-2.0
/* Walks a stack in display order, innermost first: the calls inlined into a frame, the frame, then
 * the functions that left by a tail call. All views use it, so all show the same. Context: any
 * thread. */
#ifndef SONDE_REPORT_WALK_H
#define SONDE_REPORT_WALK_H

#include "report_model.h"

enum sonde__report_step_kind {
    SONDE__REPORT_STEP_PHYSICAL,  /* a call that was captured */
    SONDE__REPORT_STEP_INLINED,   /* runs at the pc of the next physical frame */
    SONDE__REPORT_STEP_TAIL_CALL, /* inferred: it left by a jump and is not on the stack */
    SONDE__REPORT_STEP_ASYNC,     /* the awaiting function; not on the stack */
    SONDE__REPORT_STEP_GAP,       /* frames that were left out */
    SONDE__REPORT_STEP_SCRIPT,    /* a script's function, run by the next physical frame */
};

struct sonde__report_step {
    enum sonde__report_step_kind kind;
    bool runs_script; /* of the frame that runs the script frames before it */
    uint32_t task;    /* string id; at the outermost frame of an asynchronous task */
    uint32_t creator; /* a frame: where that task was created; 0: not known */
    uint64_t depth; /* inlined call: of the frame that runs it; tail call: of the frame that it led
                     * to; gap: of the first frame left out */
    const struct sonde__report_frame *frame;     /* inlined call: the frame that it is in */
    const struct sonde__report_inlined *inlined; /* of an inlined call */
};

/* Does the stack have script frames? */
bool sonde__report_has_script(const struct sonde__report *report, uint32_t stack);
/* Is the frame the interpreter's own? Script frames show what it runs. */
bool sonde__report_is_interpreter(const struct sonde__report *report,
                                  const struct sonde__report_frame *frame);

/* What views show of a step: function and source (string ids, 0: unknown). */
struct sonde__report_shown {
    uint32_t name, file, line;
};
struct sonde__report_shown sonde__report_shown(const struct sonde__report_step *step);

struct sonde__report_walk {
    const struct sonde__report *report;
    uint32_t node; /* next node; 0: the end */
    uint32_t part; /* position within the node: inlined calls, the frame, tail calls */
    uint64_t depth;
    uint32_t awaiter; /* innermost awaiting frame of the nodes so far; its id is smaller */
    bool runs_script; /* the next node does */
};

void sonde__report_walk_begin(struct sonde__report_walk *walk, const struct sonde__report *report,
                              uint32_t stack);
/* False: end of the stack. */
bool sonde__report_walk_next(struct sonde__report_walk *walk, struct sonde__report_step *ret_step);

#endif
