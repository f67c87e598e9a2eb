// SPDX-License-Identifier: Apache-2.0
/* What ends a program, or stops it, beside its own faults. Context: any thread; not handler. */
#ifndef SONDE_HOST_LIFE_H
#define SONDE_HOST_LIFE_H

#include <stdbool.h>
#include <stdint.h>

/* The boot of the machine that lasts, as a hash. 0: not known. */
uint64_t sonde__host_boot(void);
/* The build of this process' program, as a hash: an update has another one. 0: not known; Linux,
 * where a folder of reports belongs to many programs. */
uint64_t sonde__host_program(void);
/* Is this process an app extension (Apple's systems)? Its host suspends and ends it at any time. */
bool sonde__host_is_extension(void);
/* Is a debugger attached to this process? Linux tells it of each thread (host_run.h): false. */
bool sonde__host_is_traced(void);
/* May the system end this process soon because of its memory (iOS: its own limit is near)? */
bool sonde__host_is_short_of_memory(void);

#endif
