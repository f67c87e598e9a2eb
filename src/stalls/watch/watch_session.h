// SPDX-License-Identifier: Apache-2.0
/* The state of a watch: the page of the program, each of its loops, and the writer. */
#ifndef SONDE_WATCH_SESSION_H
#define SONDE_WATCH_SESSION_H

#include "probe_page.h"
#include "watch_account.h"
#include "watch_budget.h"
#include "watch_clock.h"
#include "watch_decide.h"
#include "watch_load.h"
#include "watch_program.h"
#include "watch_run.h"
#include "watch_stall.h"
#include "watch_trace.h"
#include "watch_turns.h"
#include "watch_writer.h"

struct sonde__spool_session; /* spool_session.h */
struct sonde__watch_live;    /* watch_live.h */
struct sonde__probe_scopes;  /* probe_scope.h */
struct sonde__watch_scope_list;
struct sonde__watch_outside;

/* An event loop: one slot of the page. Or a level of nested scopes (watch_scopes.h). */
struct sonde__watch_loop {
    struct sonde__probe_slot *slot;
    struct sonde__watch_decision decision;
    struct sonde__watch_stall stall;
    uint32_t kind;         /* enum sonde__report_stall_kind */
    uint64_t threshold_ns; /* of its stalls */
    uint32_t tid;          /* the thread that the decision is about */
    /* when this turn was looked at first: */
    uint64_t first_ns;
    struct sonde__host_thread_look first;
    char waits[48]; /* what it waited for then, or "" */
    uint64_t turns; /* with this one */
    uint64_t nested;
    uint64_t loop_changes;
    /* now: */
    uint64_t seen_ns; /* the last look in this turn: its effective time */
    uint64_t turns_seen;
    uint64_t longs_seen;  /* of its turns over the threshold (probe_page.h) */
    uint64_t unsure_seen; /* likewise */
    uint64_t held_ns;     /* when the program was last seen stopped or traced; 0: never */
    uint64_t over_ns; /* the begin of a turn that is none, since the loop is over; 0: not known */
    uint64_t attended_ns;                   /* likewise, since another thread attends to the loop */
    struct sonde__watch_clock clock;        /* of its thread */
    struct sonde__host_thread_look latest;  /* the last look of all */
    bool is_old;                            /* its thread has turned since */
    struct sonde__host_thread_look look;    /* the last one in this turn */
    struct sonde__host_thread_look sampled; /* the last one that a sample followed */
    struct sonde__watch_account account;
    struct sonde__watch_account head; /* when sampling began */
    struct sonde__watch_load load;    /* of this turn, once sampling has begun */
    uint64_t begin_cpu_ns;            /* likewise: CPU time of the watch */
    uint64_t warned_ns; /* the begin of the turn in which a watchdog was nearly due; 0: none */
    bool unread;        /* no sample could be taken since the last one */
    /* a scope: */
    struct sonde__watch_loop *outer;      /* the level around it; null: there is none */
    char scope[SONDE__WATCH_SCOPE_BYTES]; /* what it is called, and its limit */
    uint64_t scope_caller;                /* where it was entered */
    uint64_t inner_ns;                    /* reported of the scopes inside it, meanwhile */
    /* in the live file: */
    bool is_live;
    uint32_t live_samples, live_uncovered; /* so many of them, of this stall */
    uint64_t live_ns;                      /* its duration there */
};

