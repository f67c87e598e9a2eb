// SPDX-License-Identifier: Apache-2.0
/* A ring of the times of the last `count` calls: a call replaces the one that was made `count`
 * calls before it, and exceeds the limit if that is too recent. */
#include "when_limit.h"

bool sonde__when_exceeds(const struct sonde__when *when, uint32_t index,
                         struct sonde__when_times *times, uint64_t now_ns)
{
    const struct sonde__when_limit *limit = &when->limits[index];
    uint64_t now = now_ns + (now_ns == 0); /* 0: no call yet */
    uint64_t call = atomic_fetch_add_explicit(&times->calls[index], 1, memory_order_relaxed);
    uint64_t before = atomic_exchange_explicit(&times->ns[limit->first + call % limit->count], now,
                                               memory_order_relaxed);
    return before != 0 && (now <= before || now - before < limit->ns);
}
