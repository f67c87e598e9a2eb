// SPDX-License-Identifier: Apache-2.0
/* The filters of projects, in the transaction of the events that they drop: what they dropped is
 * counted if and only if the report is there. They are read once in each transaction, so a change
 * counts from the next one on. For the writer. */
#ifndef SONDE_COLLECTOR_SIEVE_H
#define SONDE_COLLECTOR_SIEVE_H

#include "store.h"

struct sieve;

struct sieve *sieve_begin(void);
void sieve_end(struct sieve *sieve);
/* A transaction begins: filters may have changed. What is not written is forgotten. */
void sieve_renew(struct sieve *sieve);

/* A report comes, with its number. */
enum store_status sieve_open(struct store *store, const struct store_report *report,
                             int64_t number);
/* Is this event of it dropped, by the first filter that does? Then it is counted. */
bool sieve_drops(struct store *store, const struct digest_event *event);
/* All its events were seen: keep what was dropped, to take it back, if the report waits for
 * symbols, and write it into the report's note. is_again: the note may say so already. */
enum store_status sieve_close(struct store *store, bool is_again);

/* Write the sums. */
enum store_status sieve_flush(struct store *store);
/* Take what was dropped of a report that waited back from the sums. */
enum store_status sieve_take_back(struct store *store, int64_t report);

#endif
