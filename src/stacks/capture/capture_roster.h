// SPDX-License-Identifier: Apache-2.0
/* The threads of this process between snapshots: their files, and their last stacks.
 *
 * The kernel counts how often a thread was given a CPU. While that count does not change, the
 * thread has not run: its stack is as it was last read, and is not read again. A thread that did
 * run is read again: counters, place of its wait, stack; the stack is valid if the counters are
 * unchanged after it.
 *
 * Everything lies in one mapping that is sized before a snapshot begins, so that nothing is
 * allocated while threads are parked. One user at a time. Context: handler. */
#ifndef SONDE_CAPTURE_ROSTER_H
#define SONDE_CAPTURE_ROSTER_H

#include "capture_images.h"
#include "os.h"

#include <sonde/thread.h>

/* The note for a thread of the kernel's own. */
#define SONDE__NOTE_KERNELS                                                                        \
    "a worker of the kernel (io_uring): it runs no code of this program and has no stack in it"

enum sonde__roster_phase {
    SONDE__ROSTER_NEW,     /* nothing is known of it */
    SONDE__ROSTER_BLOCKED, /* it waits: `seen` and `wait` are known, the stack is to be read */
    SONDE__ROSTER_READ,    /* the stack is of `seen` and `wait` */
    SONDE__ROSTER_RUNNING, /* it runs, or could */
    SONDE__ROSTER_ASKED,   /* it was asked to park, in `slot` */
    SONDE__ROSTER_PARKED,  /* it is parked, or was: the stack is its own work */
    SONDE__ROSTER_SELF,
    SONDE__ROSTER_FAILED, /* `status` and `note` say why */
    SONDE__ROSTER_GONE,   /* it has ended */
};

struct sonde__roster_thread {
    uint64_t tid;
    int32_t wait_fd, schedstat_fd; /* -1: not open */
    int32_t stat_fd;               /* the same; open during a snapshot only */
    uint8_t phase;                 /* enum sonde__roster_phase */
    uint8_t status;                /* enum sonde_status, of FAILED */
    bool is_listed;
    bool is_unanswered; /* a question was withdrawn: the signal may still be pending */
    bool is_pending;    /* ASKED: the signal is there, and comes before anything of the program */
    bool is_late;       /* BLOCKED, READ: read after the others were let go */
    uint32_t slot;
    uint32_t stack_bytes; /* from sp on, that its last walk read; 0: not known */
    const char *note;     /* of FAILED; null: none */
    struct sonde__os_schedstat seen;
    struct sonde__os_wait wait;
    struct sonde__os_call call; /* of READ: where it was when its stack was read */
    struct sonde_stack stack;
};

struct sonde__roster {
    struct sonde__roster_thread *threads;
    uint64_t *tids;   /* scratch, as long as threads */
    uint8_t *windows; /* scratch, for a batch */
    uint32_t count;
    uint32_t capacity;
    uint32_t depth; /* frames for each thread */
    uint32_t outer; /* of them, for the outermost */
    uint32_t async; /* members of an async chain for each thread */
    uint32_t files; /* that are open */
    uint32_t files_max;
    void *memory;
    size_t memory_size;
};

/* Room for the threads that there are and some more, with stacks like `like`: its capacities count.
 * Forgets stacks that were read with others. Returns OK | MEMORY | as sonde__os_list_threads(). */
SONDE_NODISCARD enum sonde_status sonde__capture_roster_prepare(struct sonde__roster *roster,
                                                                const struct sonde_stack *like);

/* Make a thread's stack empty, for a walk. */
void sonde__capture_roster_clear(const struct sonde__roster *roster,
                                 struct sonde__roster_thread *thread);

/* Bring the list up to date. Entries of ended threads stay until the next _prepare(). Returns OK |
 * LIMIT (more threads than there is room for: those are missing) | as sonde__os_list_threads(). */
SONDE_NODISCARD enum sonde_status sonde__capture_roster_list(struct sonde__roster *roster);

/* Does the system count as many threads as are known to live? If those answer, they are the same.
 */
bool sonde__capture_roster_is_whole(const struct sonde__roster *roster);

/* Update a thread's phase: NEW becomes BLOCKED, RUNNING, FAILED or GONE; READ stays READ if it did
 * not run since. Returns whether it stayed. */
bool sonde__capture_roster_look(struct sonde__roster *roster, struct sonde__roster_thread *thread);

/* Read the stacks of all that are BLOCKED: they become READ. Returns how many. */
uint32_t sonde__capture_roster_read(struct sonde__roster *roster,
                                    const struct sonde__image_set *images);

/* Close files until at most `keep` are open. */
void sonde__capture_roster_close(struct sonde__roster *roster, uint32_t keep);

/* Close all, give the memory back. */
void sonde__capture_roster_done(struct sonde__roster *roster);

void sonde__capture_roster_fail(const struct sonde__roster *roster,
                                struct sonde__roster_thread *thread, enum sonde_status status,
                                const char *note);

#endif
