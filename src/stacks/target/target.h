// SPDX-License-Identifier: Apache-2.0
/* An examined program: a process or a core. Its threads, images, memory and stacks.
 *
 * One interface for all kinds; each kind is a file with a table of operations. Reads never
 * crash. Context: any thread, one at a time per target. */
#ifndef SONDE_TARGET_H
#define SONDE_TARGET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sonde/stack.h>
#include <sonde/thread.h>

#include "arch_regs.h"
#include "image_set.h"
#include "unwind_walk.h"

struct sonde__target;
struct sonde__probe_sample; /* probe_sample.h */

/* How another process' threads may be read. */
enum sonde__target_mode {
    /* Blocked threads by /proc and memory reads only. Running threads by a perf event where
     * allowed, else by ptrace, else by a signal if the program has a probe that answers it.
     * Threads that are already stopped by ptrace (which disturbs no call). Never signals or
     * stops a thread that is blocked in a call. */
    SONDE__TARGET_PASSIVE,
    /* Stops all threads together by ptrace: one consistent snapshot. The pause is reported. */
    SONDE__TARGET_STOP,
};

/* How running threads may be read in mode PASSIVE, in order of preference. */
enum sonde__target_way {
    SONDE__TARGET_BY_PERF = 1,
    SONDE__TARGET_BY_PTRACE = 2, /* ends 4 of 17 kinds of waits early if the thread enters one */
    SONDE__TARGET_BY_SIGNAL = 4, /* ends 13 of 17; needs `sample` */
};

struct sonde__target_options {
    enum sonde__target_mode mode;
    bool scripts;                       /* read script frames, too (target_script.h) */
    bool restricted;                    /* read running threads only by `ways`; else by any */
    uint32_t ways;                      /* SONDE__TARGET_BY_ bits */
    struct sonde__probe_sample *sample; /* where the program's probe answers; null: no probe */
    const char *executable; /* cores: the program, if the core's own path is wrong; or null */
    const char *root;       /* prefix for image paths; null: /proc/PID/root for processes */
};

/* The state for a state letter of the kernel (proc_pid_stat(5)). */
enum sonde_thread_state sonde__target_thread_state(char letter);

struct sonde__thread {
    uint64_t tid;
    uint8_t state;  /* enum sonde_thread_state */
    char letter;    /* as the kernel prints it: R S D T t Z X I, or '?' */
    bool main;      /* tid == pid */
    char name[32];  /* NUL-terminated; may be "" */
    char queue[64]; /* label of the dispatch queue that it works for; "": none, or not known */
    uint8_t qos;    /* enum Qos of proto/sonde/v1/report.proto; 0: not known */
};

/* How a stack's registers were obtained. */
enum sonde__captured_by {
    SONDE__CAPTURED_NOT,     /* not obtained: see status */
    SONDE__CAPTURED_PASSIVE, /* /proc/PID/task/TID/syscall, checked again after the walk */
    SONDE__CAPTURED_PERF,    /* perf sample: registers and stack at one instant while it ran */
    SONDE__CAPTURED_PTRACE,
    SONDE__CAPTURED_CORE,
    SONDE__CAPTURED_SELF,
    SONDE__CAPTURED_SIGNAL,
    SONDE__CAPTURED_STOP, /* stopped by the kernel on our behalf: Darwin */
};

#define SONDE__NOTE_BYTES 216

struct sonde__capture {
    enum sonde_status status;
    uint8_t by;      /* enum sonde__captured_by */
    char letter;     /* the thread's state as captured; 0: as in the list */
    int64_t syscall; /* number of the system call that it is blocked in, or -1 */
    uint64_t syscall_args[6];
    uint64_t time_ns;  /* when the thread was so (CLOCK_MONOTONIC); 0: when it was captured */
    uint64_t pause_ns; /* how long this stopped the thread; 0: it did not */
    bool early;        /* this ended a call of the thread early */
    struct sonde__regs regs;
    char queue[64];               /* as of a thread, where a capture shows it; else "" */
    uint8_t qos;                  /* likewise; else 0 */
    char waits_for[160];          /* what its call waits for (target_sample.h), or "" */
    char note[SONDE__NOTE_BYTES]; /* what failed, and why; "" if nothing did */
};

/* Open a target. ret_error says what failed and where. Returns OK | ABSENT (no such process) |
 * DENIED | UNSUPPORTED (32-bit, foreign architecture, an emulator that shows the host's
 * registers) | CORRUPT | UNREADABLE | MEMORY | OS. Ownership: close it. */
SONDE_NODISCARD enum sonde_status
sonde__target_open_process(int32_t pid, const struct sonde__target_options *options,
                           struct sonde__target **ret_target, struct sonde_error *ret_error);
SONDE_NODISCARD enum sonde_status
sonde__target_open_core(const char *path, const struct sonde__target_options *options,
                        struct sonde__target **ret_target, struct sonde_error *ret_error);
void sonde__target_close(struct sonde__target *target);

/* Counts of signals to the target's threads. */
struct sonde__target_signals {
    uint64_t sent;
    uint64_t refused;    /* not sent: blocked, used by the program, not permitted */
    uint64_t unanswered; /* in time */
    uint64_t early;      /* a call of the thread ended early */
};
/* All 0 for targets that are not processes. */
struct sonde__target_signals sonde__target_signals(const struct sonde__target *target);

/* Is it a process, not a core? */
bool sonde__target_is_live(const struct sonde__target *target);
int32_t sonde__target_pid(const struct sonde__target *target);
/* enum sonde_arch. */
unsigned sonde__target_arch(const struct sonde__target *target);
/* The program's path as the target sees it. */
const char *sonde__target_executable(const struct sonde__target *target);
/* What the options asked for and could not be done, although the target can be read (a program
 * that is not the core's): one line, or "". */
