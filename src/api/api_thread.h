// SPDX-License-Identifier: Apache-2.0
/* Shared by the files that implement thread.h. Context: any thread. */
#ifndef SONDE_API_THREAD_H
#define SONDE_API_THREAD_H

#include <stdbool.h>

#include <sonde/thread.h>

#include "arch_regs.h"
#include "os_stop.h"
#include "target.h"

/* The capture functions behind capture_entry.S: `caller` holds the registers of frame 0. */
enum sonde_status sonde__api_thread_capture(uint64_t tid,
                                            const struct sonde_capture_options *options,
                                            struct sonde_stack *stack,
                                            struct sonde_captured *ret_captured,
                                            const struct sonde__regs *caller);
enum sonde_status sonde__api_threads_capture(const struct sonde_capture_options *options,
                                             struct sonde_stack *stack, sonde_thread_each each,
                                             void *ctx, const struct sonde__regs *caller);

enum sonde_status sonde__api_threads_snapshot(const struct sonde_capture_options *options,
                                              struct sonde_stack *stack, sonde_thread_each each,
                                              void *ctx, struct sonde_snapshot *ret_snapshot,
                                              const struct sonde__regs *caller);

/* --- other threads, by what the system allows: api_thread_passive.c and api_thread_describe.c, or
 * api_thread_stop.c. A thread is referred to once, and then asked: by its number alone, Darwin
 * finds it only in a list of all --- */

/* Refer to all threads that fit, in any order. Returns OK | OS | MEMORY | ...
 * Ownership: ..._release() for each of the first `capacity` ones. */
SONDE_NODISCARD enum sonde_status sonde__api_thread_refer_all(struct sonde__os_stop *ret_threads,
                                                              size_t capacity, size_t *ret_total);
/* Refer to one thread. Returns OK (also if it is unknown whether it is there) | ABSENT | OS. */
SONDE_NODISCARD enum sonde_status sonde__api_thread_refer(uint64_t tid,
                                                          struct sonde__os_stop *ret_thread);
void sonde__api_thread_release(const struct sonde__os_stop *thread);

/* Can they be captured at all? The answer is for sonde__api_other_capture(). */
enum sonde_status sonde__api_other_check(void);
/* Capture a thread, not the calling one. Returns as sonde_thread_capture(). */
SONDE_NODISCARD enum sonde_status
sonde__api_other_capture(const struct sonde__os_stop *thread,
                         const struct sonde_capture_options *options, enum sonde_status check,
                         struct sonde_stack *stack, struct sonde_captured *captured);
/* The name of any thread, cut to fit. Returns OK | ABSENT | ... */
SONDE_NODISCARD enum sonde_status sonde__api_thread_name(const struct sonde__os_stop *thread,
                                                         char *name, size_t capacity);
/* Current name and state of any thread. Returns OK | ABSENT | ... */
SONDE_NODISCARD enum sonde_status sonde__api_thread_describe(const struct sonde__os_stop *thread,
                                                             struct sonde_thread *ret_thread);

/* --- */

/* Refer to the threads of this process: the main thread, then ascending. Returns OK | MEMORY |
 * UNREADABLE. Ownership: sonde__api_threads_close(). */
SONDE_NODISCARD enum sonde_status sonde__api_threads_open(struct sonde__os_stop **ret_threads,
                                                          size_t *ret_count);
void sonde__api_threads_close(struct sonde__os_stop *threads, size_t count);

/* Have a running thread capture itself. Our handler is set only during the call. */
SONDE_NODISCARD enum sonde_status sonde__api_signal_capture(uint64_t tid, uint64_t timeout_ns,
                                                            struct sonde_stack *stack,
                                                            struct sonde_captured *captured);

/* The signal for running threads; its default action is to be ignored. */
#define SONDE__API_SIGNAL SIGURG

/* Several signals with one handler: begin, set (lock-free, optional), send, end. Begin returns OK |
 * BUSY (another request lasted for all of timeout_ns). */
SONDE_NODISCARD enum sonde_status sonde__api_signal_begin(uint64_t timeout_ns);
/* Returns the handler's address; 0: it could not be set. */
uint64_t sonde__api_signal_set(void);
/* is_set: ..._set() succeeded. is_unanswered: a signal may still be pending. */
void sonde__api_signal_end(bool is_set, bool is_unanswered);

/* Call in a fork child: there is no request. */
void sonde__api_signal_after_fork(void);

/* How a thread was captured, as reports and the watch have it. */
void sonde__api_capture_of(const struct sonde_captured *captured,
                           struct sonde__capture *ret_capture);

/* Copy a result; the arrays of `to`, which are as large, stay its own. */
void sonde__api_stack_copy(const struct sonde_stack *from, struct sonde_stack *to);

/* Give a stack arrays on the heap, for sonde_stack_free(). False: no memory. */
bool sonde__api_stack_alloc(struct sonde_stack *ret_stack, uint32_t capacity, uint32_t outer);

/* Fill in defaults. False: the options contradict each other. */
bool sonde__api_capture_options(const struct sonde_capture_options *given, uint64_t timeout_ns,
                                struct sonde_capture_options *ret_options);

#endif
