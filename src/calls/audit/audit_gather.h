// SPDX-License-Identifier: Apache-2.0
/* What was read from the recordings of several processes: one report, and sums. Context: any
 * thread, one at a time. */
#ifndef SONDE_AUDIT_GATHER_H
#define SONDE_AUDIT_GATHER_H

#include "audit_read.h"
#include "record_family.h"

struct sonde__audit_gathered;

/* Null: no memory. */
struct sonde__audit_gathered *sonde__audit_gathered_create(void);
void sonde__audit_gathered_destroy(struct sonde__audit_gathered *gathered); /* may be null */

struct sonde__audit_member {
    int32_t pid, parent_pid;
    char executable[SONDE__FAMILY_PATH];
};
/* Add a process. most: processes with stacks; a later one's calls are added to those of all such.
 * phases: of the first process' page */
void sonde__audit_gather(struct sonde__audit_gathered *gathered,
                         const struct sonde__audit_member *member,
                         const struct sonde__audit_reading *reading, const void *phases,
                         struct sonde__symfile_cache *symbols, uint32_t most);

/* Add what is known for rules to a copy of the first process' page. */
void sonde__audit_gathered_note(const struct sonde__audit_gathered *gathered,
                                struct sonde__record_page *page);
void sonde__audit_gathered_add(const struct sonde__audit_gathered *gathered,
                               struct sonde__report *report, struct sonde__audit_totals *totals);

struct sonde__audit_gathered_counts {
    uint32_t processes;
    uint32_t together; /* of these, those whose calls are counted together */
    uint32_t silent;   /* their recorder did not start */
    uint32_t damaged;  /* their page was, and they are left out */
    uint32_t no_memory;
};
void sonde__audit_gathered_count(const struct sonde__audit_gathered *gathered,
                                 struct sonde__audit_gathered_counts *counts); /* adds */

#endif
