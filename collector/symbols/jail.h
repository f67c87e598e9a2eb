// SPDX-License-Identifier: Apache-2.0
/* Takes from the calling process what it does not need to read a file that it has open: other
 * files, the network, other processes, and more memory, time and disk than a symbol file is worth.
 * A call that is not on the list ends the process (SIGSYS); opening a file fails with ENOENT, as
 * if there were none, because the libraries try that. Linux: resource limits and seccomp(2). */
#ifndef SONDE_COLLECTOR_JAIL_H
#define SONDE_COLLECTOR_JAIL_H

#include <stdint.h>

struct jail {
    uint64_t memory_bytes; /* address space */
    uint64_t output_bytes; /* of a file */
    uint32_t cpu_seconds;
};

/* Returns 0 or an errno: then the process has only some of the limits and must not go on. */
int jail_enter(const struct jail *jail);

#endif
