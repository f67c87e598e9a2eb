// SPDX-License-Identifier: Apache-2.0
#include "entry_report.h"

static uint32_t phase_of(const struct sonde__sample *sample)
{
    switch (sample->thread.letter) {
    case 'D':
        return SONDE__REPORT_PHASE_DISK;
    case 'R':
        return SONDE__REPORT_PHASE_RUNNING;
    case 'S':
        return SONDE__REPORT_PHASE_BLOCKED;
    default:
        return SONDE__REPORT_PHASE_UNKNOWN;
    }
}

void sonde__entry_to_sample(const struct sonde__sampler_sample *from,
                            struct sonde__report_sample *ret_sample)
{
    const struct sonde__sample *sample = &from->sample;
    *ret_sample = (struct sonde__report_sample){
        .time_ns = from->time_ns,
        .weight_ns = from->weight_ns,
        .end = sample->stack.end,
        .phase = phase_of(sample),
        .captured_by = sample->capture.by,
        .syscall = sample->capture.syscall + 1,
        .qos = sample->thread.qos,
    };
}

void sonde__entry_to_uncovered(const struct sonde__sampler_stall *stall,
                               struct sonde__report *report, struct sonde__report_uncovered *to)
{
    for (uint32_t i = 0; i < stall->uncovered_count; i++) {
        const struct sonde__sampler_uncovered *from = &stall->uncovered[i];
        to[i] = (struct sonde__report_uncovered){
            .time_ns = from->time_ns,
            .duration_ns = from->duration_ns,
            .reason = from->reason,
            .cpu_ns = from->cpu_ns,
            .runqueue_ns = from->runqueue_ns,
            .detail = from->detail[0] != '\0' ? sonde__report_string(report, from->detail) : 0,
        };
    }
}
