// SPDX-License-Identifier: Apache-2.0
#include "sampler_cause.h"

#include <stdlib.h>
#include <string.h>

static bool is_known(const struct sonde__sampler_stall *stall, const struct sonde__cause *cause)
{
    for (uint32_t i = 0; i < stall->cause_count; i++) {
        const struct sonde__cause *known = &stall->causes[i];
        if (known->tid == cause->tid && known->kind == cause->kind &&
            strcmp(known->resource, cause->resource) == 0 &&
            strcmp(known->owner, cause->owner) == 0) {
            return true;
        }
    }
    return false;
}

/* Returns the tid of the owner; 0: the chain ends. */
static uint64_t look(struct sonde__causes *causes, const struct sonde__sample *sample,
                     struct sonde__sampler_stall *stall)
{
    struct sonde__cause *cause = &stall->causes[stall->cause_count];
    if (stall->cause_count == SONDE__SAMPLER_CAUSES_MAX ||
        stall->cause_looks == SONDE__SAMPLER_CAUSES_MAX) {
        return 0;
    }
    stall->cause_looks++;
    sonde__causes_look(causes, sample, cause);
    if (cause->kind == SONDE__CAUSE_NONE || is_known(stall, cause)) {
        return 0;
    }
    stall->cause_ns[stall->cause_count++] = stall->last_ns;
    return cause->owner_tid;
}

static struct sonde__sample *sample_of(const struct sonde__sampler_stall *stall, uint64_t tid)
{
    for (uint32_t i = 0; tid != 0 && i < stall->thread_count; i++) {
        if (stall->threads[i].thread.tid == tid) {
            return &stall->threads[i];
        }
    }
    return NULL;
}

bool sonde__sampler_cause_begin(struct sonde__sampler *sampler, struct sonde__sampler_stall *stall,
                                bool search, struct sonde__cause_circle *ret_circle)
{
    struct sonde__causes *causes = sonde__sampler_causes(sampler);
    const struct sonde__sample *sample =
        stall->count > 0 ? &stall->samples[stall->count - 1].sample : NULL;
    if (causes == NULL || sample == NULL) {
        return false;
    }
    free(stall->causes);
    stall->cause_count = stall->cause_looks = 0;
    stall->cause_next_ns = 2 * stall->last_ns;
    stall->causes = calloc(SONDE__SAMPLER_CAUSES_MAX, sizeof *stall->causes);
    if (stall->causes == NULL) {
        return false;
    }
    sonde__causes_search_again(causes, search ? SONDE__SAMPLER_CAUSE_SEARCH_NS : 0);
    while (sample != NULL) {
        sample = sample_of(stall, look(causes, sample, stall));
    }
    stall->in_circle =
        sonde__causes_circles(causes, stall->causes, stall->cause_count, ret_circle, 1) > 0;
    return stall->in_circle;
}

static const struct sonde__cause *last_cause_of(const struct sonde__sampler_stall *stall,
                                                uint64_t tid)
{
    for (uint32_t i = stall->cause_count; i-- > 0;) {
        if (stall->causes[i].tid == tid) {
            return &stall->causes[i];
        }
    }
    return NULL;
}

/* The last thread in the chain, which waited for no thread; 0: the stalled one itself. */
static uint64_t end_of_chain(const struct sonde__sampler_stall *stall)
{
    uint64_t own = stall->samples[stall->count - 1].sample.thread.tid, tid = own;
    const struct sonde__cause *cause = last_cause_of(stall, tid);
    for (uint32_t i = 0; cause != NULL && cause->owner_tid != 0 && i < SONDE__SAMPLER_CAUSES_MAX;
         i++) {
        tid = cause->owner_tid;
        cause = last_cause_of(stall, tid);
    }
    return tid != own ? tid : 0;
}

bool sonde__sampler_cause_again(struct sonde__sampler *sampler, struct sonde__sampler_stall *stall,
                                uint64_t counted_ns, struct sonde__cause_circle *ret_circle)
{
    struct sonde__causes *causes;
    if (stall->causes == NULL || stall->count == 0 || stall->in_circle ||
        counted_ns < stall->cause_next_ns || (causes = sonde__sampler_causes(sampler)) == NULL) {
        return false;
    }
    uint32_t before = stall->cause_count;
    stall->cause_next_ns = 2 * counted_ns;
    for (uint64_t tid = end_of_chain(stall); tid != 0;) {
        struct sonde__sample sample, *shown = sample_of(stall, tid);
        if (shown == NULL || !sonde__sampler_take(sampler, tid, NULL, &sample)) {
            break;
        }
        sonde__sample_done(shown); /* its stack belongs to the wait that is shown */
        *shown = sample;
        tid = look(causes, shown, stall);
    }
    stall->in_circle =
        stall->cause_count > before &&
        sonde__causes_circles(causes, stall->causes, stall->cause_count, ret_circle, 1) > 0;
    return stall->in_circle;
}

void sonde__sampler_cause_change(struct sonde__sampler *sampler, struct sonde__sampler_stall *stall)
{
    const struct sonde__sample *last =
        stall->count > 0 ? &stall->samples[stall->count - 1].sample : NULL;
    const struct sonde__sample *before =
        stall->count > 1 ? &stall->samples[stall->count - 2].sample : NULL;
    struct sonde__causes *causes;
    if (stall->causes == NULL || last == NULL || before == NULL || last->capture.syscall < 0) {
        return;
    }
    bool is_same = last->capture.syscall == before->capture.syscall &&
                   strcmp(last->capture.waits_for, before->capture.waits_for) == 0;
    causes = is_same ? NULL : sonde__sampler_causes(sampler);
    if (causes != NULL) {
        (void)look(causes, last, stall);
    }
}
