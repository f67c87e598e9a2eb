// SPDX-License-Identifier: Apache-2.0
/* The run loop of the main thread, as CoreFoundation tells its observers (CFRunLoop.h). */
#ifndef SONDE_HOST_RUN_LOOP_H
#define SONDE_HOST_RUN_LOOP_H

#include <sonde/status.h>

/* In the order of one pass. */
enum sonde__host_activity {
    SONDE__HOST_ENTERED, /* also a nested run of the loop */
    SONDE__HOST_SOURCES, /* input is handled next */
    SONDE__HOST_WAITS,
    SONDE__HOST_WOKE, /* timers, ports and blocks are handled next */
    SONDE__HOST_EXITED,
};
/* mode: in which the loop runs; a string that is never freed. Context: the main thread. */
typedef void sonde__host_run_loop_told(enum sonde__host_activity activity, const char *mode);

/* Tell of the loop in all its common modes, and while an app is launched, from now on for ever.
 * Before all other observers, but of a wait and of an exit after them: what they do is work, too.
 * Returns OK | UNSUPPORTED (CoreFoundation is not loaded) | MEMORY. Context: any thread; not
 * handler; once in a process. */
SONDE_NODISCARD enum sonde_status sonde__host_run_loop_observe(sonde__host_run_loop_told *told);

#endif
