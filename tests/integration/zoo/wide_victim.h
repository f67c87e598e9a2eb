// SPDX-License-Identifier: Apache-2.0
/* A thread that waits for a lock of the injected thread stalls with it: that report is right. */
#ifndef SONDE_TEST_ZOO_WIDE_VICTIM_H
#define SONDE_TEST_ZOO_WIDE_VICTIM_H

#include "json.h"

/* Does `stall`, of another thread, have an edge from its thread to `tid` as the owner of a lock,
 * and does most of it fall into the time from begin_ns on? Times are since the begin of the report.
 */
bool wide_is_victim(const struct json *stall, int64_t tid, int64_t begin_ns, int64_t duration_ns);

#endif
