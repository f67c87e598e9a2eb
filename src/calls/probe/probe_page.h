// SPDX-License-Identifier: Apache-2.0
/* The turn page: what a watched program says about its event loops, in memory that its supervisor
 * shares.
 *
 * Invariant: only its thread writes a slot, except `abandon`, `stamp`, and `tid`, which the
 * supervisor clears when the thread is gone. `beat` is one word, so time and state never disagree.
 * Both sides may die at any instant; there are no locks. The layout is private to one build:
 * `version` is compared, because the probe and the supervisor are two files that could be of two
 * builds. Context: handler. */
#ifndef SONDE_PROBE_PAGE_H
#define SONDE_PROBE_PAGE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "probe_sample.h"

#define SONDE__PROBE_VERSION 21u
/* Threads that wait in poll, epoll and the like at the same time. The largest program of our
 * tests has a quarter of this. More threads are not watched; `slots_lost` counts them. */
#define SONDE__PROBE_SLOTS 256u
/* Waits that may turn out to be the loop. If a thread uses more, the least used one is dropped
 * and counted in `candidates_lost`. */
#define SONDE__PROBE_CANDIDATES 6u
/* Long turns that a slot keeps: a watch that is two seconds late misses at most eight of the
 * default threshold. More are counted, not described. */
#define SONDE__PROBE_LONGS 8u

/* What a wait waits on. The numbers are those of LoopKind in proto/sonde/v1/report.proto. */
enum sonde__probe_kind {
    SONDE__PROBE_NONE,
    SONDE__PROBE_EPOLL,  /* object: the epoll descriptor */
    SONDE__PROBE_POLL,   /* object: the first descriptor */
    SONDE__PROBE_SELECT, /* object: nfds */
    SONDE__PROBE_COND,   /* object: address of the condition variable */
    SONDE__PROBE_SIGNAL, /* object: which call */
    SONDE__PROBE_OTHER,  /* object: descriptor (io_uring) */
    /* Not a hooked wait: the program calls sonde_idle_enter(), or sonde_beat() (object:
     * SONDE__PROBE_BEATS). */
    SONDE__PROBE_MARKS,
    SONDE__PROBE_RUN_LOOP, /* likewise: the observers of the main thread's run loop. object: none */
    SONDE__PROBE_SEM,      /* object: address of the semaphore */
    SONDE__PROBE_FUTEX,    /* object: address of the word */
    SONDE__PROBE_SLEEP,    /* object: return address */
    SONDE__PROBE_TIMER,    /* object: the timer's descriptor */
    SONDE__PROBE_CHILD,    /* for a child or a thread to end; never a loop. object: none */
};

#define SONDE__PROBE_BEATS 1u

/* Low bits of `beat`; the rest is CLOCK_MONOTONIC_COARSE in nanoseconds, of the last change. */
enum sonde__probe_state {
    SONDE__PROBE_IDLE = 0, /* in the loop's own wait, or no loop is known */
    SONDE__PROBE_BUSY = 1, /* away from it */
    /* away from it, in a wait for the loop's object, which may be the loop's own wait. This time
     * does not count. */
    SONDE__PROBE_DOUBT = 2,
    SONDE__PROBE_EARLY = 3, /* no loop is known; away from a wait that may be it (probe_early.h) */
};
#define SONDE__PROBE_STATE_MASK 3u

/* Who wants to know when a turn ends. */
enum sonde__probe_stamp {
    SONDE__PROBE_STAMP_NONE,
    SONDE__PROBE_STAMP_END,  /* the supervisor, which waits for ended_ns to be written */
    SONDE__PROBE_STAMP_LONG, /* the probe, for turns that the supervisor may have missed */
};

struct sonde__probe_candidate {
    uint32_t kind; /* enum sonde__probe_kind; NONE: free */
    uint32_t waits;
    uint64_t object;
    uint64_t sp;      /* stack address of the outermost wait of this key */
    uint64_t caller;  /* return address of that wait: a place in the loop */
    uint64_t level;   /* where the frame of its caller begins; 0: not known */
    uint64_t last_sp; /* of the last wait */
    uint32_t steady;  /* waits in a row at one place */
    uint32_t moves;   /* waits at another place than the one before; of the loop: since it is one */
    uint32_t streak;  /* waits in a row with few turns of the loop between them */
    uint32_t seen;    /* number of the last wait among the thread's */
    uint64_t turns;   /* of the loop at that wait */
    uint64_t first_ns; /* the first wait */
    uint64_t paths[2]; /* of the last waits, different ones; of an epoll descriptor: their places */
    uint32_t alike;    /* waits in a row of one of these */
    bool varied;       /* was taken for the loop, but is called from too many places */
    bool waited;       /* it has not only asked (timeout 0) */
};

