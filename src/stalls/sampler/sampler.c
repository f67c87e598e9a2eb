// SPDX-License-Identifier: Apache-2.0
#include "sampler.h"

#include <stdlib.h>
#include <string.h>

#include "base_math.h"
#include "base_status.h"
#include "cause.h"
#include "host_clock.h"
#include "host_signal.h"
#include "report_model.h"
#include "target_cause.h"
#include "target_frozen.h"

/* A capture that takes longer does not only wait for the thread. */
#define CAPTURE_MAX_NS 500000000u

struct sonde__sampler {
    struct sonde__target *target;
    struct sonde__causes *causes;
    uint8_t sampler;  /* enum sonde__report_sampler, for a running thread */
    uint64_t own_tid; /* 0: the program is in another process */
    uint64_t other_tid;
    sonde__sampler_ask *ask;
    const struct sonde__thread *threads; /* as listed last; the target's */
    uint32_t thread_count;
    uint64_t waited_ns; /* for threads to be captured, since the last question */
    uint64_t pcs[SONDE__SAMPLER_FRAMES_MAX];
    uint8_t how[SONDE__SAMPLER_FRAMES_MAX];
};

static uint8_t first_way(const struct sonde__target_options *options)
{
    uint32_t ways = options->restricted ? options->ways : UINT32_MAX;
    if ((ways & SONDE__TARGET_BY_PERF) != 0 && sonde__host_may_perf()) {
        return SONDE__REPORT_SAMPLER_PERF;
    }
    if ((ways & SONDE__TARGET_BY_PTRACE) != 0 && sonde__host_may_ptrace()) {
        return SONDE__REPORT_SAMPLER_PTRACE;
    }
    return (ways & SONDE__TARGET_BY_SIGNAL) != 0 && options->sample != NULL
               ? SONDE__REPORT_SAMPLER_SIGNAL
               : SONDE__REPORT_SAMPLER_NONE;
}

enum sonde_status sonde__sampler_open(int32_t pid, const struct sonde__target_options *options,
                                      struct sonde__sampler **ret_sampler,
                                      struct sonde_error *ret_error)
{
    struct sonde__sampler *sampler = calloc(1, sizeof *sampler);
    if (sampler == NULL) {
        return SONDE_MEMORY;
    }
    struct sonde__target_options with_scripts = *options;
    with_scripts.scripts = true;
    enum sonde_status status =
        sonde__target_open_process(pid, &with_scripts, &sampler->target, ret_error);
    if (status == SONDE_OK) {
        sampler->sampler = first_way(options);
        *ret_sampler = sampler;
        return SONDE_OK;
    }
    free(sampler);
    return status;
}

struct sonde__target_signals sonde__sampler_signals(const struct sonde__sampler *sampler)
{
    return sonde__target_signals(sampler->target);
}

void sonde__sampler_use_own_process(struct sonde__sampler *sampler, uint64_t own_tid,
                                    sonde__sampler_ask *ask)
{
    sampler->own_tid = own_tid;
    sampler->ask = ask;
    if (sampler->sampler != SONDE__REPORT_SAMPLER_PERF) {
        sampler->sampler = SONDE__REPORT_SAMPLER_SIGNAL;
    }
}

struct sonde__causes *sonde__sampler_causes(struct sonde__sampler *sampler)
{
    if (sampler->causes == NULL &&
        sonde__causes_create(sampler->target, &sampler->causes) != SONDE_OK) {
        return NULL;
    }
    return sampler->causes;
}

void sonde__sampler_leave_out(struct sonde__sampler *sampler, uint64_t tid)
{
    sampler->other_tid = sampler->own_tid != 0 ? tid : 0;
}

struct sonde__target *sonde__sampler_target(struct sonde__sampler *sampler)
{
    return sampler != NULL ? sampler->target : NULL;
}

const struct sonde__image_set *sonde__sampler_images(const struct sonde__sampler *sampler)
{
    return sampler != NULL ? sonde__target_images(sampler->target) : NULL;
}

