// SPDX-License-Identifier: Apache-2.0
/* Reads script functions: what a thread of an interpreter runs, from the memory of its process.
 *
 * A runtime is found by its image. For each thread it gives the script functions with file and
 * line, and which of them each call of the interpreter's loop runs. Sans I/O: the caller's callback
 * reads memory. That memory is hostile: if it contradicts itself, the thread gets no script frames
 * and no names, and this is reported. Context: any thread, one at a time per runtime. */
#ifndef SONDE_RUNTIME_H
#define SONDE_RUNTIME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sonde/stack.h>
#include <sonde/status.h>

#include "arch_regs.h"
#include "image_elf.h"

/* Further frames are left out and counted. Python's default limit is 1000. */
#define SONDE__SCRIPT_FRAMES_MAX 4096u
/* A flag in addition to SONDE_HOW_, for internal use: the frame is a call of the interpreter's
 * loop, which runs the next run of script frames. */
#define SONDE__HOW_RUNS_SCRIPT 0x80u

/* --- memory --- */

struct sonde__runtime_piece {
    uint64_t address;
    void *bytes;
    uint32_t size;
    uint32_t got; /* result: bytes read from `address` on */
};

struct sonde__runtime_memory {
    void (*read)(void *ctx, struct sonde__runtime_piece *pieces, uint32_t count);
    void *ctx;
};

/* --- results --- */

enum sonde__script_kind {
    SONDE__SCRIPT_FUNCTION,
    SONDE__SCRIPT_MODULE,
    SONDE__SCRIPT_CLASS, /* a class body */
    SONDE__SCRIPT_GENERATOR,
    SONDE__SCRIPT_COROUTINE,
};

/* Asyncio notes it in debug mode. */
struct sonde__script_creator {
    const char *function, *file; /* null: not known */
    uint32_t line;
};

struct sonde__script_frame {
    const char *function; /* with its class, if the runtime has it */
    const char *file;     /* "": none */
    uint32_t line;        /* 0: not known */
    uint8_t kind;         /* enum sonde__script_kind */
    uint32_t run; /* frames with the same number are run by one call of the loop; 0: the innermost
                     call */
    uint64_t anchor;  /* address on the native stack, in that call's frame; 0: unknown */
    uint64_t at;      /* address of the frame in the runtime's memory */
    const char *task; /* name of the task whose outermost frame this is; null: none known */
    struct sonde__script_creator created; /* of that task: where it was created */
};

/* A thread's relation to the interpreter's global lock. */
enum sonde__script_lock {
    SONDE__SCRIPT_LOCK_UNKNOWN,
    SONDE__SCRIPT_LOCK_HELD,
    SONDE__SCRIPT_LOCK_NOT_HELD,
};

enum sonde__script_state {
    SONDE__SCRIPT_NONE, /* the thread runs no script */
    SONDE__SCRIPT_READ,
    SONDE__SCRIPT_TORN,    /* set by the caller: the thread ran during the read */
    SONDE__SCRIPT_DAMAGED, /* unreadable or contradictory */
};

/* Tasks that wait in the same place. */
struct sonde__script_parked {
    /* of one of them, innermost first, then of the task that awaits it, and so on; the last frame
     * of each has its name in `task` */
    const struct sonde__script_frame *frames;
    uint32_t count;
    uint32_t tasks;
};

/* The script frames of a thread, innermost first. The texts are the runtime's, valid until its next
 * read. */
struct sonde__script {
    const struct sonde__script_frame *frames;
    uint32_t count;
    uint32_t run_count;
    uint64_t lost_count; /* outermost frames left out */
    bool is_switched;    /* native calls further out may be those of another stack of the thread */
    uint8_t state;       /* enum sonde__script_state */
    uint8_t lock;        /* enum sonde__script_lock */
    /* Threads that wait for the lock wait at an address in [lock_start, lock_end). */
    uint64_t lock_start, lock_end;
    uint64_t lock_holder; /* the thread that held it, in the target's pid namespace; 0: none, or
                             unknown */
    /* The frames of the task that awaits the innermost task, then of the one that awaits that, and
     * so on, innermost first; the last frame of each has its name in `task`. */
    const struct sonde__script_frame *waiting;
    uint32_t waiting_count;
    /* sonde__runtime_read_loop(): the tasks of the event loop that the thread runs */
    const struct sonde__script_parked *parked;
    uint32_t parked_count;
    const char *doubt;    /* what of the tasks is not shown; null: nothing */
    const char *language; /* "Python", "JavaScript" */
    const char *why; /* TORN, DAMAGED: the reason; NONE: why its runtime cannot be read, or null */
};

/* --- a runtime --- */

struct sonde__runtime;

