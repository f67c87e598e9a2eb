// SPDX-License-Identifier: Apache-2.0
/* What the files of a runtime share. Python is the only one so far; another one gets its own member
 * and files beside python_*. */
#ifndef SONDE_RUNTIME_PRIVATE_H
#define SONDE_RUNTIME_PRIVATE_H

#include "python.h"

/* Threads whose blocks are read ahead: those of a stall, and the loops of a program. */
#define SONDE__RUNTIME_KEPT 16u

/* Tasks of a thread and those that await them; frames of the latter. */
#define SONDE__RUNTIME_TASKS   80u
#define SONDE__RUNTIME_WAITING 256u

struct sonde__runtime_kept {
    uint64_t tid; /* 0: none */
    struct sonde__view_block *blocks;
    uint32_t count;
    uint64_t age;
};

struct sonde__runtime_range {
    uint64_t start, end;
};

struct sonde__runtime {
    char name[32];
    struct sonde__runtime_range loops[4]; /* code of the interpreter's loop; GCC splits it */
    uint32_t loop_count;
    struct python python;
    struct sonde__view view;
    struct python_chain chain;
    struct sonde__script_frame frames[SONDE__SCRIPT_FRAMES_MAX];
    struct sonde__runtime_kept kept[SONDE__RUNTIME_KEPT];
    uint64_t look; /* number of this one */
    char task_names[SONDE__RUNTIME_TASKS][96];
    uint32_t task_count;
    struct sonde__script_frame waiting[SONDE__RUNTIME_WAITING];
};

/* Open a runtime whose place is known: what sonde__runtime_open() does when it has searched the
 * image. version: PY_VERSION_HEX, where the runtime does not state it. Returns as it. */
SONDE_NODISCARD enum sonde_status sonde__runtime_open_at(uint64_t address, uint32_t version,
                                                         const struct sonde__runtime_memory *memory,
                                                         struct sonde__runtime **ret_runtime,
                                                         struct sonde_error *ret_error);

/* --- runtime_name.c --- */

/* Name one frame. False: its code cannot be read, or it is not in its code. One that is not entered
 * yet, and that Python does not show, either, has no function. */
bool sonde__runtime_name_frame(struct sonde__runtime *runtime, const struct python_frame *frame,
                               struct sonde__script_frame *ret_frame);

/* --- runtime_task.c --- */

/* Find the tasks of the frames that were named, and what awaits the innermost one. */
void sonde__runtime_add_tasks(struct sonde__runtime *runtime, struct sonde__script *script);

#endif
