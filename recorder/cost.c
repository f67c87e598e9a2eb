// SPDX-License-Identifier: Apache-2.0
#include "cost.h"

#include "clock.h"

uint64_t recorder_clock_ns;

void recorder_start_cost(void)
{
    preload_find_clock();
    recorder_clock_ns = UINT64_MAX;
    for (unsigned i = 0; i < 32; i++) {
        uint64_t begin = recorder_cost_now();
        uint64_t took = recorder_cost_now() - begin;
        recorder_clock_ns = took < recorder_clock_ns ? took : recorder_clock_ns;
    }
    recorder_clock_ns += recorder_clock_ns == 0; /* 0 is: nothing is measured */
}
