// SPDX-License-Identifier: Apache-2.0
/* The processes of a run whose children are recorded, too (`sonde run --record --follow`).
 *
 * Each process has its own recording in its own memory, which the supervisor made before the
 * program started, so a process can damage no recording but its own. This table, in the memory of
 * the first program, says which process has which memory. A fork child takes a place in its first
 * moments; an executed program gets one from `sonde run --join`, which then becomes the program.
 * The supervisor reads and frees the place when the process is gone.
 *
 * Invariant: a place belongs to the process whose pid is in it. Nothing here is trusted by a
 * reader. The layout is private to one build. Context: handler. */
#ifndef SONDE_RECORD_FAMILY_H
#define SONDE_RECORD_FAMILY_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* Processes at one time. The supervisor frees places 20 times a second, so 1280 processes a second
 * may come and go. A descriptor each: a quarter of the usual limit would be too many. */
enum { SONDE__FAMILY_PLACES = 64 };
enum { SONDE__FAMILY_PATH = 512, SONDE__FAMILY_UNRECORDED = 64 };

struct sonde__family_place {
    _Atomic int32_t pid;    /* 0: free */
    _Atomic uint32_t ended; /* 1: its process executes another program */
    int32_t parent_pid;
    int32_t fd;           /* of the memory, in the supervisor; before the start */
    uint32_t is_executed; /* else forked */
    char executable[SONDE__FAMILY_PATH];
};

/* A program that was executed without the recorder. */
struct sonde__family_unrecorded {
    _Atomic uint32_t is_complete;
    char reason[64]; /* the end of a sentence */
    char path[SONDE__FAMILY_PATH];
};

struct sonde__family {
    uint32_t place_count;
    _Atomic uint32_t forked, executed; /* processes that got a place */
    _Atomic uint32_t lost;             /* processes that found no free place */
    _Atomic uint32_t looks, freed;     /* of the supervisor: rounds, and places */
    _Atomic uint32_t unreached; /* fork children that could not map their memory, or are confined */
    _Atomic uint32_t unrecorded_count; /* may exceed the room */
    struct sonde__family_unrecorded unrecorded[SONDE__FAMILY_UNRECORDED];
    struct sonde__family_place places[SONDE__FAMILY_PLACES];
};

/* Take a free place for process `pid`; null: there is none. */
static inline struct sonde__family_place *sonde__family_claim(struct sonde__family *family,
                                                              int32_t pid)
{
    uint32_t count = family->place_count < SONDE__FAMILY_PLACES ? family->place_count
                                                                : (uint32_t)SONDE__FAMILY_PLACES;
    for (uint32_t i = 0; i < count; i++) {
        struct sonde__family_place *place = &family->places[i];
        int32_t free = 0;
        if (atomic_compare_exchange_strong(&place->pid, &free, pid)) {
            return place;
        }
    }
    return NULL;
}

/* A place may get free soon if some did in the last two rounds of the supervisor. Where all live
 * on, no process may wait for long. */
struct sonde__family_wait {
    uint32_t looks, freed;
};

static inline struct sonde__family_wait sonde__family_wait_begin(struct sonde__family *family)
{
    return (struct sonde__family_wait){atomic_load(&family->looks), atomic_load(&family->freed)};
}

static inline bool sonde__family_may_wait(struct sonde__family *family,
                                          struct sonde__family_wait *wait)
{
    struct sonde__family_wait now = sonde__family_wait_begin(family);
    if (now.freed != wait->freed) {
        *wait = now;
    }
    return now.looks - wait->looks < 3; /* the first one had begun before */
}

#endif
