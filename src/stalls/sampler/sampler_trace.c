// SPDX-License-Identifier: Apache-2.0
#include "sampler_trace.h"

static void start(struct sonde__sampler_trace *trace, const void *who, int32_t pid, uint64_t tid,
                  bool runs)
{
    if (trace->refused) {
        return;
    }
    if (trace->tid != tid) {
        sonde__sampler_trace_close(trace);
        enum sonde_status status =
            sonde__host_perf_open_switches(pid, tid, SONDE__SAMPLER_TICK_NS, &trace->perf, NULL);
        trace->refused = status != SONDE_OK && status != SONDE_ABSENT;
        trace->tid = status == SONDE_OK ? tid : 0;
    }
    if (trace->tid != 0) {
        trace->who = who;
        trace->perf.period_ns =
            trace->is_crowded ? SONDE__SAMPLER_CROWDED_TICK_NS : SONDE__SAMPLER_TICK_NS;
        sonde__host_perf_restart(&trace->perf); /* no system call, if the trace awaits a turn */
        trace->perf.waits = !runs; /* else the end of a preemption would be that of a wait */
    }
}

void sonde__sampler_trace_begin(struct sonde__sampler_trace *trace, const void *who, int32_t pid,
                                uint64_t tid, bool runs)
{
    if (trace->who == NULL || trace->who == who || trace->awaits) {
        start(trace, who, pid, tid, runs);
        trace->awaits = false;
    }
}

void sonde__sampler_trace_await(struct sonde__sampler_trace *trace, const void *who, int32_t pid,
                                uint64_t tid)
{
    bool is_next = trace->stalled == NULL || trace->stalled == who;
    if (trace->who == who || (trace->who == NULL && is_next)) {
        start(trace, who, pid, tid, false);
        trace->awaits = true;
    }
}

void sonde__sampler_trace_rest(struct sonde__sampler_trace *trace, const void *who)
{
    if (trace->who != NULL && trace->who == who) {
        sonde__host_perf_pause(&trace->perf, true);
        trace->who = NULL;
        trace->awaits = false;
    }
}

void sonde__sampler_trace_close(struct sonde__sampler_trace *trace)
{
    if (trace->tid != 0) {
        sonde__host_perf_close(&trace->perf);
    }
    trace->tid = 0;
    trace->who = NULL;
    trace->awaits = false;
}

void sonde__sampler_trace_forget(struct sonde__sampler_trace *trace, uint64_t tid)
{
    if (tid != 0 && trace->tid == tid) {
        sonde__sampler_trace_close(trace);
    }
}

bool sonde__sampler_trace_is_off(const struct sonde__sampler_trace *trace, const void *who)
{
    return trace->who != NULL && trace->who == who && sonde__host_perf_is_off(&trace->perf);
}

bool sonde__sampler_trace_peek(const struct sonde__sampler_trace *trace, const void *who,
                               struct sonde__host_moves *ret_moves)
{
    return trace->who != NULL && trace->who == who && !trace->awaits &&
           sonde__host_perf_peek(&trace->perf, ret_moves);
}

bool sonde__sampler_trace_read(struct sonde__sampler_trace *trace, const void *who,
                               uint64_t until_ns, struct sonde__sampler_border *border,
                               struct sonde__host_switches *ret)
{
    *ret = (struct sonde__host_switches){0};
    if (trace->who == NULL || trace->who != who) {
        return false;
    }
    const struct sonde__host_listener listener = {sonde__sampler_border_tick,
                                                  sonde__sampler_border_off, border};
    sonde__host_perf_switches(&trace->perf, until_ns, ret, border != NULL ? &listener : NULL);
    return !ret->lost && ret->count <= SONDE__SAMPLER_TRACE_MOVES;
}
