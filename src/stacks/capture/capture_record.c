// SPDX-License-Identifier: Apache-2.0
#include "capture_record.h"

#include <stddef.h>

/* A heap of code grows by pages, whose ranges the system shows as one if they are alike. If there
 * are more ranges, the frames of the others are searched for. */
enum { RANGES = 64 };

/* One that has changed its size has another entry. size: written last; 0: free, or not yet */
struct range {
    uint64_t start, size;
};

static struct range ranges[RANGES];
static uint32_t range_count;
static bool is_expected;

static uint64_t size_of(const struct range *range)
{
    return __atomic_load_n(&range->size, __ATOMIC_ACQUIRE);
}

bool sonde__capture_keeps_record(uint64_t pc)
{
    uint32_t count = __atomic_load_n(&range_count, __ATOMIC_RELAXED);
    for (uint32_t i = 0; i < count && i < RANGES; i++) {
        if (pc - ranges[i].start < size_of(&ranges[i])) {
            return true;
        }
    }
    return false;
}

static void add(uint64_t start, uint64_t end)
{
    uint32_t count = __atomic_load_n(&range_count, __ATOMIC_RELAXED);
    do {
        if (count >= RANGES) {
            return;
        }
    } while (!__atomic_compare_exchange_n(&range_count, &count, count + 1, true, __ATOMIC_RELAXED,
                                          __ATOMIC_RELAXED));
    ranges[count].start = start;
    __atomic_store_n(&ranges[count].size, end - start, __ATOMIC_RELEASE);
}

void sonde__capture_note_made(uint64_t start, uint64_t end)
{
    if (__atomic_load_n(&is_expected, __ATOMIC_ACQUIRE) && end > start &&
        !(sonde__capture_keeps_record(start) && sonde__capture_keeps_record(end - 1))) {
        add(start, end);
    }
}

void sonde__capture_expect_records(uint64_t start, uint64_t end)
{
    if (start != 0 && end > start) {
        add(start, end);
    }
    __atomic_store_n(&is_expected, true, __ATOMIC_RELEASE);
}
