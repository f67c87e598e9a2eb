// SPDX-License-Identifier: Apache-2.0
#include "seen.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <xxhash.h>

/* 4 MiB. With four bits for a report, one of 2,000 is asked for in vain at a million reports, one
 * of five at ten million. The bits of a report are in one line of the cache. */
enum { LINES = 1 << 16, LINE_WORDS = 8, BITS = 4 };

struct seen {
    atomic_bool is_whole;
    _Atomic uint64_t words[LINES * LINE_WORDS];
};

struct seen *seen_begin(void)
{
    return calloc(1, sizeof(struct seen));
}

void seen_end(struct seen *seen)
{
    free(seen);
}

static uint64_t hash_of(uint32_t project, const struct report_id *id)
{
    return XXH3_64bits_withSeed(id, sizeof *id, project);
}

void seen_add(struct seen *seen, uint32_t project, const struct report_id *id)
{
    uint64_t hash = hash_of(project, id);
    _Atomic uint64_t *line = &seen->words[hash % LINES * LINE_WORDS];
    hash >>= 16;
    for (unsigned i = 0; i < BITS; i++, hash >>= 9) {
        atomic_fetch_or_explicit(&line[hash % 512 / 64], (uint64_t)1 << hash % 64,
                                 memory_order_relaxed);
    }
}

void seen_is_whole(struct seen *seen)
{
    atomic_store_explicit(&seen->is_whole, true, memory_order_release);
}

bool seen_may_have(const struct seen *seen, uint32_t project, const struct report_id *id)
{
    uint64_t hash = hash_of(project, id);
    const _Atomic uint64_t *line = &seen->words[hash % LINES * LINE_WORDS];
    if (!atomic_load_explicit(&seen->is_whole, memory_order_acquire)) {
        return true;
    }
    hash >>= 16;
    for (unsigned i = 0; i < BITS; i++, hash >>= 9) {
        uint64_t word = atomic_load_explicit(&line[hash % 512 / 64], memory_order_relaxed);
        if ((word >> hash % 64 & 1) == 0) {
            return false;
        }
    }
    return true;
}
