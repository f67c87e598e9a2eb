// SPDX-License-Identifier: Apache-2.0
/* The memory that is recorded to: from the start on, and in a fork child another one. Handler code,
 * as call.c. */
#include "clock.h"
#include "recorder.h"

static uint64_t now_ns(void)
{
    recorder_busy++; /* without a vdso this is libc's function, which may be listed */
    uint64_t now = preload_now_ns();
    recorder_busy--;
    return now;
}

bool recorder_take(struct sonde__record_page *page, void *record)
{
    recorder_page = page;
    recorder_phases =
        page->is_member != 0 && recorder_phases != NULL ? recorder_phases : &page->phases;
    recorder_record = record != NULL ? sonde__record_at(record, page->nodes) : NULL;
    bool is_whole = recorder_record != NULL;
    if (is_whole) {
        sonde__record_limit_walks(recorder_record);
    }
    if (is_whole && page->keeps_seen != 0) {
        if (recorder_clock_ns == 0) {
            recorder_start_cost();
        }
        is_whole = sonde__record_keep_seen(recorder_record, now_ns);
    }
    return is_whole;
}
