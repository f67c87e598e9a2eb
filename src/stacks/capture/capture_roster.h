// SPDX-License-Identifier: Apache-2.0
/* The threads of this process between snapshots: their files, and their last stacks.
 *
 * The kernel counts how often a thread gets a CPU. While that count is unchanged, the thread has
 * not run, and its last stack is not read again. A thread that did run is read again: counters,
 * place of its wait, stack. The stack is valid if the counters are unchanged after it.
 *
 * Everything is in one mapping, sized before a snapshot begins, so that nothing is allocated
 * while threads are parked. One user at a time. Context: handler. */
#ifndef SONDE_CAPTURE_ROSTER_H
#define SONDE_CAPTURE_ROSTER_H

#include "capture_images.h"
#include "os.h"

#include <sonde/thread.h>

/* The note for a kernel thread. */
#define SONDE__NOTE_KERNELS                                                                        \
    "a worker of the kernel (io_uring): it runs no code of this program and has no stack in it"

enum sonde__roster_phase {
    SONDE__ROSTER_NEW,     /* nothing is known */
    SONDE__ROSTER_BLOCKED, /* it waits: `seen` and `wait` are known, the stack is not read yet */
    SONDE__ROSTER_READ,    /* the stack belongs to `seen` and `wait` */
    SONDE__ROSTER_RUNNING, /* it runs, or is ready to */
    SONDE__ROSTER_ASKED,   /* asked to park, in `slot` */
    SONDE__ROSTER_PARKED,  /* it is or was parked, and wrote its stack */
    SONDE__ROSTER_SELF,
    SONDE__ROSTER_FAILED, /* `status` and `note` say why */
    SONDE__ROSTER_GONE,   /* it has ended */
};

struct sonde__roster_thread {
    uint64_t tid;
    int32_t wait_fd, schedstat_fd; /* -1: not open */
    int32_t stat_fd;               /* -1: not open; open only during a snapshot */
    uint8_t phase;                 /* enum sonde__roster_phase */
    uint8_t status;                /* enum sonde_status, of FAILED */
    bool is_listed;
    bool is_unanswered; /* a request was withdrawn: the signal may still be pending */
    bool is_pending;    /* ASKED: the signal is pending, and comes before any code of the program */
    bool is_late;       /* BLOCKED, READ: read after the release of the others */
    uint32_t slot;
    uint32_t stack_bytes; /* from sp on, read by its last walk; 0: unknown */
    const char *note;     /* of FAILED; null: none */
    struct sonde__os_schedstat seen;
    struct sonde__os_wait wait;
    struct sonde__os_call call; /* of READ: the system call it was in */
    struct sonde_stack stack;
};

struct sonde__roster {
    struct sonde__roster_thread *threads;
    uint64_t *tids;   /* scratch, as long as threads */
    uint8_t *windows; /* scratch, for a batch */
    uint32_t count;
    uint32_t capacity;
    uint32_t depth; /* frames for each thread */
    uint32_t outer; /* of these, for the outermost */
    uint32_t async; /* contexts of an async chain for each thread */
    uint32_t files; /* open files */
    uint32_t files_max;
    void *memory;
    size_t memory_size;
};

/* Make room for the threads that exist and some more, with stacks of `like`'s capacities.
 * Forgets stacks that were read with other capacities. Returns OK | MEMORY | as
 * sonde__os_list_threads(). */
SONDE_NODISCARD enum sonde_status sonde__capture_roster_prepare(struct sonde__roster *roster,
                                                                const struct sonde_stack *like);

/* Make a thread's stack empty, for a walk. */
void sonde__capture_roster_clear(const struct sonde__roster *roster,
                                 struct sonde__roster_thread *thread);

/* Update the list. Entries of ended threads stay until the next _prepare(). Returns OK | LIMIT
 * (no room for all threads: the others are missing) | as sonde__os_list_threads(). */
SONDE_NODISCARD enum sonde_status sonde__capture_roster_list(struct sonde__roster *roster);

/* Does the system count as many threads as are known to live? Then these are all. */
bool sonde__capture_roster_is_whole(const struct sonde__roster *roster);

/* Update a thread's phase: NEW becomes BLOCKED, RUNNING, FAILED or GONE. READ stays READ if the
 * thread has not run since. Returns whether it stayed. */
bool sonde__capture_roster_look(struct sonde__roster *roster, struct sonde__roster_thread *thread);

/* Read the stacks of all BLOCKED threads, which become READ. Returns how many. */
uint32_t sonde__capture_roster_read(struct sonde__roster *roster,
                                    const struct sonde__image_set *images);

/* Close files until at most `keep` are open. */
void sonde__capture_roster_close(struct sonde__roster *roster, uint32_t keep);

/* Close all files and free the memory. */
void sonde__capture_roster_done(struct sonde__roster *roster);

void sonde__capture_roster_fail(const struct sonde__roster *roster,
                                struct sonde__roster_thread *thread, enum sonde_status status,
                                const char *note);

#endif
