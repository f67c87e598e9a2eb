// SPDX-License-Identifier: Apache-2.0
/* Captures other threads on systems that can stop them (os_stop.h): all are stopped, then walked,
 * then released. So their stacks are of one moment.
 *
 * Meanwhile nothing is allocated and no lock is taken: a stopped thread may hold any. The images
 * are found without dyld, and memory is read through the kernel. A walk cannot hang in a bad stack:
 * its depth is bounded (unwind_walk.h). Context: any thread; not handler. */
#ifndef SONDE_CAPTURE_STOPPED_H
#define SONDE_CAPTURE_STOPPED_H

#include <sonde/stack.h>

#include "os_stop.h"

struct sonde__stopped {
    struct sonde__os_stop stop;             /* given */
    struct sonde_stack stack;               /* prepared by sonde_stack_init() */
    struct sonde__os_stop_purpose *purpose; /* to be read at the same moment; null: it is not */
    enum sonde_status status; /* OK | ABSENT (it has ended) | USAGE (the calling thread) | OS */
    uint64_t handle;          /* private, as is the next one */
    bool is_stopped;
};

/* The threads run again when this returns, whatever failed. */
void sonde__capture_stopped(struct sonde__stopped *threads, uint32_t count);

#endif
