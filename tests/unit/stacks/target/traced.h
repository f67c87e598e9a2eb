// SPDX-License-Identifier: Apache-2.0
/* Tests of stops act right before or after a system call of the tracer: ptrace() and waitid() are
 * defined here, in libc's place, and make the real calls. */
#ifndef SONDE_TEST_TRACED_H
#define SONDE_TEST_TRACED_H

#include <stdint.h>
#include <sys/ptrace.h>

#include "target.h"

/* Call `what` before each such call; null: nothing. */
void before(enum __ptrace_request which, void (*what)(uint64_t tid));
extern int refusal; /* errno with which that call fails; 0: make the call */
/* Called once, after a look for a stop that has found none. */
extern void (*after_vain_look)(uint64_t tid);

/* Capture thread `i` by ptrace while it runs. */
struct sonde__capture capture_stopping(unsigned i);

#endif
