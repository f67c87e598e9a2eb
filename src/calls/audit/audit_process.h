// SPDX-License-Identifier: Apache-2.0
/* The registry of blocks of a running program, from outside: a copy, made on opening, of what the
 * program shares with the `sonde run --blocks` that started it, or of what it keeps by itself
 * (sonde/block_registry.h).
 *
 * Passive: the program is not stopped, none of it is run or written, and pages that it has not
 * touched are not read. Nothing in the copy is trusted: the program may have overwritten any of it.
 * Swapped pages count as untouched. Context: any thread, one at a time. */
#ifndef SONDE_AUDIT_PROCESS_H
#define SONDE_AUDIT_PROCESS_H

#include <sonde/status.h>

#include "audit_stacks.h"
#include "registry.h"
#include "report_model.h"
#include "symfile_cache.h"
#include "target.h"

struct sonde__audit_process;

/* target: borrowed, and not refreshed meanwhile. Returns OK | ABSENT (it has no registry) |
 * UNSUPPORTED (that of another build of sonde) | CORRUPT | MEMORY | as reading the map. Ownership:
 * close it. */
SONDE_NODISCARD enum sonde_status
sonde__audit_process_open(struct sonde__target *target, struct sonde__audit_process **ret_process,
                          struct sonde_error *ret_error);
/* process: may be null */
void sonde__audit_process_close(struct sonde__audit_process *process);

/* Times in it are of the monotonic clock. */
const struct sonde__registry *sonde__audit_process_registry(const struct sonde__audit_process *p);

/* As sonde__audit_stacks_open(). */
SONDE_NODISCARD enum sonde_status
sonde__audit_process_stacks(const struct sonde__audit_process *process,
                            struct sonde__symfile_cache *symbols, struct sonde__report *report,
                            struct sonde__audit_stacks **ret_stacks);

#endif
