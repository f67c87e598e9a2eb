// SPDX-License-Identifier: Apache-2.0
/* What a blocked thread waits for, and who has it: a file, the other end of a socket or pipe, the
 * owner of a lock, a child; and circles of threads that wait for each other.
 *
 * Reports only what the kernel or the lock itself records. A lock is of a kind if the thread's
 * stack shows the libc function that takes such locks, and if the words of the lock are consistent
 * with it; else it is "a futex, owner not recorded". What was read is dropped if the thread has
 * moved in the meantime. Nothing is opened, signalled or stopped, and no file system is asked.
 *
 * Paths, addresses and command lines get into texts in one place: cause_words.c. Context: any
 * thread, one at a time per struct. */
#ifndef SONDE_CAUSE_H
#define SONDE_CAUSE_H

#include "report_model.h"
#include "target_sample.h"

enum sonde__cause_kind {
    SONDE__CAUSE_NONE,  /* not blocked, moved on meanwhile, or the call says nothing */
    SONDE__CAUSE_FUTEX, /* of a kind that is not known */
    SONDE__CAUSE_MUTEX,
    SONDE__CAUSE_RWLOCK,
    SONDE__CAUSE_CONDITION,
    SONDE__CAUSE_SEMAPHORE,
    SONDE__CAUSE_BARRIER,
    SONDE__CAUSE_ONCE,
    SONDE__CAUSE_JOIN,  /* the end of a thread */
    SONDE__CAUSE_CHILD, /* the end of a process, or that it executes a program (vfork) */
    SONDE__CAUSE_FILE,  /* a file, device, or another thing behind a descriptor */
    SONDE__CAUSE_PATH,  /* a call that is given a path */
    SONDE__CAUSE_FILE_LOCK,
    SONDE__CAUSE_PIPE,
    SONDE__CAUSE_SOCKET,
    SONDE__CAUSE_SET,    /* any of several descriptors */
    SONDE__CAUSE_MEMORY, /* a page fault */
};

#define SONDE__CAUSE_RESOURCE 200
#define SONDE__CAUSE_OWNER    200
#define SONDE__CAUSE_PEER     160
#define SONDE__CAUSE_TEXT     (SONDE__CAUSE_RESOURCE + SONDE__CAUSE_OWNER + 4)

struct sonde__cause {
    uint64_t tid;       /* who waits */
    uint8_t kind;       /* enum sonde__cause_kind */
    bool timed;         /* the call has a time limit */
    uint64_t owner_tid; /* who has it, or has to act; 0: not known, or not one thread */
    int32_t owner_pid;  /* its process; with owner_tid 0 any thread of it; 0: not known */
    /* "mutex 0x7f12…", "fd 7 /data/app.db", "fd 5 tcp 127.0.0.1:40112 to 127.0.0.1:5432" */
    char resource[SONDE__CAUSE_RESOURCE];
    char owner[SONDE__CAUSE_OWNER]; /* "held by thread 4711 (worker)"; why it is not known; or "" */
    char peer[SONDE__CAUSE_PEER];   /* the other end of a socket: its address, or "" */
    uint64_t slices; /* how often the thread had got a CPU: the same later, it still waits */
};

struct sonde__causes;

/* Of a live process. Returns OK | MEMORY. The target must outlive it. Ownership: _destroy(). */
SONDE_NODISCARD enum sonde_status sonde__causes_create(struct sonde__target *target,
                                                       struct sonde__causes **ret_causes);
void sonde__causes_destroy(struct sonde__causes *causes);

/* Who has a pipe or a socket open is read from all processes, at the first thread that waits for
 * one, in at most so much CPU time (default SONDE__CAUSE_SEARCH_NS), and kept. Forget that. */
#define SONDE__CAUSE_SEARCH_NS ((uint64_t)200 * 1000000u)
void sonde__causes_search_again(struct sonde__causes *causes, uint64_t cpu_ns);

/* The cause of a thread that was just captured. Without the search above, some 0.1 ms of CPU time;
 * the functions of a library are listed once, some ms. */
void sonde__causes_look(struct sonde__causes *causes, const struct sonde__sample *sample,
                        struct sonde__cause *ret_cause);

/* Resource and owner: "mutex 0x7f12…, held by thread 4711 (worker)"; "" of NONE. */
void sonde__cause_text(const struct sonde__cause *cause, char *ret_text, size_t capacity);

/* For a report: the wait of a thread of process `pid`, whose id in the report is `process` (0: that
 * of the header). Adds the owner's process if that is another one. False: there is no wait. */
bool sonde__cause_to_report(const struct sonde__cause *cause, int32_t pid, uint32_t process,
                            struct sonde__report *report, struct sonde__report_wait *ret_wait);

/* --- circles --- */

/* Threads in one circle, and processes. Longer ones are not found. */
#define SONDE__CAUSE_CIRCLE_MAX  16u
#define SONDE__CAUSE_CIRCLE_TEXT 1024u
/* How the text of a circle begins. */
#define SONDE__CAUSE_DEADLOCK "deadlock: "
#define SONDE__CAUSE_CIRCLE   "circle of waits: "

struct sonde__cause_circle {
    uint32_t count; /* who waits for whom: each for the next, the last for the first */
    uint64_t tids[SONDE__CAUSE_CIRCLE_MAX];
    bool deadlock; /* nobody else can end it: no time limit, and each owner is one thread */
    char text[SONDE__CAUSE_CIRCLE_TEXT];
};

/* The circles among these causes, each once, also a thread that waits for itself; and through other
 * processes that this user may read. All threads of a circle have waited since they were looked at.
 * Returns how many; at most `capacity` are stored. */
uint32_t sonde__causes_circles(struct sonde__causes *causes, const struct sonde__cause *list,
                               uint32_t count, struct sonde__cause_circle *ret_circles,
                               uint32_t capacity);

#endif
