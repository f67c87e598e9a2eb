// SPDX-License-Identifier: Apache-2.0
/* A thread that traces for another one.
 *
 * ptrace ties a tracee to the thread that seized it. A tracee that does not stop in time (one long
 * call in the kernel, a vfork parent) cannot be detached: PTRACE_DETACH needs a stopped thread, and
 * the stop that was asked for comes later, when nobody may wait for it any more. But when a tracer
 * thread ends, the kernel releases all that it traced, under one lock: threads that have stopped,
 * that will stop (the request is withdrawn), that have exited, and those that executed another
 * program and bear another tid. So whoever cannot detach ends the thread that traced. A process
 * that is killed releases its tracees the same way. Context: any thread, one at a time. */
#ifndef SONDE_HOST_TRACER_H
#define SONDE_HOST_TRACER_H

#include <sonde/status.h>

struct sonde__host_tracer;

/* Returns OK | MEMORY | OS (no more threads). Ownership: sonde__host_tracer_end(). */
SONDE_NODISCARD enum sonde_status sonde__host_tracer_start(struct sonde__host_tracer **ret_tracer);

/* Run work(ctx) on the thread. Blocks: until it has returned. */
void sonde__host_tracer_run(struct sonde__host_tracer *tracer, void (*work)(void *ctx), void *ctx);

/* End the thread; null: nothing to do. What it still traced is released when this returns, and goes
 * on as if it had not been traced: a signal that it stopped for is delivered, a group stop lasts.
 */
void sonde__host_tracer_end(struct sonde__host_tracer *tracer);

#endif