/* Open the runtime in an image, if there is one that can be read.
 *
 * elf     the image's file, or a copy of its memory
 * bias    added to vaddrs of the image
 *
 * Returns OK | ABSENT (no runtime) | UNSUPPORTED (unknown version; the error names it) | CORRUPT
 * (does not match its version, or is not initialized yet) | MEMORY. Ownership: close it. `elf` is
 * not used after the call. */
SONDE_NODISCARD enum sonde_status sonde__runtime_open(const struct sonde__elf *elf, uint64_t bias,
                                                      const struct sonde__runtime_memory *memory,
                                                      struct sonde__runtime **ret_runtime,
                                                      struct sonde_error *ret_error);
void sonde__runtime_close(struct sonde__runtime *runtime);

/* "Python 3.11.2", in the runtime's memory. */
const char *sonde__runtime_name(const struct sonde__runtime *runtime);

/* Read the script frames of thread `tid` (its number in the target's pid namespace). The caller
 * makes sure that the thread does not run meanwhile. Two equal reads of a running thread prove
 * nothing: a loop returns to the same places. */
void sonde__runtime_read(struct sonde__runtime *runtime, uint64_t tid,
                         struct sonde__script *ret_script);

/* A native stack. The runtimes of some languages find their functions by it (V8): then it is the
 * caller's part to walk it, and to read by it. */
struct sonde__runtime_native {
    const struct sonde_stack *stack;
    const uint64_t *fps; /* of each frame: its frame pointer; 0: unknown */
    uint64_t sp;         /* of the innermost one; 0: unknown, and it has all that it reads */
    uint64_t outer_sp;   /* of the outermost one; 0: unknown */
};
/* Compare what sonde__runtime_read() found with the thread's native stack, and read again if it is
 * another thread's: a program that has an interpreter built in hands states from thread to thread,
 * and after a fork most have the parent's numbers. Then the states are taken whose calls of the
 * loop are on the stack. Of a sampled thread the stack is not walked yet: null; then outer_sp is
 * the end of its copy, and this reads again if the thread seems to run no script. */
void sonde__runtime_read_by_place(struct sonde__runtime *runtime, uint64_t tid,
                                  const struct sonde__runtime_native *native,
                                  struct sonde__script *script);
/* If the thread seems to run no script, but its stack has calls of the loop, *script becomes
 * DAMAGED. */
void sonde__runtime_doubt_none(const struct sonde__runtime *runtime,
                               const struct sonde_stack *stack, struct sonde__script *script);
bool sonde__runtime_is_by_stack(const struct sonde__runtime *runtime);
/* As sonde__runtime_read(), for such a runtime. The stack must be as it is when it is joined. */
void sonde__runtime_read_stack(struct sonde__runtime *runtime, uint64_t tid,
                               const struct sonde__runtime_native *native,
                               struct sonde__script *ret_script);

/* The last read was by another walk of the same stack: find its frames in this one. False: one is
 * not in it. */
bool sonde__runtime_place(struct sonde__runtime *runtime, uint32_t run_count,
                          const struct sonde__runtime_native *native);

/* If the last read thread runs an event loop and none of its tasks, find all tasks of this loop.
 * They are added to *script, the result of this read. The thread must not have run since. Takes
 * some 10 us for each task. */
void sonde__runtime_read_loop(struct sonde__runtime *runtime, struct sonde__script *script);

/* A thread at one instant: its registers, and the inner end of its native stack. */
struct sonde__runtime_moment {
    const struct sonde__regs *regs;
    const uint8_t *stack;
    uint64_t address; /* of its first byte: the stack pointer */
    size_t size;
    bool is_cut; /* the stack continues beyond the copy */
};
/* Do all pointers to frames in a moment agree with the last read, which was made after it? */
bool sonde__runtime_agrees(const struct sonde__runtime *runtime,
                           const struct sonde__runtime_moment *moment);

/* Is this the path of Python's program or library, and not of a program that contains it? */
bool sonde__runtime_is_python_path(const char *path);
/* The same of Node.js. */
bool sonde__runtime_is_node_path(const char *path);

/* Is pc in the loop of the interpreter? */
bool sonde__runtime_is_loop(const struct sonde__runtime *runtime, uint64_t pc);

/* Mark the native frame of each run in stack->how (SONDE__HOW_RUNS_SCRIPT). If native frames were
 * left out of the middle of the stack, their script frames are left out, too: *count shrinks, and
 * runs are renumbered without a gap. False: native and script frames do not match; nothing is
 * marked, and *ret_why is the reason. frames: those of *script, in the caller's memory */
bool sonde__runtime_join(const struct sonde__runtime *runtime, struct sonde_stack *stack,
                         struct sonde__script *script, struct sonde__script_frame *frames,
                         const char **ret_why);

#endif
