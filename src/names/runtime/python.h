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
    bool is_switched; /* the thread has several stacks of calls (greenlets), and this is one */
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

/* Up to 3.10: the dict of running tasks, once it is found. */
struct python_running {
    uint64_t interp, dict;
    uint32_t pause, left; /* looks between two searches, and until the next one */
};

struct python {
    struct python_layout layout;
    uint64_t runtime; /* address of _PyRuntime */
    uint64_t interp;  /* of the thread that is read */
    struct python_codes codes;
    struct python_thread *threads;
    size_t thread_count, thread_capacity;
    struct python_task tasks[PYTHON_TASKS_KEPT];
    uint32_t next_task;
    struct python_running running;
    bool is_cut;    /* a search of this look for a task ended at a limit */
    uint64_t heads; /* hash of the heads of the thread lists when they were read */
};

void python_done(struct python *python);

/* Fill `chain` with the frames of a thread's state. Null: done; else why it failed. */
const char *python_read_chain(const struct python *python, struct sonde__view *view,
                              uint64_t thread_state, struct python_chain *chain);

/* Up to 3.10: a frame from its object's bytes. */
struct python_frame python_object_frame(const struct python_layout *layout, const uint8_t *bytes,
                                        uint64_t at);

/* --- python_coroutine.c --- */

/* The coroutine of a frame; 0: it is no coroutine's. */
uint64_t python_coroutine_of(struct python *python, struct sonde__view *view, uint64_t frame);
/* Get the frames of a suspended Task's coroutine and of the coroutines that it awaits, outermost
 * first. Returns their number. */
uint32_t python_task_frames(struct python *python, struct sonde__view *view, uint64_t task,
                            struct python_frame *ret_frames, uint32_t capacity);

/* --- python_creator.c --- */

/* Where a Task was created: the innermost function outside of asyncio. False: not known, as asyncio
 * is not in debug mode. */
bool python_task_creator(struct python *python, struct sonde__view *view, uint64_t task,
                         char *ret_function, size_t function_capacity, char *ret_file,
                         size_t file_capacity, uint32_t *ret_line);

/* --- python_dict.c: dicts, up to 3.10 --- */

/* Larger dicts are not read. */
#define PYTHON_DICT_MAX 16384u
/* Get a dict's values. Returns their number; 0: none, or it cannot be read. */
uint32_t python_dict_values(struct python *python, struct sonde__view *view, uint64_t dict,
                            uint64_t *ret_values, uint32_t capacity);
/* The value of an ASCII key; 0: none. */
uint64_t python_dict_find(struct python *python, struct sonde__view *view, uint64_t dict,
                          const char *key);

/* --- python_loop.c --- */

/* Further tasks of a loop are counted only. */
enum { PYTHON_LOOP_TASKS_MAX = 65536 };

struct python_loop {
    uint64_t loop;   /* address */
    uint64_t *tasks; /* addresses */
    size_t count, capacity;
    uint64_t left;   /* tasks over the limit */
    uint64_t others; /* tasks of other classes */
};

/* The address of the event loop that a thread runs; 0: none. state: of the thread */
uint64_t python_loop_of(struct python *python, struct sonde__view *view, uint64_t state);
/* List the tasks of a loop that are not collected yet. Null: done; else why it failed. Ownership:
 * python_loop_done(), in any case. Begins new looks of the view. */
const char *python_read_loop(struct python *python, struct sonde__view *view,
                             const struct python_thread *thread, uint64_t address,
                             struct python_loop *ret_loop);
void python_loop_done(struct python_loop *loop);

/* --- python_moment.c --- */

/* code_bytes: size of the innermost frame's instructions, if the version keeps them in the code
 * object */
bool python_agrees(const struct python *python, const struct python_chain *chain,
                   uint64_t code_bytes, const struct sonde__runtime_moment *moment);

/* --- python_task.c --- */

/* Bytes of a Task that we read. */
static inline uint32_t python_task_bytes(const struct python *python)
{
    return python->layout.task_coroutine + 16u;
}

/* Find the Task that runs the coroutine of an outermost frame; 0: not found. The native stack from
 * `low` to `high` has the calls that run it. */
uint64_t python_task_of(struct python *python, struct sonde__view *view, uint64_t frame,
                        uint64_t low, uint64_t high);
/* bytes: of an object, at least its head */
bool python_is_task(struct python *python, struct sonde__view *view, const uint8_t *bytes);
bool python_task_name(struct python *python, struct sonde__view *view, uint64_t task,
                      char *ret_name, size_t capacity);
/* The value of an int of one digit (30 bits). False: another object, or a larger int. */
bool python_small_int(struct python *python, struct sonde__view *view, uint64_t object,
                      uint32_t *ret_value);
/* Copy a str, cut between characters. False: not a str, or unreadable. */
bool python_short_text(struct python *python, struct sonde__view *view, uint64_t object,
                       char *ret_text, size_t capacity);

/* --- python_threads.c --- */

/* Limits of the lists: longer ones are treated as damaged memory. */
enum { PYTHON_INTERPRETERS_MAX = 256, PYTHON_THREADS_MAX = 32768 };

/* Find the states of thread `tid`, at most `capacity`: one for each interpreter that it has run.
 * Null: success (a count of 0: not a Python thread); else why it failed. */
const char *python_find_thread(struct python *python, struct sonde__view *view, uint64_t tid,
                               struct python_thread *ret_states, uint32_t capacity,
                               uint32_t *ret_count);
/* The same of the states whose innermost call of the loop is on the native stack of the thread,
 * whatever thread they state: they are noted as this one's. Versions up to 3.10 have none: their
 * frames do not show where they run. */
struct python_span {
    uint64_t start, end;
};
const char *python_find_on_stack(struct python *python, struct sonde__view *view, uint64_t tid,
                                 const struct python_span *span, struct python_thread *ret_states,
                                 uint32_t capacity, uint32_t *ret_count);
/* Get the state of the interpreter's lock for the thread: sets `lock` and the lock_ members of
 * *script. */
void python_lock_of(const struct python *python, struct sonde__view *view,
                    const struct python_thread *thread, struct sonde__script *script);
/* Does the runtime have this layout? Its lists must lead back to it. */
bool python_is_consistent(const struct python *python, struct sonde__view *view);

/* --- python_waiter.c --- */

/* The Task that awaits a Task, also through futures of asyncio's gather, wait, wait_for and shield,
 * or that opened its group; 0: none, or something else awaits it. */
uint64_t python_waiter_of(struct python *python, struct sonde__view *view, uint64_t task);
/* 3.11 on: the address and number of the values of an instance's attributes; 0: they are
 * elsewhere. */
uint64_t python_attributes_of(const struct python_layout *l, struct sonde__view *view,
                              uint64_t instance, uint32_t *ret_count);

#endif
