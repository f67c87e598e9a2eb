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
    struct sonde__probe_follow *follow;
    void *guest_memory; /* options.plugin; null: none */
    enum sonde__watch_carry carry;
    /* in the supervisor */
    int32_t pid;
    /* Until something happens, at most timeout_ns: SONDE__HOST_ bits. See sonde__host_wait(). */
    uint32_t (*wait)(struct sonde__watch_session *session, uint64_t timeout_ns, bool sleeping);
    struct sonde__host_waiter *waiter; /* the supervisor's */
    bool doubt_said;                   /* of the waiter */
    void *ctx;                         /* for another `wait` */
    struct sonde__watch_sampler *sampler;
    struct sonde__watch_output *output;
    uint64_t begin_ns;
    uint64_t idle_since_ns;    /* all threads have been idle since then; 0: some are not */
    uint64_t sampler_retry_ns; /* the program could not be read: not before then again */
    bool sampler_said;
    uint64_t program_mark; /* sonde__host_program_mark() when the probe had started */
    bool ended, timed_out;
    char unread[160]; /* why a running thread could not be sampled, as last said */
    uint64_t kill_at_ns;
    uint64_t looked_ns; /* when the plugin was looked at */
    uint64_t cpu_ns;    /* spent by the supervisor until the last round */
    uint64_t own_ns;    /* in that round and the pause after it */
    struct sonde__watch_decision decisions[SONDE__PROBE_SLOTS];
    struct sonde__watch_stall stalls[SONDE__PROBE_SLOTS];
    uint32_t tids[SONDE__PROBE_SLOTS];         /* whom the decision is about */
    uint64_t turns[SONDE__PROBE_SLOTS];        /* with the one that is sampled */
    uint64_t nested[SONDE__PROBE_SLOTS];       /* when the sampling began */
    uint64_t loop_changes[SONDE__PROBE_SLOTS]; /* likewise */
};

/* Watch until `wait` says that it is over, write the end of the report, and free sampler and
 * output. The caller has set options, page, carry, pid, wait and output. */
void sonde__watch_session_run(struct sonde__watch_session *session);

/* Body of the supervisor process; ctx is the session. Never returns. */
void sonde__watch_supervise(void *ctx, int32_t pid);

#endif
