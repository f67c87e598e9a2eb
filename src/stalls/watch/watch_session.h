// SPDX-License-Identifier: Apache-2.0
/* The state of a watch: the page of the program, each of its loops, and the output. */
#ifndef SONDE_WATCH_SESSION_H
#define SONDE_WATCH_SESSION_H

#include "probe_page.h"
#include "watch_decide.h"
#include "watch_output.h"
#include "watch_program.h"
#include "watch_run.h"
#include "watch_stall.h"

/* An event loop: one slot of the page. */
struct sonde__watch_loop {
    struct sonde__probe_slot *slot;
    struct sonde__watch_decision decision;
    struct sonde__watch_stall stall;
    uint32_t tid;          /* the thread that the decision is about */
    uint64_t turns;        /* with the sampled one */
    uint64_t nested;       /* when the sampling began */
    uint64_t loop_changes; /* likewise */
};

struct sonde__watch_session {
    struct sonde__watch_options options;
    struct sonde__probe_page *page;
    struct sonde__probe_follow *follow;
    void *plugin_memory; /* options.plugin; null: none */
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
    uint64_t sampler_retry_ns; /* the program could not be read: no new attempt before */
    bool sampler_said;
    uint64_t program_mark; /* sonde__host_program_mark() when the probe had started */
    bool timed_out;
    char unread[160]; /* why running threads could not be sampled: the last message */
    uint64_t kill_at_ns;
    uint64_t looked_ns; /* when the plugin was read */
    uint64_t cpu_ns;    /* CPU time of the supervisor until the last round */
    uint64_t own_ns;    /* in that round and the pause after it */
    struct sonde__watch_loop loops[SONDE__PROBE_SLOTS];
};

#endif
