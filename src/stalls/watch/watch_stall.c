// SPDX-License-Identifier: Apache-2.0
#include "watch_stall.h"

#include <stdlib.h>
#include <string.h>

void sonde__watch_stall_init(struct sonde__watch_stall *stall)
{
    memset(stall, 0, sizeof *stall);
}

void sonde__watch_stall_done(struct sonde__watch_stall *stall)
{
    for (uint32_t i = 0; i < stall->count; i++) {
        sonde__sample_done(&stall->samples[i].sample);
    }
    for (uint32_t i = 0; i < stall->thread_count; i++) {
        sonde__sample_done(&stall->threads[i]);
    }
    free(stall->samples);
    free(stall->threads);
    sonde__watch_stall_init(stall);
}

static bool make_room(struct sonde__watch_stall *stall)
{
    if (stall->count < stall->capacity) {
        return true;
    }
    uint32_t capacity = stall->capacity == 0 ? 64 : stall->capacity * 2;
    struct sonde__watch_sample *samples =
        capacity > SONDE__WATCH_SAMPLES_MAX
            ? NULL
            : realloc(stall->samples, capacity * sizeof *stall->samples);
    if (samples == NULL) {
        return false;
    }
    stall->samples = samples;
    stall->capacity = capacity;
    return true;
}

void sonde__watch_stall_extend(struct sonde__watch_stall *stall, uint64_t counted_ns)
{
    if (stall->count > 0) {
        struct sonde__watch_sample *last = &stall->samples[stall->count - 1];
        last->weight_ns = counted_ns > last->time_ns ? counted_ns - last->time_ns : 0;
    }
}

void sonde__watch_stall_add(struct sonde__watch_stall *stall, struct sonde__sample *sample,
                            uint64_t counted_ns)
{
    sonde__watch_stall_extend(stall, counted_ns);
    stall->early += sample->capture.early;
    if (stall->count > 0 &&
        sonde__sample_is_same(&stall->samples[stall->count - 1].sample, sample)) {
        sonde__sample_done(sample);
        return;
    }
    if (!make_room(stall)) {
        stall->lost++;
        sonde__sample_done(sample);
        return;
    }
    stall->samples[stall->count++] =
        (struct sonde__watch_sample){.sample = *sample, .time_ns = counted_ns};
}

void sonde__watch_stall_add_threads(struct sonde__watch_stall *stall,
                                    struct sonde__watch_sampler *sampler, uint64_t tid)
{
    stall->threads = calloc(SONDE__WATCH_THREADS_MAX, sizeof *stall->threads);
    if (stall->threads != NULL) {
        stall->thread_count = sonde__watch_take_all(sampler, tid, stall->threads,
                                                    SONDE__WATCH_THREADS_MAX, &stall->thread_total);
    }
}
