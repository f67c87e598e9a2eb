// SPDX-License-Identifier: Apache-2.0
/* The completer: a thread that names and groups anew the reports that waited for symbols which have
 * come. It goes on after a restart: what waits is in the store.
 *
 * No report is missed: a report that was read without an index is in the store when the transaction
 * that read it has ended, and the completer asks in a later transaction, after the index was there
 * for all. */
#ifndef SONDE_COLLECTOR_COMPLETER_H
#define SONDE_COLLECTOR_COMPLETER_H

#include "blob.h"
#include "store.h"
#include "symbols.h"

struct completer;

/* Start it. blobs: reports' files. guard: the path of a file (guard.h). Returns 0 or
 * an errno. Ownership: completer_stop(). */
int completer_start(struct store *store, const struct blobs *blobs, struct symbols *symbols,
                    const char *guard, struct completer **ret_completer);
/* After symbols_end(). */
void completer_stop(struct completer *completer);
/* Reports that were grouped anew since the start. */
uint64_t completer_done(struct completer *completer);

#endif
