// SPDX-License-Identifier: Apache-2.0
#include "capture_own_stack.h"

#include <stdbool.h>

#include "os.h"

/* The largest page of supported systems is 64 KiB, but the smallest decides: a probe of one byte
 * in each 4 KiB sees every page of any of them. */
enum { PAGE = 4096 };
/* Limit of pages probed together. Memory further out is read through the system. */
enum { PAGES_MAX = 32 };

__thread struct sonde__capture_seen sonde__capture_seen;

static uint64_t page_of(uint64_t address)
{
    return address & ~(uint64_t)(PAGE - 1);
}

/* Is it the page of this function's frame or of its thread's variables? These need no probe. */
static bool is_ours(uint64_t page)
{
    return page == page_of((uint64_t)(uintptr_t)__builtin_frame_address(0)) ||
           page == page_of((uint64_t)(uintptr_t)&sonde__capture_seen);
}

/* Probe pages from `end` outward. Returns the end of the readable ones: at `to`, or one page
 * more. Probes two at a time: most first stacks of a thread end in the second page. */
static uint64_t see_pages(uint64_t end, uint64_t to, uint64_t limit)
{
    while (end < to) {
        uint64_t page = page_of(end);
        uint64_t next = page + PAGE;
        if (is_ours(page)) {
            end = next;
        } else if (next < limit && !is_ours(next) && sonde__os_can_read_across(next)) {
            end = next + PAGE;
        } else if (sonde__os_can_read(page)) {
            end = next;
        } else {
            break;
        }
    }
    return end < limit ? end : limit;
}

static struct sonde__capture_seen recall(void)
{
    const volatile struct sonde__capture_seen *seen = &sonde__capture_seen;
    struct sonde__capture_seen copy = {.version = seen->version};
    copy.start = seen->start;
    copy.end = seen->end;
    copy.limit = seen->limit;
    return copy.version == seen->version ? copy : (struct sonde__capture_seen){.version = 0};
}

static void remember(uint64_t start, uint64_t end, uint64_t limit)
{
    volatile struct sonde__capture_seen *seen = &sonde__capture_seen;
    uint32_t version = seen->version + 1;
    seen->version = version;
    seen->end = 0; /* an empty range until all is written */
    seen->start = start;
    seen->limit = limit;
    seen->end = end;
    if (seen->version != version) {
        seen->end = 0; /* a handler interrupted, and `start` may be its own */
    }
}

uint64_t sonde__capture_own_stack_to(uint64_t sp, uint64_t to)
{
    struct sonde__capture_seen seen = recall();
    uint64_t start = sp;
    uint64_t end = sp;
    uint64_t limit = seen.limit;
    if (sp >= seen.start && sp < seen.end) {
        start = seen.start;
        end = seen.end;
    } else if (!sonde__os_own_stack_end(sp, &limit)) {
        return sp;
    } else if (sp < seen.start && seen.start < seen.end &&
               seen.start - sp <= (uint64_t)PAGES_MAX * PAGE) {
        /* deeper than before, or another stack if a gap is between */
        end = see_pages(sp, seen.start, seen.start);
        if (end == seen.start) {
            end = seen.end;
            limit = seen.limit;
        } else {
            limit = end;
        }
    }
    to = to < limit ? to : limit;
    if (end < to && to - end <= (uint64_t)PAGES_MAX * PAGE) {
        end = see_pages(end, to, limit);
        limit = end < to ? end : limit;
    }
    if (end > start && (end != seen.end || start != seen.start)) {
        remember(start, end, limit);
    }
    return end;
}

uint64_t sonde__capture_own_stack(uint64_t sp)
{
    return sonde__capture_own_stack_to(sp, sp + (uint64_t)PAGES_MAX * PAGE);
}
