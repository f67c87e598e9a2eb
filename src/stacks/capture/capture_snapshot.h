// SPDX-License-Identifier: Apache-2.0
/* A snapshot of all threads as of one moment.
 *
 * The collector first checks and reads the blocked threads. Then it parks the running threads, and
 * checks every blocked thread again while they are parked. A thread that has not run between its
 * two checks was at its stack all that time, and so at the moment when the last running thread
 * stopped. A thread that has run is read, or asked to park, in another round, while the others stay
 * parked. The snapshot is consistent if a round finds nothing new.
 *
 * A parked thread is stopped. So is a thread with a pending signal and without a CPU: the kernel
 * runs our handler before any code of the program. So the collector waits for no time slices. After
 * the release, such a thread writes its stack when it gets a CPU; that is its stack as of the
 * snapshot. If more threads are missing than can answer in the time that is left, the others stay
 * parked until fewer are missing: a parked thread leaves its CPU to them.
 *
 * From the first request to the release, the collector allocates nothing, takes no lock and
 * calls no libc: a parked thread may hold any lock. Context: normal; one at a time. */
#ifndef SONDE_CAPTURE_SNAPSHOT_H
#define SONDE_CAPTURE_SNAPSHOT_H

#include "arch_regs.h"
#include "capture_roster.h"

struct sonde__snapshot {
    /* given */
    struct sonde__roster *roster; /* prepared */
    const struct sonde__regs *caller;
    uint32_t skip; /* frames of the calling thread */
    bool may_signal;
    int32_t signal;
    uint64_t timeout_ns;
    /* called before the first request, if any; returns the handler's address, or 0 */
    uint64_t (*set_handler)(void);
    /* result */
    uint64_t stop_ns; /* from the first request to the release */
    uint32_t unchanged;
    uint32_t rounds;
    bool is_consistent;
    bool is_handler_set; /* set_handler() was called and succeeded */
};

/* Take a snapshot. Then every thread of the roster is READ, PARKED, SELF, FAILED or GONE.
 * Returns OK | as sonde__os_list_threads(). */
SONDE_NODISCARD enum sonde_status sonde__capture_snapshot(struct sonde__snapshot *snapshot);

#endif