/* A turn over the threshold that has ended, by its own stamps (CLOCK_MONOTONIC_COARSE). */
struct sonde__probe_long {
    uint64_t begin_ns, end_ns;
    uint64_t turns;   /* of the loop, with this one */
    uint64_t changes; /* loop_changes at its end */
    uint64_t object;  /* of the loop */
    int64_t long_ns;  /* of the slot */
    bool early;       /* no loop was known (probe_early.h) */
};

struct sonde__probe_slot {
    /* The fields that each turn of a known loop reads and writes, in one cache line. */
    _Alignas(128) _Atomic uint64_t tid; /* 0: free; Darwin's have 64 bits */
    uint32_t entered;       /* a wait is being recorded: a handler must not record one */
    _Atomic uint32_t stamp; /* enum sonde__probe_stamp; the next wait sets it back to NONE */
    _Atomic uint64_t beat;
    _Atomic uint64_t turns;
    _Atomic uint64_t begun_ns; /* the turn of the loop; 0: none was */
    _Atomic int64_t long_ns;   /* turns of at least this length are kept; INT64_MAX: none */
    uint32_t yield_waits;      /* of a rival, since the loop's last turn that counts */
    uint32_t asked;    /* turns since the loop last waited; in these it polled without waiting */
    uint64_t known_sp; /* loop.sp, once learning is over; 0 before */
    /* The loop; kind NONE: not known yet. Read by the supervisor for the report only. */
    struct sonde__probe_candidate loop;
    _Atomic uint64_t phase;  /* address of a text that describes what the loop does now; 0: none */
    _Atomic uint64_t nested; /* waits inside turns */
    uint64_t loop_changes;   /* how often another wait became the loop */
    /* 1: this thread was busy for so long, in so many waits, that the known loop must have
     * ended. Set by the supervisor; the next rival becomes the loop. */
    _Atomic uint32_t abandon;
    _Atomic uint64_t ended_ns;   /* of the turn that the supervisor asked about; 0: not ended */
    _Atomic uint64_t stamped_ns; /* end of the last turn whose end was asked for by anybody */
    uint64_t doubt_beat;         /* before the wait in doubt; 0: none */
    uint64_t doubt_ns;           /* when that began */
    uint64_t waited_ns;  /* time the loop has waited since it was recognized, as far as measured */
    uint64_t turn_ns;    /* when the loop's wait began, if it is measured */
    uint32_t measured;   /* 1: it is */
    uint64_t site_turns; /* turns that began at another wait of the loop's level */
    uint32_t waits;      /* waits recorded, as a clock for the candidates */
    uint32_t walks;      /* waits whose path was asked for */
    uint32_t lock_waits; /* for a lock of a language's runtime, which are not recorded */
    uint32_t rival;      /* index of that rival */
    uint64_t rival_ns;   /* since when */
    uint64_t candidates_lost;
    uint32_t early; /* 1 + index of the candidate that may be the loop; 0: none */
    uint64_t early_object, early_caller, early_sp; /* of its waits */
    uint32_t early_unsure;       /* turns since then that a wait may have hidden, and were long */
    uint64_t early_since_ns;     /* the first one, since when there was no break */
    _Atomic uint64_t early_lost; /* `beat` of the last early turn that has no end */
    /* early_since_ns of what proved to be the loop; UINT64_MAX: another wait did; 0: not known */
    _Atomic uint64_t early_proved_ns;
    /* When a wait that may be outside the loop made the thread idle within a turn; 0: none did */
    uint64_t hidden_ns;
    /* Turns that may have been long, or were followed by a long wait, or hidden by one; their end
     * was not stamped. */
    _Atomic uint64_t unsure_turns;
    /* Turns kept. Number n is in longs[n % SONDE__PROBE_LONGS] until n + LONGS overwrites it, so
     * a late watch finds the turns that it has missed. */
    _Atomic uint64_t long_turns;
    struct sonde__probe_long longs[SONDE__PROBE_LONGS];
    struct sonde__probe_candidate candidates[SONDE__PROBE_CANDIDATES];
};