const char *sonde__target_doubt(const struct sonde__target *target);
/* Prefix to open image paths from here. Never null. */
const char *sonde__target_root(const struct sonde__target *target);
/* The path of an image as a process in a chroot would spell it: the rest of `path`. */
const char *sonde__target_inner_path(const struct sonde__target *target, const char *path);

/* List the threads, the main thread first, then by tid. The target owns the array, which is
 * valid until the next call. */
SONDE_NODISCARD enum sonde_status sonde__target_threads(struct sonde__target *target,
                                                        const struct sonde__thread **ret_threads,
                                                        uint32_t *ret_count,
                                                        struct sonde_error *ret_error);

/* Find a thread by its id. Returns OK | ABSENT (no such thread, or it has ended) | as above. */
SONDE_NODISCARD enum sonde_status sonde__target_thread(struct sonde__target *target, uint64_t tid,
                                                       struct sonde__thread *ret_thread);

/* The images, read at opening and by each refresh (cheap if nothing changed). The target owns
 * the snapshot, which is valid until the next refresh. */
const struct sonde__image_set *sonde__target_images(struct sonde__target *target);
SONDE_NODISCARD enum sonde_status sonde__target_refresh(struct sonde__target *target,
                                                        struct sonde_error *ret_error);

/* Read memory. Returns how many bytes from `address` on could be read (0 to size). */
size_t sonde__target_read(struct sonde__target *target, uint64_t address, void *ret_bytes,
                          size_t size);

/* Memory that the program wrote: private, without a file, and not the main thread's stack. */
struct sonde__target_range {
    uint64_t start, end;
};
struct sonde__target_memory {
    struct sonde__target_range *ranges; /* by address */
    uint32_t count;
    uint64_t missing; /* bytes of all memory that a core's headers list and its file lacks */
};
/* Read the current list. For a core, what its file contains: never more bytes than the file has.
 * Returns OK | MEMORY | as reading the map. Ownership: _memory_done(). */
SONDE_NODISCARD enum sonde_status sonde__target_own_memory(struct sonde__target *target,
                                                           struct sonde__target_memory *ret_memory,
                                                           struct sonde_error *ret_error);
void sonde__target_memory_done(struct sonde__target_memory *memory);

/* Does the target's allocator tell what it allocated? If not, only the memory itself shows it. */
bool sonde__target_tells_allocations(const struct sonde__target *target);
/* The allocation at an address; the allocator may know only where one begins. False: none, or it
 * does not tell. */
bool sonde__target_allocation(struct sonde__target *target, uint64_t address, uint64_t *ret_start,
                              uint64_t *ret_size);

/* All allocations of an allocator that lists them. */
struct sonde__target_allocations {
    struct sonde__target_range *ranges; /* by address; none overlaps another */
    size_t count, mapped_bytes;
    uint64_t bytes;           /* of all ranges */
    uint32_t zones, unlisted; /* parts of the allocator; those whose allocations are not listed */
    char note[120];           /* why the first one is not listed; "": all are */
};
/* Threads that allocate wait meanwhile. Does nothing (zones: 0) if the allocator does not tell.
 * Returns OK | TIMEOUT (a thread that does not run has a lock of the allocator: without that, no
 * memory can be allocated, either). Ownership: _allocations_done(). */
SONDE_NODISCARD enum sonde_status
sonde__target_allocations(struct sonde__target *target,
                          struct sonde__target_allocations *ret_allocations,
                          struct sonde_error *ret_error);
void sonde__target_allocations_done(struct sonde__target_allocations *allocations);

/* Find the bytes of an image without a usable file (vdso, deleted), or of any image of a core,
 * for symbols. The target owns them. False: there are none. */
bool sonde__target_image_bytes(struct sonde__target *target, const struct sonde__image *image,
                               const void **ret_bytes, size_t *ret_size);

/* Capture one thread's stack. The call never fails: ret_capture->status says what happened, and
 * the stack has what was found. In mode STOP call sonde__target_stop() first. */
void sonde__target_capture(struct sonde__target *target, const struct sonde__thread *thread,
                           struct sonde_stack *stack, struct sonde__capture *ret_capture);

/* Let a thread be sampled when it has run for after_ns, so that what it did until the next capture
 * is not lost. count: up to so many samples, each after so much more; 1: one. A sample that was not
 * taken is dropped. Does nothing without perf events, or while such a sample is still to come since
 * the same was asked. */
void sonde__target_expect(struct sonde__target *target, uint64_t tid, uint64_t after_ns,
                          uint32_t count);
/* Take the first of them. If the thread runs a script, the sample says that its frames are missing,
 * as they must be read at the same instant. False: there is none, and nothing is changed. */
bool sonde__target_met(struct sonde__target *target, uint64_t tid, struct sonde_stack *stack,
                       struct sonde__capture *ret_capture);

/* Expect no sample any more. */
void sonde__target_pause(struct sonde__target *target);
/* No capture follows soon: release what is kept for the next one of the same thread. */
void sonde__target_rest(struct sonde__target *target);

/* Mode STOP: stop all threads, also new ones; resume. ret_pause_ns: from first stop to release. */
SONDE_NODISCARD enum sonde_status sonde__target_stop(struct sonde__target *target,
                                                     struct sonde_error *ret_error);
void sonde__target_resume(struct sonde__target *target, uint64_t *ret_pause_ns);

#endif
