// SPDX-License-Identifier: Apache-2.0
/* The state of a watch: the program's page, its loops, and the writer. */
#ifndef SONDE_WATCH_SESSION_H
#define SONDE_WATCH_SESSION_H

#include "decide.h"
#include "decide_account.h"
#include "decide_budget.h"
#include "decide_turns.h"
#include "probe_page.h"
#include "sampler_clock.h"
#include "sampler_load.h"
#include "sampler_stall.h"
#include "sampler_trace.h"
#include "watch_program.h"
#include "watch_run.h"
#include "watch_writer.h"

struct sonde__spool_session; /* spool_session.h */
struct sonde__watch_live;    /* watch_live.h */
struct sonde__probe_scopes;  /* probe_scope.h */
struct sonde__watch_scope_list;
struct sonde__watch_outside;
struct sonde__watch_early_stall; /* watch_early.c */

/* Turns before the loop is known (watch_early.h). */
struct sonde__watch_early {
    bool is_turn;                          /* the turn that was looked at last is one */
    bool is_told;                          /* its thread has not come back, which was said */
    struct sonde__watch_early_stall *kept; /* null: none was */
    uint32_t count;
};

/* The times of a stall. */
struct sonde__watch_span {
    uint64_t begin_ns, end_ns; /* end_ns 0: there was none */
    bool is_released;          /* it ended in a wait without a known owner */
};

/* An event loop, which is one slot of the page; or a level of nested scopes (watch_scopes.h). */
struct sonde__watch_loop {
    struct sonde__probe_slot *slot;
    struct sonde__decision decision;
    struct sonde__sampler_stall stall;
    uint32_t kind;         /* enum sonde__report_stall_kind */
    uint64_t threshold_ns; /* of its stalls */
    uint64_t tid;          /* its thread */
    /* when this turn was looked at first: */
    uint64_t first_ns;
    struct sonde__host_thread_look first;
    struct sonde__decide_account begun; /* up to then */
    char waits[48];                     /* what the thread waited for then, or "" */
    uint64_t turns;                     /* including this one */
    uint64_t nested;
    uint64_t loop_changes;
    /* now: */
    uint64_t seen_ns; /* effective time at the last look in this turn */
    uint64_t beat;    /* of the slot, at the last look; and its turns */
    uint64_t beat_turns;
    uint64_t turns_seen;
    uint64_t longs_seen;  /* its turns over the threshold that were handled (probe_page.h) */
    uint64_t unsure_seen; /* likewise */
    uint64_t held_ns;     /* when the program was last seen stopped or traced; 0: never */
    uint64_t over_ns;     /* begin of a turn that does not count: the loop is over; 0: none known */
    uint64_t attended_ns; /* likewise, because another thread attends to the loop */
    uint64_t user_ns;     /* begin of the turn in which it was asked if it waits for its user */
    bool at_user;         /* the answer */
    struct sonde__sampler_clock clock;      /* of its thread */
    struct sonde__host_thread_look latest;  /* the last look */
    bool is_old;                            /* the thread has turned since */
    uint64_t status_ns;                     /* when all of its status was read last */
    struct sonde__thread found;             /* it, if this look read it; else tid is 0 */
    struct sonde__host_thread_look look;    /* the last one in this turn */
    struct sonde__host_thread_look sampled; /* the last one before a sample */
    struct sonde__decide_account account;
    struct sonde__decide_account head; /* when sampling began */
    struct sonde__sampler_load load;   /* of this turn, once sampling has begun */
    uint64_t begin_cpu_ns;             /* CPU time of the watch then */
    uint64_t warned_ns; /* begin of the turn in which a watchdog was nearly due; 0: none */
    struct sonde__watch_span last; /* its last stall that was reported (watch_release.h) */
    bool unread;                   /* no attempt to sample has worked since the last sample */
    struct sonde__watch_early early;
    /* a scope: */
    struct sonde__watch_loop *outer;      /* the level around it; null: none */
    char scope[SONDE__ENTRY_SCOPE_BYTES]; /* its name and limit */
    uint64_t scope_caller;                /* where it was entered */
    uint64_t inner_ns;                    /* time reported for scopes inside it */
    /* in the live file: */
    bool is_live;
    uint32_t live_samples, live_uncovered; /* how many of this stall are there */
    uint64_t live_ns;                      /* its duration there */
    uint32_t live_doubts;                  /* enum sonde__report_doubt bits there */
};

