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

#define SONDE__PROBE_VERSION 5u
/* Threads that wait in poll, epoll and the like at the same time: 256 is four times what the
 * largest program of our tests has. More threads are not watched; `slots_lost` counts them. */
#define SONDE__PROBE_SLOTS 256u
/* Waits that compete to be the loop. A thread that uses more kinds before one of them comes back
 * three times forgets the least used one, counted in `candidates_lost`. */
#define SONDE__PROBE_CANDIDATES 4u

/* What a wait waits on. The numbers are those of LoopKind in proto/sonde/v1/report.proto. */
enum sonde__probe_kind {
    SONDE__PROBE_NONE,
    SONDE__PROBE_EPOLL,  /* object: the epoll descriptor */
    SONDE__PROBE_POLL,   /* object: the first descriptor */
    SONDE__PROBE_SELECT, /* object: nfds */
    SONDE__PROBE_COND,   /* object: address of the condition variable */
    SONDE__PROBE_SIGNAL, /* object: which call */
    SONDE__PROBE_OTHER,  /* object: descriptor (io_uring) */
    SONDE__PROBE_MARKS,  /* no wait of ours: the program says when it waits (sonde_idle_enter) */
};

/* Low bits of `beat`; the rest is CLOCK_MONOTONIC_COARSE in nanoseconds, of the last change. */
enum sonde__probe_state {
    SONDE__PROBE_IDLE = 0, /* in the loop's own wait, or no loop is known */
    SONDE__PROBE_BUSY = 1, /* away from it */
};
#define SONDE__PROBE_STATE_MASK 3u

struct sonde__probe_candidate {
    uint64_t object;
    uint64_t sp;     /* stack address of the outermost wait of this key */
    uint64_t caller; /* return address of that wait: a place in the loop */
    uint32_t waits;
    uint32_t kind; /* enum sonde__probe_kind; NONE: free */
};

struct sonde__probe_slot {
    _Alignas(128) _Atomic uint32_t tid; /* 0: free */
    uint32_t entered;                   /* a wait is being noted: a handler must keep out */
    _Atomic uint64_t beat;
    _Atomic uint64_t turns;
    _Atomic uint64_t nested; /* waits inside turns */
    /* The loop; kind NONE: not known yet. Read by the supervisor for the report only. */
    struct sonde__probe_candidate loop;
    uint64_t loop_changes; /* how often another wait became the loop */
    /* 1: the supervisor has seen this thread busy for so long, in so many waits, that the loop it
     * knew must be over; the next rival takes its place. */
    _Atomic uint32_t abandon;
    /* 1: the supervisor wants to know when this turn ends; the next wait sets it back to 0 and
     * stores its time. So a turn that nobody watches reads the clock once, not twice. */
    _Atomic uint32_t stamp;
    _Atomic uint64_t ended_ns;
    uint32_t yield_waits; /* waits of a rival since the young loop's last turn */
    uint32_t rival;       /* index of that rival */
    uint64_t rival_ns;    /* since when */
    uint64_t candidates_lost;
    struct sonde__probe_candidate candidates[SONDE__PROBE_CANDIDATES];
};

struct sonde__probe_page {
    uint32_t version;
    uint32_t slot_count;
    _Atomic int32_t supervisor; /* pid */
    _Atomic int32_t pid;        /* of the program, set when the probe has started in it */
    /* 1: the supervisor sleeps on this word until a thread becomes busy. */
    _Alignas(64) _Atomic uint32_t sleeping;
    /* 1: at exit, the program gives the supervisor a bounded time to finish its report. */
    _Alignas(64) _Atomic uint32_t unfinished;
    _Atomic uint32_t exiting; /* 1: the program is in exit() */
    /* 1: a thread runs under a seccomp filter, which may end the program for any system call that
     * it does not expect: the probe makes none, the supervisor never sleeps for good. */
    _Atomic uint32_t confined;
    _Atomic uint32_t finished; /* 1: the supervisor has written everything */
    _Atomic uint64_t slots_lost;
    uint32_t follows; /* 1: a struct sonde__probe_follow lies behind this page */
    uint64_t plugin;  /* where in the shared memory another library of ours finds its own part; 0:
                        nowhere */
    struct sonde__probe_slot slots[SONDE__PROBE_SLOTS];
    struct sonde__probe_sample sample;
};

/* `sonde run --follow`: what executing a program becomes. In memory of its own, because fork
 * children keep it while they lose the page; at a multiple of every page size that Linux has. */
#define SONDE__PROBE_FOLLOW_OFFSET ((sizeof(struct sonde__probe_page) + 65535u) / 65536u * 65536u)
/* Two paths and some options. */
#define SONDE__PROBE_FOLLOW_BYTES 12288u
#define SONDE__PROBE_FOLLOW_WORDS 16u

/* Why a program was executed without being followed. */
enum sonde__probe_missed {
    SONDE__PROBE_TOO_LONG = 1,   /* too many arguments, or too long a command */
    SONDE__PROBE_FOR_LOADER = 2, /* variables that speak to the loader */
    SONDE__PROBE_CONFINED = 4,   /* a seccomp filter that came after the start */
    SONDE__PROBE_NO_SONDE = 8,   /* sonde is not to be reached from there */
    SONDE__PROBE_BY_FILE = 16,   /* fexecve(), execveat(), /proc/self/exe: no path that holds */
    SONDE__PROBE_ELSEWHERE = 32, /* posix_spawn() of a relative path in a folder not known here */
    SONDE__PROBE_TRACED = 64,    /* a debugger counts what its program executes */
};

struct sonde__probe_follow {
    _Atomic uint32_t missed;  /* programs that were executed without being followed */
    _Atomic uint32_t reasons; /* SONDE__PROBE_ bits of those */
    uint32_t words;
    char text[SONDE__PROBE_FOLLOW_BYTES]; /* the first words of argv, each ended by a zero */
};

static inline uint64_t sonde__probe_beat(uint64_t now_ns, enum sonde__probe_state state)
{
    return (now_ns & ~(uint64_t)SONDE__PROBE_STATE_MASK) | state;
}

#endif
