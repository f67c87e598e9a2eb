// SPDX-License-Identifier: Apache-2.0
/* The worker: reads the journal, and puts each report into the store, with its file and its groups.
 * A report counts once, also if the collector is killed at any time: what the store has and how far
 * the journal was read are one transaction. */
#ifndef SONDE_COLLECTOR_WORKER_H
#define SONDE_COLLECTOR_WORKER_H

#include "blob.h"

struct worker;

struct worker_counts {
    uint64_t stored, known, unread, failed; /* reports; failed: tries that the store refused */
    uint64_t journal_failed;                /* tries to read the journal that failed */
    bool is_journal_unreadable;             /* the last one did */
};

struct symbols; /* symbols.h */

/* Start it. blobs: reports' files. guard: the path of a file (guard.h). Returns 0 or an errno.
 * Ownership: worker_stop(). */
int worker_start(struct store *store, struct journal *journal, const struct blobs *blobs,
                 struct symbols *symbols, const char *guard, struct worker **ret_worker);
/* End it after the current batch; what is left in the journal is for the next start. */
void worker_stop(struct worker *worker);
struct worker_counts worker_counts(struct worker *worker);
/* Where it reads. */
struct journal_place worker_place(struct worker *worker);

#endif