struct sonde__probe_page {
    uint32_t version;
    uint32_t slot_count;
    _Atomic int32_t supervisor; /* pid */
    _Atomic int32_t pid;        /* of the program; the probe sets it when it starts */
    /* 1: the supervisor sleeps on this word until a thread becomes busy. */
    _Alignas(64) _Atomic uint32_t sleeping;
    /* When the supervisor last looked. If that is more than late_ns ago, turns stamp their ends.
     * So turns cost one clock read while the watch is on time, and none is missed when it is
     * late. */
    _Atomic uint64_t looked_ns;
    _Atomic int64_t late_ns;
    /* 1: at exit, the program gives the supervisor a bounded time to finish its report. */
    _Alignas(64) _Atomic uint32_t unfinished;
    _Atomic uint64_t exited_ns; /* when the last handler of exit() was reached; 0: not yet */
    /* 1: a thread runs under a seccomp filter, which may end the program for any system call that
     * it does not expect: the program's side makes none, and the supervisor never sleeps for good.
     */
    _Atomic uint32_t confined;
    _Atomic uint32_t replaced;   /* 1: the program executes another one in this process */
    _Atomic uint32_t finished;   /* 1: the supervisor has written everything */
    _Atomic uint32_t paused;     /* > 0: paused, no turn is a stall */
    _Atomic uint64_t resumed_ns; /* turns that began before this time are not stalls */
    /* Turns that began after it are not, because the system may suspend the program; 0: it may
     * not. */
    _Atomic uint64_t background_ns;
    _Atomic uint32_t ends; /* 1: the program was asked to end */
    _Atomic uint64_t slots_lost;
    _Atomic int64_t long_ns; /* for slots claimed from now on; 0: no turns are kept */
    uint32_t follows; /* enum sonde__probe_follows: more than NONE: a struct sonde__probe_follow
                         lies behind this page */
    uint64_t plugin;  /* where in the shared memory another library of ours finds its own part; 0:
                        nowhere */
    struct sonde__probe_slot slots[SONDE__PROBE_SLOTS];
    struct sonde__probe_sample sample;
};

/* Which executed programs are watched, too. */
enum sonde__probe_follows {
    SONDE__PROBE_FOLLOWS_NONE,
    SONDE__PROBE_FOLLOWS_SELF, /* by the process itself, which keeps its pid; and forked children */
    SONDE__PROBE_FOLLOWS_ALL,  /* also by its children */
};

/* `sonde run --follow`: how to follow an executed program. It has its own memory, because fork
 * children lose the page but keep this; aligned to the largest page size of Linux. */
#define SONDE__PROBE_FOLLOW_OFFSET ((sizeof(struct sonde__probe_page) + 65535u) / 65536u * 65536u)
/* Two paths and some options. */
#define SONDE__PROBE_FOLLOW_BYTES 12288u
#define SONDE__PROBE_FOLLOW_WORDS 20u

/* Why a program was executed without being followed. */
enum sonde__probe_missed {
    SONDE__PROBE_TOO_LONG = 1,   /* too many arguments, or too long a command */
    SONDE__PROBE_FOR_LOADER = 2, /* environment variables of the loader (LD_*) */
    SONDE__PROBE_CONFINED = 4,   /* a seccomp filter that came after the start */
    SONDE__PROBE_NO_SONDE = 8,   /* sonde cannot be reached from there */
    SONDE__PROBE_BY_FILE = 16,   /* fexecve(), execveat(), /proc/self/exe: no stable path */
    SONDE__PROBE_ELSEWHERE = 32, /* posix_spawn() of a relative path in an unknown folder */
    SONDE__PROBE_TRACED = 64,    /* a debugger counts what its program executes */
};

/* Children that fork without executing anything. A child takes an entry, and the page with its
 * number, when it first waits. */
#define SONDE__PROBE_WORKERS 32u
struct sonde__probe_worker {
    _Atomic int32_t pid; /* 0: free */
};

struct sonde__probe_follow {
    _Atomic uint32_t forks; /* children that have begun, since the start */
    _Atomic uint32_t claims;
    _Atomic uint32_t workers_lost; /* children that found no free entry */
    uint32_t worker_count;         /* places: SONDE__PROBE_WORKERS, or 0 where memory is limited */
    struct sonde__probe_worker workers[SONDE__PROBE_WORKERS];
    _Atomic uint32_t missed;    /* programs that were executed without being followed */
    _Atomic uint32_t reasons;   /* SONDE__PROBE_ bits: why */
    _Atomic uint32_t strangers; /* programs of children, which only FOLLOWS_ALL follows */
    uint32_t words;
    char text[SONDE__PROBE_FOLLOW_BYTES]; /* the first arguments, each NUL-terminated */
};

/* Their pages. Untouched memory costs nothing. */
#define SONDE__PROBE_WORKERS_OFFSET                                                                \
    (SONDE__PROBE_FOLLOW_OFFSET + (sizeof(struct sonde__probe_follow) + 65535u) / 65536u * 65536u)
#define SONDE__PROBE_WORKER_BYTES SONDE__PROBE_FOLLOW_OFFSET

static inline uint64_t sonde__probe_beat(uint64_t now_ns, enum sonde__probe_state state)
{
    return (now_ns & ~(uint64_t)SONDE__PROBE_STATE_MASK) | state;
}

#endif
