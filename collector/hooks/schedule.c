// SPDX-License-Identifier: Apache-2.0
#include "schedule.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#define SECOND_NS   ((uint64_t)1000000000u)
#define WAIT_MOST_S 86400u
/* Between two looks at least: a look is a question to the database. */
#define LOOK_LEAST 10u

const struct schedule schedule_default = {{5, 300, 1800, 7200, 18000, 36000, 50400, 72000, 86400},
                                          9};

bool schedule_parse(const char *text, struct schedule *ret_schedule)
{
    struct schedule schedule = {.count = 0};
    for (;;) {
        size_t digits = strspn(text, "0123456789");
        unsigned long seconds = digits != 0 && digits < 10 ? strtoul(text, NULL, 10) : ULONG_MAX;
        if (seconds > SCHEDULE_WAIT_MAX || schedule.count == SCHEDULE_WAITS_MAX) {
            return false;
        }
        schedule.seconds[schedule.count++] = (uint32_t)seconds;
        text += digits;
        if (*text == '\0') {
            *ret_schedule = schedule;
            return true;
        }
        if (*text++ != ',') {
            return false;
        }
    }
}

bool schedule_wait(const struct schedule *schedule, uint32_t tries, uint64_t retry_after_s,
                   uint32_t random, uint64_t *ret_wait_ns)
{
    if (tries == 0 || tries > schedule->count) {
        return false;
    }
    uint64_t asked_s = retry_after_s < WAIT_MOST_S ? retry_after_s : WAIT_MOST_S;
    uint64_t wait_s = schedule->seconds[tries - 1];
    uint64_t wait_ns = (wait_s > asked_s ? wait_s : asked_s) * SECOND_NS;
    *ret_wait_ns =
        wait_ns + (wait_ns / 5 >> 32) * random + ((wait_ns / 5 & UINT32_MAX) * random >> 32);
    return true;
}

/* --- spikes --- */

static int compare(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

static uint64_t median(uint64_t *numbers, uint32_t count)
{
    if (count == 0) {
        return 0;
    }
    qsort(numbers, count, sizeof *numbers, compare);
    uint64_t low = numbers[(count - 1) / 2], high = numbers[count / 2];
    return low + (high - low) / 2;
}

static bool is_quiet(const struct spike_look *look)
{
    return look->now_ns < look->first_ns || look->now_ns - look->first_ns < SPIKE_QUIET_NS ||
           (look->told_ns != 0 &&
            (look->now_ns < look->told_ns || look->now_ns - look->told_ns < SPIKE_QUIET_NS));
}

/* Events of an hour from which on it is a spike. */
static uint64_t limit_of(uint64_t usual)
{
    uint64_t limit = usual < UINT64_MAX / SPIKE_FACTOR ? usual * SPIKE_FACTOR : UINT64_MAX;
    return limit > SPIKE_FLOOR ? limit : SPIKE_FLOOR;
}

bool spike_is(const struct spike_look *look, uint64_t *ret_usual)
{
    *ret_usual = median(look->hours, look->hour_count);
    return !is_quiet(look) && look->count >= limit_of(*ret_usual);
}

/* Half of what lacks: other collectors count the same group. */
uint64_t spike_next_look(const struct spike_look *look, uint64_t usual)
{
    uint64_t limit = limit_of(usual);
    if (is_quiet(look) || look->count >= limit) {
        return UINT64_MAX;
    }
    uint64_t half = (limit - look->count) / 2;
    return half > LOOK_LEAST ? half : LOOK_LEAST;
}
