// SPDX-License-Identifier: Apache-2.0
/* The supervisor: looks at the turn page, decides, samples, reports. Runs in a process of its own
 * (host_run.h) and ends with the program. */
#ifndef SONDE_WATCH_SUPERVISE_H
#define SONDE_WATCH_SUPERVISE_H

#include "probe_page.h"
#include "watch_decide.h"
#include "watch_output.h"
#include "watch_program.h"
#include "watch_run.h"
#include "watch_stall.h"

struct sonde__watch_session {
    struct sonde__watch_options options;
    struct sonde__probe_page *page;
    enum sonde__watch_carry carry;
    /* in the supervisor */
    int32_t pid;
    struct sonde__host_waiter *waiter;
    struct sonde__watch_camera *camera;
    struct sonde__watch_output *output;
    uint64_t begin_ns;
    uint64_t idle_since_ns;   /* all threads have been idle since then; 0: some are not */
    uint64_t camera_retry_ns; /* the program could not be read: not before then again */
    bool camera_said;
    uint64_t program_mark; /* sonde__host_program_mark() when the probe had started */
    bool ended, timed_out;
    uint64_t kill_at_ns;
    struct sonde__watch_decision decisions[SONDE__PROBE_SLOTS];
    struct sonde__watch_stall stalls[SONDE__PROBE_SLOTS];
    uint32_t tids[SONDE__PROBE_SLOTS];         /* whom the decision is about */
    uint64_t nested[SONDE__PROBE_SLOTS];       /* when the sampling began */
    uint64_t loop_changes[SONDE__PROBE_SLOTS]; /* likewise */
};

/* Body of the supervisor process; ctx is the session. Never returns. */
void sonde__watch_supervise(void *ctx, int32_t pid);

#endif
