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
    uint64_t anchor; /* 0: unknown, or not in this version */
    uint32_t run;
    uint8_t owner;
    uint32_t line; /* as stored in the frame; 0: use its instruction */
};

struct python_chain {
    struct python_frame frames[SONDE__SCRIPT_FRAMES_MAX];
    uint32_t count, run_count;
    uint64_t lost_count;
};

struct python_thread {
    uint64_t tid, state, interp;
    uint64_t native; /* its pthread_self(); 0: the state has the tid */
};

/* Cached tasks, by coroutine: enough for the loops of a program. */
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
    uint64_t heads; /* hash of the heads of the thread lists when they were read */
};

void python_done(struct python *python);

/* Fill `chain` with the frames of a thread's state. Null: done; else why it failed. */
const char *python_read_chain(const struct python *python, struct sonde__view *view,
                              uint64_t thread_state, struct python_chain *chain);

/* --- python_moment.c --- */

/* code_bytes: size of the innermost frame's instructions, if the version keeps them in the code
 * object */
bool python_agrees(const struct python *python, const struct python_chain *chain,
                   uint64_t code_bytes, const struct sonde__runtime_moment *moment);

/* --- python_task.c --- */

/* Find the Task that runs the coroutine of an outermost frame; 0: not found. The native stack from
 * `low` to `high` has the calls that run it. */
uint64_t python_task_of(struct python *python, struct sonde__view *view, uint64_t frame,
                        uint64_t low, uint64_t high);
/* The Task that awaits a Task; 0: none, or something else awaits it. */
uint64_t python_waiter_of(struct python *python, struct sonde__view *view, uint64_t task);
bool python_task_name(struct python *python, struct sonde__view *view, uint64_t task,
                      char *ret_name, size_t capacity);
/* Get the frames of a suspended Task's coroutine and of the coroutines that it awaits, outermost
 * first. Returns their number. */
uint32_t python_task_frames(struct python *python, struct sonde__view *view, uint64_t task,
                            struct python_frame *ret_frames, uint32_t capacity);

/* --- python_threads.c --- */

/* Limits of the lists: longer ones are treated as damaged memory. */
enum { PYTHON_INTERPRETERS_MAX = 256, PYTHON_THREADS_MAX = 32768 };

/* Find the states of thread `tid`, at most `capacity`: one for each interpreter that it has run.
 * Null: success (a count of 0: not a Python thread); else why it failed. */
const char *python_find_thread(struct python *python, struct sonde__view *view, uint64_t tid,
                               struct python_thread *ret_states, uint32_t capacity,
                               uint32_t *ret_count);
/* Get the state of the interpreter's lock for the thread: sets `lock` and the lock_ members of
 * *script. */
void python_lock_of(const struct python *python, struct sonde__view *view,
                    const struct python_thread *thread, struct sonde__script *script);
/* Does the runtime have this layout? Its lists must lead back to it. */
bool python_is_consistent(const struct python *python, struct sonde__view *view);

#endif