struct sonde__watch_session {
    struct sonde__watch_options options;
    struct sonde__probe_page *page;
    struct sonde__probe_follow *follow;
    int32_t page_fd;       /* of the page's memory, for supervisors of children; or -1 */
    uint32_t claims_seen;  /* pages taken by children (watch_workers.h) */
    uint32_t worker_count; /* places for forked children; 0: a limit leaves no room */
    int32_t attended[SONDE__PROBE_WORKERS]; /* pids that have a supervisor */
    uint32_t attended_count, attended_failed;
    uint32_t forks_seen;
    uint64_t forked_ns;                   /* when forks_seen changed; 0: never */
    struct sonde__probe_worker *worker;   /* in the supervisor of a child: the child's place */
    void *plugin_memory;                  /* options.plugin; null: none */
    struct sonde__watch_outside *outside; /* the program has no probe (watch_outside.h); or null */
    enum sonde__watch_carry carry;
    /* in the supervisor */
    int32_t pid;
    uint64_t main_tid; /* the program's main thread; 0: its number is the pid */
    /* Waits for an event, at most timeout_ns. Returns SONDE__HOST_ bits; see sonde__host_wait(). */
    uint32_t (*wait)(struct sonde__watch_session *session, uint64_t timeout_ns, bool sleeping);
    struct sonde__host_waiter *waiter; /* the supervisor's */
    bool doubt_printed;                /* the waiter's doubt was reported */
    bool killed;                       /* a signal has ended the program */
    void *ctx;                         /* for another `wait` */
    struct sonde__sampler *sampler;
    struct sonde__sampler_trace trace;
    struct sonde__watch_writer *writer;
    struct sonde__spool_session *spool; /* of options.spool; null: none */
    struct sonde__watch_live *live;     /* null: no spool, or no live file */
    uint64_t begin_ns, begin_cpu_ns;    /* of the watch */
    uint64_t searched_ns;               /* when all processes were last searched; 0: never */
    uint64_t idle_since_ns;             /* when all threads became idle; 0: some are not */
    uint64_t stirred_ns;                /* the last look that saw a turn begin or end */
    bool is_announced; /* all looks since the last short wait saw none, and one would wake us */
    uint64_t sampler_retry_ns; /* when to try again to read the program */
    bool sampler_printed;
    bool debugger_printed; /* it was said that one is attached */
    bool scripts_printed;  /* it was said that the program's interpreter is not read */
    uint64_t program_mark; /* sonde__host_program_mark() when the probe had started */
    uint64_t marked_ns;    /* stirred_ns at the last check of it that was left out */
    bool replaced;         /* the program has executed another one */
    char replacement[256]; /* its path; "": not known */
    uint64_t stalls;       /* reported */
    uint64_t longest_ns;   /* longest turn that was seen */
    struct sonde__decide_turns turns;
    bool timed_out;
    char unread[160]; /* the last message about why running threads could not be sampled */
    uint64_t kill_at_ns;
    uint64_t watchdog_ns; /* the period of a service manager's watchdog; 0: none */
    uint64_t looked_ns;   /* when the plugin was last read */
    uint64_t cpu_ns;      /* CPU time of the supervisor when it was last read */
    /* its live file (watch_kept.h); null: none */
    struct sonde__report *kept_like;             /* its header */
    uint64_t kept_ns;                            /* when it was last looked at; 0: never */
    bool keep_failed;                            /* it could not be written then */
    struct sonde__sampler_clock own, own_waiter; /* of the supervisor's threads */
    /* kept open by a supervisor only: */
    struct sonde__host_load_files load_files;
    struct sonde__host_file_kept program_file;
    uint64_t own_ns;      /* of both, and for threads to sample, since the last round; 0: on time */
    uint64_t waited_ns;   /* of it: for threads of a child, which have a sampler of their own */
    uint32_t unaccounted; /* rounds on time since that round */
    uint64_t crowded_ns;  /* until then processors are taken to be short; 0: never were */
    struct sonde__decide_budget budget;
    enum sonde__decide_means means;
    uint32_t spread; /* sonde__decide_budget_spread() */
    /* when the last round began, and its planned wait; UINT64_MAX: no limit */
    uint64_t round_ns, planned_ns;
    /* what own_ns explains: from the looks before to these, with work, a wait and work */
    uint64_t before_ns, rested_ns, woken_ns, inspected_ns;
    bool was_stopped;        /* in that wait, by what this thread did */
    uint64_t due_ns;         /* when this round was due; 0: the watch slept until woken */
    uint64_t unsure_count;   /* long turns that no look saw, and that may have been no stall */
    uint64_t unsure_ns;      /* the longest of them that has stamps */
    uint64_t attended_turns; /* turns not counted because other threads attended to the loops */
    uint64_t users_ns;       /* time in turns that waited for a terminal, not counted */
    uint32_t late_count;     /* rounds that were late by more than the threshold */
    uint64_t late_ns;        /* the longest delay */
    uint64_t checked_ns;     /* when rarely changing state of the program was last checked */
    bool checks;             /* this round checks it */
    struct sonde__watch_loop loops[SONDE__PROBE_SLOTS];
    /* the launch of the program (watch_launch.h) */
    bool launches; /* it is watched and has not ended */
    struct sonde__watch_loop launch;
    struct sonde__probe_slot launch_slot;
    uint64_t launch_loop_ns, launch_known_ns; /* the loop's first wait; when it became known */
    /* of this process: */
    /* Reads what the program tells about itself and this thread's loop; false: nothing. May be
     * null. */
    bool (*annotate)(const struct sonde__probe_slot *slot, struct sonde__sampler_notes *ret_notes);
    _Atomic uint32_t *stalled; /* current stalls, for the program to read; null: not wanted */
    struct sonde__probe_scopes *scopes;         /* null: there are none */
    struct sonde__watch_scope_list *scope_list; /* null: no scope yet */
    uint32_t used; /* slots that have had a thread: the probe takes the first free one */
};

static inline bool sonde__watch_is_main(const struct sonde__watch_session *s, uint64_t tid)
{
    return tid == (s->main_tid != 0 ? s->main_tid : (uint64_t)s->pid);
}

/* Is a turn that began at since_ns not watched, because the program paused the watch, or was in the
 * background? */
static inline bool sonde__watch_is_paused(const struct sonde__watch_session *s, uint64_t since_ns)
{
    uint64_t background_ns = atomic_load_explicit(&s->page->background_ns, memory_order_acquire);
    return (background_ns != 0 && since_ns > background_ns) ||
           atomic_load_explicit(&s->page->paused, memory_order_acquire) != 0 ||
           since_ns < atomic_load_explicit(&s->page->resumed_ns, memory_order_relaxed);
}

#endif
