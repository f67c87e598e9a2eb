// SPDX-License-Identifier: Apache-2.0
/* Begins a phase of a running audit, from another process. Context: any thread. */
#ifndef SONDE_AUDIT_MARK_H
#define SONDE_AUDIT_MARK_H

#include <sonde/status.h>

#include "target.h"

enum { SONDE__AUDIT_PHASE_NAME = 64 }; /* bytes of a name, with the last NUL */

/* In the memory of a record (record_page.h), from its supervisor. False: no room. */
bool sonde__audit_begin_phase(void *memory, const char *name);

/* The same from any process. target: a program that `sonde run --audit` runs. When this returns OK,
 * all calls that begin later count in the phase. Returns OK | ABSENT (it is not run by sonde) |
 * UNSUPPORTED (that of another build, or without rules) | LIMIT (no room for another phase) |
 * as reading the map. */
SONDE_NODISCARD enum sonde_status sonde__audit_mark(struct sonde__target *target, const char *name,
                                                    struct sonde_error *ret_error);

#endif
