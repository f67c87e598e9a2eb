// SPDX-License-Identifier: Apache-2.0
/* What debuginfod servers answered of build-ids, so that none is asked again too soon: a table of a
 * fixed size in memory. Of a full one the entries that end first make room: their ids are asked
 * again sooner. Context: one thread. */
#ifndef SONDE_COLLECTOR_ASKED_H
#define SONDE_COLLECTOR_ASKED_H

#include <stdbool.h>
#include <stdint.h>

#include "image_set.h"

/* ids of other sizes are not asked for: linkers compute SHA-1 of an ELF. */
enum { ASKED_ID = 20, ASKED_SETS = 2048, ASKED_WAYS = 8 };
#define ASKED_DAY_S ((uint64_t)86400)

struct asked;

/* retry_seconds: after the first failure of an id. Null: no memory. Ownership: asked_end(). */
struct asked *asked_begin(uint32_t retry_seconds);
void asked_end(struct asked *asked);

/* May one ask for an id now? *ret_absent: the servers that do not have it, as bits. now_ns: of a
 * clock that does not go back. */
bool asked_is_due(struct asked *asked, const struct sonde__build_id *id, uint64_t now_ns,
                  uint32_t *ret_absent);
/* No server has it: it is due in a day, at all of them. */
void asked_keep_absent(struct asked *asked, const struct sonde__build_id *id, uint64_t now_ns);
/* Some server failed: it is due after a while, which doubles each time, at those that did not say
 * that it is absent. */
void asked_keep_failed(struct asked *asked, const struct sonde__build_id *id, uint64_t now_ns,
                       uint32_t absent);
/* The wait after so many failures, from 1: retry_seconds, doubled each time, at most max_seconds.
 */
uint64_t asked_wait_s(uint32_t retry_seconds, uint32_t failures, uint64_t max_seconds);

#endif
