// SPDX-License-Identifier: Apache-2.0
/* Shared by the files of a runtime. Each language has its own members and files. */
#ifndef SONDE_RUNTIME_PRIVATE_H
#define SONDE_RUNTIME_PRIVATE_H

#include "python.h"
#include "runtime_copied.h"
#include "v8_read.h"

/* Threads whose blocks are read ahead: enough for a stall and the loops of a program. */
#define SONDE__RUNTIME_KEPT 16u

/* Tasks of a thread and tasks that await them; frames of the latter. */
#define SONDE__RUNTIME_TASKS   80u
#define SONDE__RUNTIME_WAITING 256u

/* Places where tasks of a loop wait. Further ones are said to be left out. */
#define SONDE__RUNTIME_PARKED 64u

struct sonde__runtime_loop; /* runtime_loop.c */

/* Texts of a task. Longer ones are cut. */
struct sonde__runtime_texts {
    char name[96], function[96], file[256];
};

struct sonde__runtime_kept {
    uint64_t tid; /* 0: none */
    struct sonde__view_block *blocks;
    uint32_t count;
    uint64_t age;
};

struct sonde__runtime {
    char name[32];
    struct sonde__runtime_range loops[SONDE__RUNTIME_LOOPS]; /* code of the interpreter's loop */
    uint32_t loop_count;
    struct python python;
    struct sonde__view view;
    struct python_chain chain;
    struct sonde__script_frame frames[SONDE__SCRIPT_FRAMES_MAX];
    struct sonde__runtime_kept kept[SONDE__RUNTIME_KEPT];
    uint64_t look; /* number of the current look */
    struct sonde__runtime_texts task_texts[SONDE__RUNTIME_TASKS];
    uint32_t task_count;
    struct sonde__script_frame waiting[SONDE__RUNTIME_WAITING];
    uint64_t state; /* of the thread that was read, in the interpreter */
    struct sonde__runtime_loop *loop;
    struct v8_read *v8;                         /* null: it is Python */
    uint32_t natives[SONDE__SCRIPT_FRAMES_MAX]; /* V8: the native frame of each function */
};

/* Open a runtime at a known address; sonde__runtime_open() calls this. version: PY_VERSION_HEX,
 * used if the runtime does not state it. Returns as sonde__runtime_open(). */
SONDE_NODISCARD enum sonde_status sonde__runtime_open_at(uint64_t address, uint32_t version,
                                                         const struct sonde__runtime_memory *memory,
                                                         struct sonde__runtime **ret_runtime,
                                                         struct sonde_error *ret_error);

/* Choose the layout of the runtime at an address. *version: PY_VERSION_HEX, or 0; becomes what the
 * runtime states. Returns OK | UNSUPPORTED | CORRUPT (unreadable). */
SONDE_NODISCARD enum sonde_status
sonde__runtime_choose_layout(uint64_t address, const struct sonde__runtime_memory *memory,
                             struct python_layout *ret_layout, uint32_t *version,
                             struct sonde_error *ret_error);

/* --- runtime_stack.c --- */

/* Open V8. Returns as sonde__runtime_open(). */
SONDE_NODISCARD enum sonde_status sonde__runtime_open_v8(const struct v8_stated *stated,
                                                         const struct sonde__runtime_memory *memory,
                                                         struct sonde__runtime **ret_runtime,
                                                         struct sonde_error *ret_error);

/* --- runtime_parts.c --- */

/* Add the code of the interpreter's loop: from start to end (vaddrs), and the parts that its
 * compiler put elsewhere. */
void sonde__runtime_add_loop(struct sonde__runtime *runtime, const struct sonde__elf *elf,
                             uint64_t start, uint64_t end, uint64_t bias);

/* --- runtime_kept.c --- */

struct sonde__runtime_kept *sonde__runtime_kept_of(struct sonde__runtime *runtime, uint64_t tid);
void sonde__runtime_keep(struct sonde__runtime *runtime, struct sonde__runtime_kept *kept);

/* --- runtime_name.c --- */

/* Name one frame. False: its code is unreadable, or its instruction is outside of the code. A frame
 * that is not entered yet has no function (Python does not show it either). */
bool sonde__runtime_name_frame(struct sonde__runtime *runtime, const struct python_frame *frame,
                               struct sonde__script_frame *ret_frame);

/* --- runtime_task.c --- */

/* Put name and creator of a task at its outermost frame. False: it has no name; the frame is as it
 * was. */
bool sonde__runtime_put_task(struct sonde__runtime *runtime, uint64_t task,
                             struct sonde__runtime_texts *texts, struct sonde__script_frame *frame);

/* Find the tasks of named frames, and the tasks that await the innermost one. */
void sonde__runtime_add_tasks(struct sonde__runtime *runtime, struct sonde__script *script);

/* --- runtime_loop.c --- */

void sonde__runtime_loop_done(struct sonde__runtime *runtime);

#endif
