// SPDX-License-Identifier: Apache-2.0
/* Foundation's threads, where the process has that: found by name, never linked. Context: any
 * thread; not handler. Blocks: on the runtime's and Foundation's locks. */
#ifndef SONDE_HOST_NSTHREAD_H
#define SONDE_HOST_NSTHREAD_H

#include <stdbool.h>

#include <sonde/status.h>

struct sonde__host_nsthread {
    bool is_main, is_current;
    bool is_running; /* begun, and not finished */
};
/* What an object says of itself. Returns OK | USAGE (it is no NSThread) | UNSUPPORTED (there is no
 * such class). */
SONDE_NODISCARD enum sonde_status sonde__host_nsthread_ask(const void *thread,
                                                           struct sonde__host_nsthread *ret_told);
/* The calling thread's. Null: there is no such class. */
const void *sonde__host_nsthread_current(void);

/* After an answer OK: give it a name. Returns the name before, which may be null; to be given to
 * _restore(), which does nothing to the name if it is another one by now. */
SONDE_NODISCARD void *sonde__host_nsthread_rename(const void *thread, const char *name);
void sonde__host_nsthread_restore(const void *thread, const char *name, void *before);

#endif
