// SPDX-License-Identifier: Apache-2.0
/* Statistics of the samples of a stall; pure functions of the model.
 *
 * Samples are weighted by the time that they represent. Frames are grouped by function (image and
 * name; without a name, image and function start if known, else pc), so two calls from one function
 * are one place. */
#ifndef SONDE_REPORT_ANALYSE_H
#define SONDE_REPORT_ANALYSE_H

#include "report_model.h"

/* The dominant path follows a child with at least this share of its parent's weight. */
#define SONDE__REPORT_DOMINANT_PERCENT 60u
/* A run of equal samples shorter than 1/20 of the stall joins its neighbour, so that a program that
 * commits in a loop, and alternates between calls, has one phase. */
#define SONDE__REPORT_PHASE_SHARE 20u
#define SONDE__REPORT_PHASES_MAX  SONDE__REPORT_PHASE_SHARE

/* A function with its weight. frame: id of one of its frames; 0: none. */
struct sonde__report_weight {
    uint32_t frame;
    uint64_t weight_ns;
};

/* A part of the stall in which the thread mostly did one thing. */
struct sonde__report_phase {
    uint64_t begin_ns;    /* since the stall began */
    uint64_t duration_ns; /* weight of all its samples */
    uint64_t own_ns;      /* of the samples that it is named after */
    uint32_t kind;        /* enum sonde__report_phase_kind */
    int64_t syscall;      /* number + 1, 0: none */
    uint32_t detail;      /* string id */
    uint32_t stack;       /* of its heaviest sample */
    uint32_t frame;       /* where its stack leaves the dominant path */
};

struct sonde__report_analysis {
    uint64_t weight_ns;  /* of all samples */
    uint64_t running_ns; /* of the samples in this state */
    uint64_t blocked_ns;
    uint64_t disk_ns;
    uint64_t unknown_ns;
    struct sonde__report_phase phases[SONDE__REPORT_PHASES_MAX];
    uint32_t phase_count;
    /* from the thread's entry inwards; in the analysis' memory */
    struct sonde__report_weight *path;
    uint32_t path_count;
    struct sonde__report_weight heaviest;     /* by the innermost frame */
    struct sonde__report_weight heaviest_app; /* by the innermost frame of the program's own code */
    uint32_t stack;                           /* the stack with the most weight */
    uint64_t stack_ns;
};

/* Is the image the program's own code? The reader's rules decide first, then the image's flags,
 * then its path (image_app.h). */
bool sonde__report_is_app(const struct sonde__report *report, uint32_t image);

/* Is a frame's function the program's own? A script function is, unless its file belongs to the
 * language's library or is no file ("<frozen importlib>"). */
bool sonde__report_frame_is_app(const struct sonde__report *report,
                                const struct sonde__report_frame *frame);

/* Returns OK | MEMORY. Ownership: sonde__report_analysis_done(). */
SONDE_NODISCARD enum sonde_status
sonde__report_analyse(const struct sonde__report *report, const struct sonde__report_stall *stall,
                      struct sonde__report_analysis *ret_analysis);
void sonde__report_analysis_done(struct sonde__report_analysis *analysis);

#endif
