// SPDX-License-Identifier: Apache-2.0
/* The registry of blocks in the program. Handler code, except its start. */
#include "clock.h"
#include "recorder.h"

struct sonde__registry_calls recorder_blocks;

static uint64_t now_ns(void)
{
    return preload_now_ns();
}

void recorder_start_blocks(void *memory)
{
    preload_find_clock();
    recorder_blocks = (struct sonde__registry_calls){
        .registry = {memory, recorder_page->registry_lines},
        .record = recorder_record,
        .now_ns = now_ns,
    };
}