void sonde__sampler_close(struct sonde__sampler *sampler)
{
    if (sampler == NULL) {
        return;
    }
    sonde__causes_destroy(sampler->causes);
    sonde__target_close(sampler->target);
    free(sampler);
}

void sonde__sampler_refresh(struct sonde__sampler *sampler)
{
    struct sonde_error error;
    if (sonde__target_refresh(sampler->target, &error) != SONDE_OK) {
        return; /* keep the old list of images */
    }
}

/* Remove the frames of the probe's wrappers. waits: the thread is in a system call. Then an
 * innermost frame of the probe is the wait itself, which the probe makes instead of libc. */
static void drop_own_frames(struct sonde__sampler *sampler, struct sonde_stack *stack, bool waits)
{
    const struct sonde__image_set *images = sonde__target_images(sampler->target);
    uint32_t kept = 0, gap = stack->lost_at;
    for (uint32_t i = 0; i < stack->count; i++) {
        const struct sonde__image *image = sonde__image_find(images, stack->pcs[i]);
        const char *slash = image != NULL ? strrchr(image->path, '/') : NULL;
        if ((i > 0 || !waits) && slash != NULL && strcmp(slash, "/libsonde-preload.so") == 0) {
            stack->lost_at -= i < gap;
            continue;
        }
        stack->pcs[kept] = stack->pcs[i];
        stack->how[kept++] = stack->how[i];
    }
    stack->count = kept;
}

/* A passive read does not show how a running thread would have been sampled; the watch knows. */
uint8_t sonde__sampler_way_of(uint8_t way, const struct sonde__sample *sample)
{
    switch (sample->capture.by) {
    case SONDE__CAPTURED_PERF:
        return SONDE__REPORT_SAMPLER_PERF;
    case SONDE__CAPTURED_PTRACE:
        return SONDE__REPORT_SAMPLER_PTRACE;
    case SONDE__CAPTURED_SIGNAL:
        return SONDE__REPORT_SAMPLER_SIGNAL;
    case SONDE__CAPTURED_STOP:
        return SONDE__REPORT_SAMPLER_STOP;
    case SONDE__CAPTURED_NOT:
        return SONDE__REPORT_SAMPLER_NONE;
    default:
        return way;
    }
}

uint8_t sonde__sampler_way(const struct sonde__sampler *sampler)
{
    return sampler->sampler;
}

struct sonde__target *sonde__sampler_freeze(struct sonde__sampler *sampler)
{
    struct sonde__target *frozen;
    return sonde__target_freeze(sampler->target, &frozen) == SONDE_OK ? frozen : NULL;
}

/* The thread's state was read before the capture; what the capture saw is newer. */
static char state_met(char letter, uint8_t by)
{
    /* only a running thread is captured this way; ptrace also reads stopped ones */
    bool ran = by == SONDE__CAPTURED_PERF || by == SONDE__CAPTURED_SIGNAL;
    return ran ? 'R' : by == SONDE__CAPTURED_PASSIVE && letter == 'R' ? 'S' : letter;
}

/* A running thread is captured when it has a processor. */
static void note_wait(struct sonde__sampler *sampler, uint64_t begin_ns)
{
    uint64_t passed_ns = sonde__host_monotonic_ns() - begin_ns;
    sampler->waited_ns += sonde__base_min(passed_ns, CAPTURE_MAX_NS);
}

uint64_t sonde__sampler_waited(struct sonde__sampler *sampler)
{
    uint64_t waited_ns = sampler != NULL ? sampler->waited_ns : 0;
    if (sampler != NULL) {
        sampler->waited_ns = 0;
    }
    return waited_ns;
}