struct sonde__watch_session {
    struct sonde__watch_options options;
    struct sonde__probe_page *page;
    struct sonde__probe_follow *follow;
    int32_t page_fd;       /* of the page's memory, for supervisors of children; or -1 */
    uint32_t claims_seen;  /* by children (watch_workers.h) */
    uint32_t worker_count; /* places for forked children; 0: memory is limited */
    int32_t attended[SONDE__PROBE_WORKERS]; /* pids that have a supervisor */
    uint32_t attended_count, attended_failed;
    uint32_t forks_seen;
    uint64_t forked_ns;                   /* when that changed; 0: never */
    struct sonde__probe_worker *worker;   /* this is the supervisor of a child: its place */
    void *plugin_memory;                  /* options.plugin; null: none */
    struct sonde__watch_outside *outside; /* the program has no probe (watch_outside.h); or null */
    enum sonde__watch_carry carry;
    /* in the supervisor */
    int32_t pid;
    /* Until something happens, at most timeout_ns: SONDE__HOST_ bits. See sonde__host_wait(). */
    uint32_t (*wait)(struct sonde__watch_session *session, uint64_t timeout_ns, bool sleeping);
    struct sonde__host_waiter *waiter; /* the supervisor's */
    bool doubt_said;                   /* of the waiter */
    bool killed;                       /* a signal has ended the program */
    void *ctx;                         /* for another `wait` */
    struct sonde__watch_sampler *sampler;
    struct sonde__watch_trace trace;
    struct sonde__watch_writer *writer;
    struct sonde__spool_session *spool; /* of options.spool; null: none */
    struct sonde__watch_live *live;     /* null: no spool, or no live file */
    uint64_t begin_ns, begin_cpu_ns;    /* of the watch */
    uint64_t searched_ns;               /* when all processes were last searched; 0: never */
    uint64_t idle_since_ns;             /* all threads have been idle since then; 0: some are not */
    uint64_t sampler_retry_ns;          /* the program could not be read: no new attempt before */
    bool sampler_said;
    uint64_t program_mark; /* sonde__host_program_mark() when the probe had started */
    bool replaced;         /* the program has executed another one */
    uint64_t stalls;       /* reported */
    uint64_t longest_ns;   /* of the turns that were looked at */
    struct sonde__watch_turns turns;
    bool timed_out;
    char unread[160]; /* why running threads could not be sampled: the last message */
    uint64_t kill_at_ns;
    uint64_t watchdog_ns; /* the period of a service manager's watchdog; 0: none */
    uint64_t looked_ns;   /* when the plugin was read */
    uint64_t cpu_ns;      /* CPU time of the supervisor until the last round */
    struct sonde__watch_clock own, own_waiter; /* of the supervisor's threads */
    uint64_t own_ns;                           /* both, in that round and the pause after it */
    struct sonde__watch_budget budget;
    enum sonde__watch_means means;
    /* the begin of the last round, and how long it meant to wait; UINT64_MAX: as long as it takes
     */
    uint64_t round_ns, planned_ns;
    uint64_t due_ns;         /* when this round was due; 0: the watch slept until it was woken */
    uint64_t unsure_count;   /* turns that nobody saw, and that may have been no stall */
    uint64_t attended_turns; /* that were none, since other threads attended to the loops */
    uint32_t late_count;     /* rounds that were late by more than the threshold */
    uint64_t late_ns;        /* the worst of them */
    uint64_t checked_ns;     /* when the program was last checked for what changes rarely */
    bool checks;             /* it is in this round */
    struct sonde__watch_loop loops[SONDE__PROBE_SLOTS];
    /* the launch of the program (watch_launch.h) */
    bool launches; /* it is watched, and not over */
    struct sonde__watch_loop launch;
    struct sonde__probe_slot launch_slot;
    uint64_t launch_loop_ns, launch_known_ns; /* the loop's first wait; since when it is known */
    /* of this process: */
    /* What the program says of itself, of this thread's loop; false: nothing. Null: never. */
    bool (*annotate)(const struct sonde__probe_slot *slot, struct sonde__watch_notes *ret_notes);
    _Atomic uint32_t *stalled; /* stalls that last, counted for the program; null: nobody asks */
    struct sonde__probe_scopes *scopes;         /* null: there are none */
    struct sonde__watch_scope_list *scope_list; /* null: no scope yet */
    uint32_t used; /* loops that have had a thread: the probe takes the first free slot */
};

/* A turn that began then is not watched: the program paused the watch. */
static inline bool sonde__watch_is_paused(const struct sonde__watch_session *s, uint64_t since_ns)
{
    return atomic_load_explicit(&s->page->paused, memory_order_acquire) != 0 ||
           since_ns < atomic_load_explicit(&s->page->resumed_ns, memory_order_relaxed);
}

#endif
