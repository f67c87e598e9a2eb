// SPDX-License-Identifier: Apache-2.0
/* Functions of scripts: what an interpreter's thread runs, read from the memory of its process.
 *
 * A runtime is found by its image; for each of its threads it gives the functions of the script,
 * with file and line, and which of them each call of the interpreter's loop runs. Sans I/O: memory
 * comes through the caller's callback. That memory is hostile: what contradicts itself costs the
 * thread's script frames and is reported, and no name comes from it.
 * Context: any thread, one at a time per runtime. */
#ifndef SONDE_RUNTIME_H
#define SONDE_RUNTIME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sonde/stack.h>
#include <sonde/status.h>

#include "arch_regs.h"
#include "image_elf.h"

/* More frames than this are left out, and counted: 1000 is Python's own limit as it ships. */
#define SONDE__SCRIPT_FRAMES_MAX 4096u
/* Flag beside the SONDE_HOW_ ones, in arrays of this program only: the frame is a call of the
 * interpreter's loop that runs the next run of script frames. */
#define SONDE__HOW_RUNS_SCRIPT 0x80u

/* --- memory --- */

struct sonde__runtime_piece {
    uint64_t address;
    void *bytes;
    uint32_t size;
    uint32_t got; /* result: bytes from `address` on that could be read */
};

struct sonde__runtime_memory {
    void (*read)(void *ctx, struct sonde__runtime_piece *pieces, uint32_t count);
    void *ctx;
};

/* --- results --- */

enum sonde__script_kind {
    SONDE__SCRIPT_FUNCTION,
    SONDE__SCRIPT_MODULE,
    SONDE__SCRIPT_CLASS, /* the body of one */
    SONDE__SCRIPT_GENERATOR,
    SONDE__SCRIPT_COROUTINE,
};

struct sonde__script_frame {
    const char *function; /* with its class, where the runtime has it */
    const char *file;     /* "" when there is none */
    uint32_t line;        /* 0: not known */
    uint8_t kind;         /* enum sonde__script_kind */
    uint32_t run;         /* those of one number are run by one call of the interpreter's loop; 0:
                             the innermost call */
    uint64_t anchor;      /* address on the native stack, in the frame of that call; 0: not known */
    uint64_t at;          /* address of the frame in the runtime's memory */
    const char *task;     /* the task whose outermost frame this is; null: none is known */
};

/* What a thread does with the lock that only one thread of the interpreter has at a time. */
enum sonde__script_lock {
    SONDE__SCRIPT_LOCK_UNKNOWN,
    SONDE__SCRIPT_LOCK_HELD,
    SONDE__SCRIPT_LOCK_NOT_HELD,
};

enum sonde__script_state {
    SONDE__SCRIPT_NONE, /* the thread runs no script */
    SONDE__SCRIPT_READ,
    SONDE__SCRIPT_TORN,    /* set by the caller: it ran while it was read */
    SONDE__SCRIPT_DAMAGED, /* unreadable, or it contradicts itself */
};

/* The script frames of a thread, innermost first. The texts are the runtime's, valid until its next
 * read. */
struct sonde__script {
    const struct sonde__script_frame *frames;
    uint32_t count;
    uint32_t run_count;
    uint64_t lost_count; /* outermost ones that were left out */
    uint8_t state;       /* enum sonde__script_state */
    uint8_t lock;        /* enum sonde__script_lock */
    /* A thread that waits for the lock waits at an address in [lock_start, lock_end). */
    uint64_t lock_start, lock_end;
    uint64_t lock_holder; /* the thread that had it then; 0: none, or not known */
    /* What awaits the innermost task, then what awaits that: the frames of each, innermost first;
     * the last one of each has its name in `task`. */
    const struct sonde__script_frame *waiting;
    uint32_t waiting_count;
    const char *language; /* "Python" */
    const char *why;      /* of TORN and DAMAGED: what was wrong */
};

/* --- a runtime --- */

struct sonde__runtime;

/* Is there a runtime in this image, and can it be read?
 *
 * elf     the image's file, or a copy of its memory
 * bias    added to vaddrs of the image
 *
 * Returns OK | ABSENT (no runtime) | UNSUPPORTED (a version that is not known; what says which) |
 * CORRUPT (it is not what its version promises; or it is not initialised yet) | MEMORY.
 * Ownership: close it. `elf` is not used after the call. */
SONDE_NODISCARD enum sonde_status sonde__runtime_open(const struct sonde__elf *elf, uint64_t bias,
                                                      const struct sonde__runtime_memory *memory,
                                                      struct sonde__runtime **ret_runtime,
                                                      struct sonde_error *ret_error);
void sonde__runtime_close(struct sonde__runtime *runtime);

/* "Python 3.11.2", in the runtime's memory. */
const char *sonde__runtime_name(const struct sonde__runtime *runtime);

/* Read the script frames of thread `tid` (the system's id), which does not run meanwhile: the
 * caller sees to that. Two equal reads of a thread that runs prove nothing: a loop is at the same
 * places again each time. */
void sonde__runtime_read(struct sonde__runtime *runtime, uint64_t tid,
                         struct sonde__script *ret_script);

/* A thread at one instant: its registers, and the inner end of its native stack. */
struct sonde__runtime_moment {
    const struct sonde__regs *regs;
    const uint8_t *stack;
    uint64_t address; /* of its first byte: the stack pointer */
    size_t size;
    bool is_cut; /* the stack goes on beyond it */
};
/* Do all pointers to frames that a moment shows agree with what the last read found, which came
 * after it? */
bool sonde__runtime_agrees(const struct sonde__runtime *runtime,
                           const struct sonde__runtime_moment *moment);

/* Is pc in the loop of the interpreter? */
bool sonde__runtime_is_loop(const struct sonde__runtime *runtime, uint64_t pc);

/* Find the native frame of each run: mark it in stack->how (SONDE__HOW_RUNS_SCRIPT), innermost
 * first. Where frames were left out of the middle of the stack, script frames whose run is among
 * them are left out, too: *frames then is shorter, and the numbers of runs follow each other.
 * False: the two do not fit; nothing is marked and *why says what is wrong. */
bool sonde__runtime_join(const struct sonde__runtime *runtime, struct sonde_stack *stack,
                         uint32_t run_count, struct sonde__script_frame *frames, uint32_t *count,
                         const char **ret_why);

#endif
