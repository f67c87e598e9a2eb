// SPDX-License-Identifier: Apache-2.0
/* All threads as of one moment.
 *
 * Blocked threads are looked at and read first, then the running ones are parked, then every
 * blocked one is looked at again while those stand still. What has not run between the two looks
 * was where its stack says at any time in between, and so at the moment when the last running
 * thread stood still. What did run is read, or asked to park, in another round, while the others
 * still stand. The snapshot is consistent if a round finds nothing new.
 *
 * A thread stands still when it is parked, and as well when the signal is there for it and it has
 * no CPU: the kernel leads it into our handler before anything of the program. So nobody waits for
 * time slices: all are let go, and such a thread writes its stack when it gets a CPU, of that
 * moment all the same. Only where more are missing than will come in the time that is left, the
 * others are held until fewer are: a parked thread leaves its CPU to them.
 *
 * From the first question to the release nothing is allocated, no lock is taken and no libc is
 * called: a parked thread may hold any of them. Context: normal; one at a time. */
#ifndef SONDE_CAPTURE_PICTURE_H
#define SONDE_CAPTURE_PICTURE_H

#include "arch_regs.h"
#include "capture_roster.h"

struct sonde__snapshot {
    /* given */
    struct sonde__roster *roster; /* prepared */
    const struct sonde__regs *caller;
    uint32_t skip; /* of the calling thread's stack */
    bool may_signal;
    int32_t signal;
    uint64_t timeout_ns;
    /* called before the first question, if there is any; returns the handler's address, or 0 */
    uint64_t (*set_handler)(void);
    /* result */
    uint64_t stop_ns; /* from the first question to the release */
    uint32_t unchanged;
    uint32_t rounds;
    bool is_consistent;
    bool is_handler_set; /* set_handler() was called and succeeded */
};

/* Take it: every thread of the roster is READ, PARKED, SELF, FAILED or GONE then. Returns OK | as
 * sonde__os_list_threads(). */
SONDE_NODISCARD enum sonde_status sonde__capture_snapshot(struct sonde__snapshot *snapshot);

#endif
