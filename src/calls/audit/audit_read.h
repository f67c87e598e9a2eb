// SPDX-License-Identifier: Apache-2.0
/* Recorded calls into a report: stacks with names, and counts. The program's data is not
 * trusted. Context: any thread. */
#ifndef SONDE_AUDIT_READ_H
#define SONDE_AUDIT_READ_H

#include "audit_list.h"
#include "audit_ruling.h"
#include "audit_stacks.h"
#include "report_line.h"
#include "report_model.h"
#include "symfile_cache.h"

/* Frames that the depot has room for: sonde_depot_create()'s default. */
#define SONDE__AUDIT_NODES 262144u

struct sonde__audit_totals {
    uint64_t calls;
    uint64_t lost;       /* of these, without room for their stack */
    uint64_t cut;        /* of these, with a stack cut because its thread's budget was used up */
    uint64_t entries;    /* pairs of function and stack */
    uint64_t bytes;      /* memory of the stacks, without counters */
    uint64_t impossible; /* records of calls that cannot be, and are left out: damaged memory */
    uint32_t images_lost;
    bool is_confined;        /* it limits its system calls: what it loaded later is not looked at */
    uint64_t script_missing; /* calls of scripts whose functions are not shown */
    char script_why[96];     /* of one of them */
    const char *script_language; /* of these functions; null: Python */
    char script_unread[64]; /* why there are none at all; "": there are, or no interpreter was found
                             */
};

struct sonde__audit_reading {
    const struct sonde__record_page *page; /* a copy (audit_page.h) of the one at `memory` */
    const void *memory;                    /* behind the page is the record */
    uint32_t nodes;                        /* that it was made for */
    const struct sonde__audit_list *list;
    const struct sonde__audit_ruling *ruling; /* calls become findings of its rules; null: none */
    uint64_t start_ns;                        /* of the program, by the monotonic clock */
};

/* symbols: may be null (no names). Returns OK | MEMORY (what there was room for is in the
 * report). */
SONDE_NODISCARD enum sonde_status sonde__audit_read(const struct sonde__audit_reading *reading,
                                                    struct sonde__symfile_cache *symbols,
                                                    struct sonde__report *report,
                                                    struct sonde__audit_totals *ret_totals);

/* Print a line for each blind spot ("libcrypto.so.3: getenv: ..."). Without `all` only those
 * of functions of which no call is recorded. page: a copy */
void sonde__audit_print_blind_spots(const struct sonde__record_page *page,
                                    const struct sonde__audit_list *list, bool all,
                                    struct sonde__report_lines lines);

#endif
