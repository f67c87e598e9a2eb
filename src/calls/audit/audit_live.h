// SPDX-License-Identifier: Apache-2.0
/* What is new while a program is recorded: each pair of a rule's function and a stack of the
 * program's own frames, once, soon after its first call. Context: any thread, one at a time. */
#ifndef SONDE_AUDIT_LIVE_H
#define SONDE_AUDIT_LIVE_H

#include "audit_new.h"
#include "audit_read.h"

struct sonde__audit_live;

/* reading: without page. phases: the page that has them, if not that at reading->memory; null:
 * that. What is given, and symbols (may be null), must live as long. Null: out of memory.
 * Ownership: sonde__audit_live_close(). */
struct sonde__audit_live *sonde__audit_live_open(const struct sonde__audit_reading *reading,
                                                 const void *phases,
                                                 struct sonde__symfile_cache *symbols);
/* live: may be null */
void sonde__audit_live_close(struct sonde__audit_live *live);

/* Look at what was counted since the last look. A call without room for its stack is not new.
 * Returns OK | MEMORY (the rest is told by the next look). */
SONDE_NODISCARD enum sonde_status sonde__audit_live_look(struct sonde__audit_live *live,
                                                         sonde__audit_on_new *each, void *ctx);

#endif
