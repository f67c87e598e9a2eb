// SPDX-License-Identifier: Apache-2.0
/* Which reports may be in the store: a Bloom filter over their ids, so that a new report, which
 * most are, is known to be new without a question to the database. It may take a new report for a
 * known one, never the other way round: what it takes for known is asked for. Context: any thread.
 */
#ifndef SONDE_COLLECTOR_SEEN_H
#define SONDE_COLLECTOR_SEEN_H

#include <stdbool.h>

#include "ids.h"

struct seen;

/* Null: no memory. Until seen_is_whole() each report may be known. Ownership: seen_end(). */
struct seen *seen_begin(void);
void seen_end(struct seen *seen);
void seen_add(struct seen *seen, uint32_t project, const struct report_id *id);
/* All reports of the store were added, and each new one will be. */
void seen_is_whole(struct seen *seen);
bool seen_may_have(const struct seen *seen, uint32_t project, const struct report_id *id);

#endif