static bool take_thread(struct sonde__sampler *sampler, const struct sonde__thread *thread,
                        struct sonde__sample *ret_sample)
{
    struct sonde_stack stack;
    struct sonde__capture *capture = &ret_sample->capture;
    uint64_t begin_ns = sonde__host_monotonic_ns();
    sonde_stack_init(&stack, sampler->pcs, sampler->how, SONDE__SAMPLER_FRAMES_MAX,
                     SONDE_OUTER_FRAMES);
    sonde__sample_take(sampler->target, thread, &stack, ret_sample);
    if (sampler->ask != NULL && capture->by == SONDE__CAPTURED_NOT &&
        capture->status != SONDE_ABSENT) {
        sampler->ask(thread->tid, &ret_sample->stack, capture);
        sonde__target_cause(sampler->target, capture, capture->waits_for,
                            sizeof capture->waits_for);
    }
    note_wait(sampler, begin_ns);
    drop_own_frames(sampler, &ret_sample->stack, capture->syscall >= 0);
    ret_sample->thread.letter = state_met(ret_sample->thread.letter, capture->by);
    return sonde__sample_keep(ret_sample);
}

bool sonde__sampler_find(struct sonde__sampler *sampler, uint64_t tid,
                         struct sonde__thread *ret_thread)
{
    return sonde__target_thread(sampler->target, tid, ret_thread) == SONDE_OK;
}

bool sonde__sampler_take(struct sonde__sampler *sampler, uint64_t tid,
                         const struct sonde__thread *known, struct sonde__sample *ret_sample)
{
    struct sonde__thread thread;
    if (known == NULL && !sonde__sampler_find(sampler, tid, &thread)) {
        return false;
    }
    return take_thread(sampler, known != NULL ? known : &thread, ret_sample);
}

void sonde__sampler_expect(struct sonde__sampler *sampler, uint64_t tid, uint64_t after_ns,
                           uint32_t count)
{
    sonde__target_expect(sampler->target, tid, after_ns, count);
}

bool sonde__sampler_take_met(struct sonde__sampler *sampler, uint64_t tid,
                             struct sonde__sample *ret_sample)
{
    struct sonde_stack stack;
    sonde_stack_init(&stack, sampler->pcs, sampler->how, SONDE__SAMPLER_FRAMES_MAX,
                     SONDE_OUTER_FRAMES);
    if (!sonde__sample_meet(sampler->target, tid, &stack, ret_sample)) {
        return false;
    }
    drop_own_frames(sampler, &ret_sample->stack, false);
    return sonde__sample_keep(ret_sample);
}

void sonde__sampler_pause(struct sonde__sampler *sampler)
{
    sonde__target_pause(sampler->target);
}

void sonde__sampler_rest(struct sonde__sampler *sampler)
{
    sonde__target_rest(sampler->target);
}

uint32_t sonde__sampler_list(struct sonde__sampler *sampler)
{
    struct sonde_error error;
    if (sonde__target_threads(sampler->target, &sampler->threads, &sampler->thread_count, &error) !=
        SONDE_OK) {
        sampler->thread_count = 0;
    }
    return sampler->thread_count;
}

bool sonde__sampler_has_time_for(char letter, uint64_t passed_ns, uint64_t limit_ns)
{
    return letter != 'R' || passed_ns < limit_ns;
}

uint32_t sonde__sampler_take_all(struct sonde__sampler *sampler, uint64_t except, uint64_t limit_ns,
                                 struct sonde__sample *ret_samples, uint32_t capacity,
                                 uint32_t *ret_total)
{
    const struct sonde__thread *threads = sampler->threads;
    uint64_t begin_ns = sonde__host_monotonic_ns();
    uint32_t n = 0;
    *ret_total = 0;
    for (uint32_t i = 0; i < sampler->thread_count; i++) {
        uint64_t tid = threads[i].tid;
        if (tid != except && tid != sampler->own_tid && tid != sampler->other_tid) {
            (*ret_total)++;
            n += n < capacity &&
                 sonde__sampler_has_time_for(threads[i].letter,
                                             sonde__host_monotonic_ns() - begin_ns, limit_ns) &&
                 take_thread(sampler, &threads[i], &ret_samples[n]);
        }
    }
    return n;
}
