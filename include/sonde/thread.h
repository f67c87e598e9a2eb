// SPDX-License-Identifier: Apache-2.0
/* The threads of this process and their stacks.
 *
 * A thread is identified by its tid, the kernel's id. The find functions return the tid of a
 * pthread_t or of a name; if no thread or several match, they return a status, never a wrong
 * thread.
 *
 * A thread blocked in a system call is read through the kernel's interfaces, without waking it, and
 * checked again after the walk. A running thread gets a signal that is ignored by default (SIGURG),
 * unless it blocks that signal or the caller forbids it. A blocked thread is never sent a signal:
 * many blocking calls would end early with EINTR. If the program handles SIGURG, its handler runs
 * after ours, also for our signals: the kernel may have merged one of the program's signals with
 * ours, and a lost signal does more harm than an extra one.
 *
 * On Darwin other threads are stopped by the kernel (thread_suspend) while their stacks are walked,
 * which takes some microseconds, and no signal is sent. Apple's names of threads have 63 bytes, of
 * which the first 31 are kept. */
#ifndef SONDE_THREAD_H
#define SONDE_THREAD_H

#include <stddef.h>
#include <stdint.h>

#include <pthread.h>

#include "sonde/stack.h"
#include "sonde/status.h"

#ifdef __cplusplus
extern "C" {
#endif

enum sonde_thread_state {
    SONDE_THREAD_RUNNING,
    SONDE_THREAD_BLOCKED, /* interruptible wait */
    SONDE_THREAD_DISK,    /* uninterruptible wait */
    SONDE_THREAD_STOPPED, /* by a signal or a tracer */
    SONDE_THREAD_DEAD,
    SONDE_THREAD_UNKNOWN
};

struct sonde_thread {
    size_t struct_bytes; /* sizeof(struct sonde_thread) */
    uint64_t tid;
    uint8_t state;   /* enum sonde_thread_state, at the time of listing */
    char letter;     /* as the kernel prints it: R S D T t Z X I, or '?' */
    uint8_t is_main; /* the process' first thread */
    uint8_t is_self; /* the calling thread */
    char name[32];   /* NUL-terminated; as set by pthread_setname_np; may be "" */
    /* Darwin; else 0 and "". The memory of its stack, from the lowest address to behind the
     * highest; 0: not known. */
    uint64_t stack_start, stack_end;
    /* Label of the dispatch queue that it works for, cut to whole characters; "": none, or not
     * known. Another thread is stopped for some microseconds to read it. */
    char queue[64];
};

/* The tid of the calling thread, and of the process' first thread (even if that has ended).
 *
 * Context    handler      Blocks  no      Example  examples/thread_capture.c */
SONDE_API uint64_t sonde_thread_self(void);
SONDE_API uint64_t sonde_thread_main(void);

/* List the threads, the main thread first, then by tid.
 *
 * threads    array of `capacity` elements; may be null if that is 0
 * ret_count  the number of threads, which may exceed capacity
 *
 * Returns    OK | LIMIT (more threads than capacity; the array is filled) | UNREADABLE (no /proc)
 * Context    any thread; not handler      Blocks  no (Darwin: on the lock that holds images loaded)
 * Ownership  nothing is transferred
 * Example    examples/threads_list.c */
SONDE_API SONDE_NODISCARD enum sonde_status
sonde_threads_list(struct sonde_thread *threads, uint32_t capacity, uint32_t *ret_count);

/* Find the thread with a name. The kernel keeps 15 bytes of a name; a longer name is not found.
 *
 * Returns    OK | ABSENT | AMBIGUOUS (several threads have it) | UNREADABLE (no /proc)
 * Context    any thread; not handler      Blocks  no
 * Ownership  nothing is transferred
 * Example    examples/thread_capture.c */
SONDE_API SONDE_NODISCARD enum sonde_status sonde_thread_find_name(const char *name,
                                                                   uint64_t *ret_tid);

/* Find the tid of a pthread_t. As for any pthread function, the thread must not be joined yet; a
 * detached one must not have ended.
 *
 * Returns    OK | ABSENT (it has ended) | UNSUPPORTED (this C library does not give it)
 * Context    any thread; not handler      Blocks  no
 * Ownership  nothing is transferred
 * Example    examples/thread_capture.c */
SONDE_API SONDE_NODISCARD enum sonde_status sonde_thread_find_pthread(pthread_t thread,
                                                                      uint64_t *ret_tid);

/* Find the tid of Foundation's NSThread object (Darwin).
 *
 * Foundation tells only which one is the main and the calling thread. These, and those that called
 * sonde_thread_register_nsthread(), are found exactly. Any other one gets a name for as long as it
 * takes to list the threads, one at a time, and then its own again; a name that was set meanwhile
 * stays. A name that the thread got from pthread_setname_np(), and that NSThread does not know, is
 * lost. A program that reads names meanwhile may see ours ("sonde-nsthread-" and a number).
 *
 * thread  an NSThread, (__bridge void *)thread, which is kept alive meanwhile
 *
 * Returns    OK | USAGE (null, or another object) | ABSENT (not begun, or ended) | UNSUPPORTED (no
 *            Foundation; or its names do not reach the threads) | AMBIGUOUS | UNREADABLE | MEMORY
 * Context    any thread; not handler      Blocks  on Foundation's locks
 * Ownership  nothing is transferred
 * Example    tests/darwin/programs/nsthread.m */
SONDE_API SONDE_NODISCARD enum sonde_status sonde_thread_find_nsthread(const void *thread,
                                                                       uint64_t *ret_tid);

/* This many threads of those that run may be registered. */
#define SONDE_NSTHREADS_MAX 64

/* Remember the calling thread's NSThread, so that it is found without a change of its name. It is
 * forgotten when the thread ends.
 *
 * Returns    OK | UNSUPPORTED (no Foundation) | LIMIT
 * Context    any thread; not handler      Blocks  on Foundation's locks
 * Ownership  nothing is transferred
 * Example    tests/darwin/programs/nsthread.m */
SONDE_API SONDE_NODISCARD enum sonde_status sonde_thread_register_nsthread(void);

/* How a thread's registers were obtained. */
#define SONDE_CAPTURED_MAP(X)                                                                      \
    X(NOT, "not")         /* not obtained: see status */                                           \
    X(PASSIVE, "passive") /* blocked: read through the kernel */                                   \
    X(PERF, "perf")       /* perf sample while it ran */                                           \
    X(PTRACE, "ptrace")   /* stopped by a tracer */                                                \
    X(CORE, "core")       /* core file */                                                          \
    X(SELF, "self")       /* the calling thread */                                                 \
    X(SIGNAL, "signal")   /* running: answered a signal */                                         \
    X(STOP, "stop")       /* stopped by the kernel on our behalf (Darwin) */

enum sonde_captured_by {
#define SONDE_CAPTURED_ENUM_(name, text) SONDE_CAPTURED_##name,
    SONDE_CAPTURED_MAP(SONDE_CAPTURED_ENUM_)
#undef SONDE_CAPTURED_ENUM_
};

/* How a thread was captured, and its system call. */
struct sonde_captured {
    size_t struct_bytes;      /* sizeof(struct sonde_captured) */
    enum sonde_status status; /* as sonde_thread_capture() returns it */
    uint8_t by;               /* enum sonde_captured_by */
    int64_t syscall;          /* number of the call it is blocked in, or -1 */
    uint64_t syscall_args[6]; /* of that call */
    char note[160];           /* what could not be read or done, and why; or "" */
};

/* Never send a signal: a running thread is not read (status BUSY). No effect on Darwin. */
#define SONDE_CAPTURE_PASSIVE_ONLY 1u
/* Do not read names and states: a thread's name is "", and its state is derived from how it was
 * read. For sonde_threads_snapshot() only; saves 5 to 10 us a thread. */
#define SONDE_CAPTURE_BARE 2u

/* Zero is the default of every member. */
struct sonde_capture_options {
    size_t struct_bytes; /* sizeof(struct sonde_capture_options) */
    uint64_t timeout_ns; /* for a running thread's answer; 0: SONDE_CAPTURE_TIMEOUT_NS */
    uint32_t flags;      /* SONDE_CAPTURE_ bits */
    uint32_t skip;       /* innermost frames to leave out of the calling thread's stack */
    uint32_t files_kept; /* sonde_threads_snapshot(): files that may stay open */
};

/* A running thread answers when it next gets a CPU: a few time slices on a loaded machine. */
#define SONDE_CAPTURE_TIMEOUT_NS 200000000u

/* Capture the stack of one thread of this process.
 *
 * The calling thread is captured as by sonde_stack_capture(): frame 0 is the caller.
 *
 * tid           a thread of this process
 * options       may be null
 * stack         prepared by sonde_stack_init(); on failure it holds what was found
 * ret_captured  how it was read; may be null; filled on failure too
 *
 * Returns    OK | USAGE | ABSENT (no such thread, or it ended meanwhile) | BUSY (it runs and may
 * not be signalled, or another thread captures with signals right now) | TIMEOUT (it did not
 * answer) | UNSUPPORTED (the machine does not tell: an emulator, no /proc) | DENIED
 * Context    any thread; not handler      Blocks  up to timeout_ns when the thread runs
 * Ownership  nothing is transferred
 * Example    examples/thread_capture.c */
SONDE_API SONDE_NODISCARD enum sonde_status
sonde_thread_capture(uint64_t tid, const struct sonde_capture_options *options,
                     struct sonde_stack *stack, struct sonde_captured *ret_captured);

/* Called once for each thread; return 0 to continue, anything else to end. The arguments are valid
 * during the call. `stack` holds what was found, even if `captured->status` is not OK. */
typedef int (*sonde_thread_each)(void *ctx, const struct sonde_thread *thread,
                                 const struct sonde_stack *stack,
                                 const struct sonde_captured *captured);

/* Capture the stacks of all threads in turn, the main thread first.
 *
 * A thread that starts meanwhile may be missed; one that ends is reported as ABSENT. The calling
 * thread is included; its frame 0 is the caller.
 *
 * options  may be null
 * stack    prepared by sonde_stack_init(); used again for each thread
 * each     called for each thread, never after the whole capture failed
 *
 * Returns    OK (also if some threads could not be read) | USAGE | MEMORY | UNREADABLE (no /proc)
 * Context    any thread; not handler      Blocks  up to timeout_ns for each running thread
 * Ownership  nothing is transferred
 * Example    examples/threads_capture.c */
SONDE_API SONDE_NODISCARD enum sonde_status
sonde_threads_capture(const struct sonde_capture_options *options, struct sonde_stack *stack,
                      sonde_thread_each each, void *ctx);

/* Figures of a snapshot. */
struct sonde_snapshot {
    size_t struct_bytes; /* sizeof(struct sonde_snapshot) */
    uint64_t stop_ns;    /* from the first signal until all were released; 0: none ran */
    uint64_t total_ns;   /* without the calls of `each` */
    uint32_t threads;    /* threads read, the calling one included */
    uint32_t held;       /* of them: were running, and parked */
    uint32_t unchanged;  /* of them: had not run since the last snapshot */
    uint32_t unread;     /* threads that could not be read */
    uint8_t consistent;  /* all stacks are of one moment, and none is missing */
};

/* Enough for a consistent snapshot, unless the machine is overloaded. */
#define SONDE_SNAPSHOT_TIMEOUT_NS 100000000u

/* Capture the stacks of all threads as of one moment, the main thread first.
 *
 * Running threads are parked in a signal handler (SIGURG) until all of them have stopped: in the
 * handler, or waiting for a CPU with the handler next to run. So eight busy threads on two CPUs
 * stop for some microseconds, not for time slices. Threads without a CPU record their stack as of
 * that moment when they get one, and the caller waits for them. Blocked threads are not touched:
 * they are read, and checked again while the others are parked. A thread that has not run since the
 * last snapshot is not read again. A thread that moved meanwhile is read again, or parked. If that
 * takes longer than timeout_ns, or a thread could not be read, the snapshot is marked as not
 * consistent.
 *
 * Not read: running threads that block SIGURG (BUSY), kernel workers (io_uring; UNSUPPORTED),
 * threads that did not answer in time (TIMEOUT). captured->note gives the reason. A thread in an
 * uninterruptible wait is read, and its state is SONDE_THREAD_DISK.
 *
 * options       may be null. files_kept: this many files stay open for the next snapshot, two a
 *               thread, which cuts the cost of a thread to a third; 0 closes all
 * stack         prepared by sonde_stack_init(); used again for each thread
 * each          called for each thread after all were released, never after the whole capture
 *               failed; it must return
 * ret_snapshot  may be null; written on success
 *
 * Returns    OK (also if some threads could not be read) | USAGE (also: called in a signal handler)
 *            | BUSY (another snapshot is being taken, or single threads were captured by signal for
 *            all of timeout_ns) | MEMORY | UNSUPPORTED (an emulator, no /proc) | DENIED
 * Context    any thread; not handler      Blocks     up to timeout_ns if threads run; on the
 *            loader's lock, which it holds meanwhile
 * Ownership  nothing is transferred; about 16 KB a thread stay allocated with files_kept
 * Example    examples/threads_snapshot.c */
SONDE_API SONDE_NODISCARD enum sonde_status
sonde_threads_snapshot(const struct sonde_capture_options *options, struct sonde_stack *stack,
                       sonde_thread_each each, void *ctx, struct sonde_snapshot *ret_snapshot);

/* A short text ("passive") of an enum sonde_captured_by, and of an enum sonde_thread_state.
 *
 * Returns    a static string, for unknown values too
 * Context    handler      Blocks  no      Ownership  static
 * Example    examples/threads_capture.c */
SONDE_API const char *sonde_captured_text(unsigned by);
SONDE_API const char *sonde_thread_state_text(unsigned state);

#if defined(__GNUC__)
/* Macros, because a caller that ends with such a call has to keep its frame: sonde_keep_frame(). */
#    define sonde_thread_capture(tid, options, stack, ret_captured)                                \
        sonde_keep_frame(sonde_thread_capture(tid, options, stack, ret_captured))
#    define sonde_threads_capture(options, stack, each, ctx)                                       \
        sonde_keep_frame(sonde_threads_capture(options, stack, each, ctx))
#    define sonde_threads_snapshot(options, stack, each, ctx, ret_snapshot)                        \
        sonde_keep_frame(sonde_threads_snapshot(options, stack, each, ctx, ret_snapshot))
#endif

#ifdef __cplusplus
}
#endif

#endif
