// SPDX-License-Identifier: Apache-2.0
/* A tracer thread for another thread.
 *
 * ptrace ties a tracee to the thread that seized it. A tracee that does not stop in time (a long
 * system call, a vfork parent) cannot be detached: PTRACE_DETACH needs a stopped thread, and the
 * stop comes later, when nobody waits for it. But when a tracer thread ends, the kernel releases
 * all its tracees under one lock: stopped ones, those about to stop (the request is withdrawn),
 * exited ones, and those that executed another program and have another tid. So a caller that
 * cannot detach ends the tracer thread. A killed process releases its tracees the same way.
 * Context: any thread, one at a time. */
#ifndef SONDE_HOST_TRACER_H
#define SONDE_HOST_TRACER_H

#include <sonde/status.h>

struct sonde__host_tracer;

/* Returns OK | MEMORY | OS (no more threads). Ownership: sonde__host_tracer_end(). */
SONDE_NODISCARD enum sonde_status sonde__host_tracer_start(struct sonde__host_tracer **ret_tracer);

/* Run work(ctx) on the tracer thread. Blocks: until it has returned. */
void sonde__host_tracer_run(struct sonde__host_tracer *tracer, void (*work)(void *ctx), void *ctx);

/* End the tracer thread; may be null. On return its tracees are released and go on as if never
 * traced: a signal that one stopped for is delivered, a group stop stays. */
void sonde__host_tracer_end(struct sonde__host_tracer *tracer);

#endif
