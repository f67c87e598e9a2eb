// SPDX-License-Identifier: Apache-2.0
/* What a blocked thread waits for (a file, a socket or pipe, a lock, a child) and its owner or
 * other end; and circles of threads that wait for each other.
 *
 * Only what the kernel or the lock itself records is reported. A lock has a known kind if the
 * thread's stack shows the libc function that takes such locks, and the words of the lock agree
 * with it; otherwise it is "a futex, owner not recorded". The result is dropped if the thread has
 * moved in the meantime. Nothing is opened, signalled or stopped, and no file system is accessed.
 *
 * Only cause_words.c puts paths, addresses and command lines into texts. Context: any thread, one
 * at a time per struct. */
#ifndef SONDE_CAUSE_H
#define SONDE_CAUSE_H

#include "report_model.h"
#include "target_sample.h"

enum sonde__cause_kind {
    SONDE__CAUSE_NONE,  /* not blocked, has moved, or the call shows nothing */
    SONDE__CAUSE_FUTEX, /* of unknown kind */
    SONDE__CAUSE_MUTEX,
    SONDE__CAUSE_RWLOCK,
    SONDE__CAUSE_CONDITION,
    SONDE__CAUSE_SEMAPHORE,
    SONDE__CAUSE_BARRIER,
    SONDE__CAUSE_ONCE,
    SONDE__CAUSE_JOIN,  /* the end of a thread */
    SONDE__CAUSE_CHILD, /* the end of a process, or its exec (vfork) */
    SONDE__CAUSE_FILE,  /* a file, device, or other object behind a descriptor */
    SONDE__CAUSE_PATH,  /* a call with a path argument */
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
    uint64_t tid;       /* the waiting thread */
    uint8_t kind;       /* enum sonde__cause_kind */
    bool timed;         /* the call has a time limit */
    uint64_t owner_tid; /* the owner, or the thread that has to act; 0: not known, or not a single
                           thread */
    int32_t owner_pid;  /* the owner's process; with owner_tid 0, any thread of it; 0: not known */
    /* "mutex 0x7f12…", "fd 7 /data/app.db", "fd 5 tcp 127.0.0.1:40112 to 127.0.0.1:5432" */
    char resource[SONDE__CAUSE_RESOURCE];
    char owner[SONDE__CAUSE_OWNER]; /* "held by thread 4711 (worker)"; why it is not known; or "" */
    char peer[SONDE__CAUSE_PEER];   /* the other end of a socket: its address, or "" */
    uint64_t slices; /* how often the thread has got a CPU; if unchanged later, it still waits */
};

struct sonde__causes;

/* The target is a live process, and must outlive the causes. Returns OK | MEMORY. Ownership:
 * _destroy(). */
SONDE_NODISCARD enum sonde_status sonde__causes_create(struct sonde__target *target,
                                                       struct sonde__causes **ret_causes);
void sonde__causes_destroy(struct sonde__causes *causes);

/* Forget which processes have pipes and sockets open. This is read from all processes at the first
 * thread that waits for one, in at most cpu_ns of CPU time (default SONDE__CAUSE_SEARCH_NS), and
 * kept. */
#define SONDE__CAUSE_SEARCH_NS ((uint64_t)200 * 1000000u)
void sonde__causes_search_again(struct sonde__causes *causes, uint64_t cpu_ns);

/* Threads that were stopped for their capture and then released need a CPU to get back into their
 * calls. From now on, the looks sleep until a thread is back, together at most most_ns (default
 * 0). Without it, the cause of a thread that is not back yet is NONE. */
void sonde__causes_await_returns(struct sonde__causes *causes, uint64_t most_ns);

/* A call with a time limit that was stopped before, and is stopped again, has no name of its own
 * in the thread's registers (restart_syscall). Once released the thread waits on, and the kernel
 * function that it waits in tells the call. Give it that number, if it is in the same call as when
 * it was captured. Sleeps as said above. */
void sonde__causes_name_resumed(struct sonde__causes *causes, struct sonde__sample *sample);

/* The cause of a thread that was just captured. Takes some 0.1 ms of CPU time, without the search
 * above. The functions of a library are listed once, in some ms. */
void sonde__causes_look(struct sonde__causes *causes, const struct sonde__sample *sample,
                        struct sonde__cause *ret_cause);

/* Resource and owner, "mutex 0x7f12…, held by thread 4711 (worker)"; "" for NONE. */
void sonde__cause_text(const struct sonde__cause *cause, char *ret_text, size_t capacity);

/* Convert to the wait of a report. pid: the thread's process; process: its id in the report (0: the
 * process of the header). Adds the owner's process if it is another one. False: there is no
 * wait. */
bool sonde__cause_to_report(const struct sonde__cause *cause, int32_t pid, uint32_t process,
                            struct sonde__report *report, struct sonde__report_wait *ret_wait);

/* --- circles --- */

/* Limit of threads, and of processes, in one circle. Longer circles are not found. */
#define SONDE__CAUSE_CIRCLE_MAX  16u
#define SONDE__CAUSE_CIRCLE_TEXT 1024u
/* How the text of a circle begins. */
#define SONDE__CAUSE_DEADLOCK "deadlock: "
#define SONDE__CAUSE_CIRCLE   "circle of waits: "

struct sonde__cause_circle {
    uint32_t count; /* each waits for the next, the last for the first */
    uint64_t tids[SONDE__CAUSE_CIRCLE_MAX];
    bool deadlock; /* nothing else can end it: no time limit, and each owner is one thread */
    char text[SONDE__CAUSE_CIRCLE_TEXT];
};

/* Find the circles among these causes, each once, and circles through other processes that this
 * user may read. A thread that waits for itself is a circle. All threads of a circle have waited
 * since they were read. Returns the number of circles; at most `capacity` are stored. */
uint32_t sonde__causes_circles(struct sonde__causes *causes, const struct sonde__cause *list,
                               uint32_t count, struct sonde__cause_circle *ret_circles,
                               uint32_t capacity);

#endif
