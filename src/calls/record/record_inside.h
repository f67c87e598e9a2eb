// SPDX-License-Identifier: Apache-2.0
/* The recorder of `sonde run --audit` (recorder/) inside libsonde, for an app that starts an audit
 * itself. It runs once in the life of a process: a thread may be in a thunk when it ends, so its
 * memory is never given back. A fork child is not recorded. Context: any thread, one at a time. */
#ifndef SONDE_RECORD_INSIDE_H
#define SONDE_RECORD_INSIDE_H

#include <stdbool.h>
#include <stdint.h>

#include <sonde/status.h>

/* The one run of it; false: other functions are hooked, or it is taken. Give it back only if
 * sonde__record_inside_begin() was not called. */
bool sonde__record_inside_claim(void);
void sonde__record_inside_release(void);

/* After a claim. memory: shared, as `sonde run` lays it out: a page (probe_page.h) that says where
 * the plugin's page (record_page.h) is, which is filled, and the record behind that. Returns OK |
 * MEMORY | UNSUPPORTED (the system cannot hide the memory from fork children). */
SONDE_NODISCARD enum sonde_status sonde__record_inside_begin(void *memory);
/* Log what was loaded last, and hook no more. Calls that have begun may still be counted. */
void sonde__record_inside_end(void);

/* Calls of this thread are not recorded between these; they nest. */
void sonde__record_inside_enter(void);
void sonde__record_inside_leave(void);

/* Begin a phase of the audit that runs, if one does. */
void sonde__record_inside_phase(const char *name, uint32_t consent);

#endif
