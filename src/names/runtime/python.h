// SPDX-License-Identifier: Apache-2.0
/* CPython 3.8 to 3.14: threads, frames, code objects. Private to names/runtime. */
#ifndef SONDE_PYTHON_H
#define SONDE_PYTHON_H

#include "python_code.h"
#include "python_layout.h"
#include "runtime.h"
#include "runtime_view.h"

/* A frame as the interpreter links it. */
struct python_frame {
    uint64_t at, code, instr;
    uint64_t anchor; /* 0: not known yet, or not in this version */
    uint32_t run;
    uint8_t owner;
    uint32_t line; /* as the frame itself has it; 0: by its instruction */
};

struct python_chain {
    struct python_frame frames[SONDE__SCRIPT_FRAMES_MAX];
    uint32_t count, run_count;
    uint64_t lost_count;
};

struct python_thread {
    uint64_t tid, state, interp;
    uint64_t native; /* address of the system's record of it; 0: the state has its id */
};

/* Tasks that were found, by their coroutines: those of the loops of a program. */
enum { PYTHON_TASKS_KEPT = 16 };
struct python_task {
    uint64_t coroutine, task;
};

struct python {
    struct python_layout layout;
    uint64_t runtime; /* address of _PyRuntime */
    struct python_codes codes;
    struct python_thread *threads;
    size_t thread_count, thread_capacity;
    struct python_task tasks[PYTHON_TASKS_KEPT];
    uint32_t next_task;
    uint64_t heads; /* what the lists of threads began with when they were read */
};

void python_done(struct python *python);

/* Fill `chain` with the frames of a thread's state. Null: done; else why it failed. */
const char *python_read_chain(const struct python *python, struct sonde__view *view,
                              uint64_t thread_state, struct python_chain *chain);

/* --- python_moment.c --- */

/* code_bytes: of the innermost frame's instructions, where the version keeps them in the code
 * object */
bool python_agrees(const struct python *python, const struct python_chain *chain,
                   uint64_t code_bytes, const struct sonde__runtime_moment *moment);

/* --- python_task.c --- */

/* The address of the Task that runs the coroutine of an outermost frame; 0: none was found. Between
 * the addresses `low` and `high` of the native stack are the calls that run it. */
uint64_t python_task_of(struct python *python, struct sonde__view *view, uint64_t frame,
                        uint64_t low, uint64_t high);
/* The Task that awaits another one; 0: none, or something else does. */
uint64_t python_waiter_of(struct python *python, struct sonde__view *view, uint64_t task);
bool python_task_name(struct python *python, struct sonde__view *view, uint64_t task,
                      char *ret_name, size_t capacity);
/* The frames of a Task's coroutine, which does not run, and of those that it awaits, outermost
 * first. Returns how many. */
uint32_t python_task_frames(struct python *python, struct sonde__view *view, uint64_t task,
                            struct python_frame *ret_frames, uint32_t capacity);

/* --- python_threads.c --- */

/* Limits of the lists: a program with more threads is damaged memory. */
enum { PYTHON_INTERPRETERS_MAX = 256, PYTHON_THREADS_MAX = 32768 };

/* The states of thread `tid`, as many as there are up to `capacity`: one for each interpreter that
 * it has run. Null on success (with a count of 0: it is no thread of the interpreter), else why. */
const char *python_find_thread(struct python *python, struct sonde__view *view, uint64_t tid,
                               struct python_thread *ret_states, uint32_t capacity,
                               uint32_t *ret_count);
/* The interpreter's lock, as the thread sees it: `lock` and what follows it in *script. */
void python_lock_of(const struct python *python, struct sonde__view *view,
                    const struct python_thread *thread, struct sonde__script *script);
/* Is this a runtime of the layout? Its lists have to lead back to it. */
bool python_is_consistent(const struct python *python, struct sonde__view *view);

#endif
