// SPDX-License-Identifier: Apache-2.0
#include "watch_release.h"

#include <stdio.h>
#include <string.h>

#include "base_math.h"
#include "cause.h"

#define MS 1000000ull
/* Two stalls are over at the same time if the times differ by at most this, or this part of the
 * wait: the threads need processors to come back to their loops. After long ones, more would
 * be chance. */
#define TOGETHER_NS      (10 * MS)
#define TOGETHER_PART    16u
#define TOGETHER_MOST_NS (250 * MS)
/* A thread that ran for more than this part of its stall did not wait all the time. */
#define WAITS_PART 8u

/* The wait that the stall ended in, if no owner is known; else null. */
static struct sonde__cause *unowned_cause(const struct sonde__watch_loop *loop)
{
    const struct sonde__sampler_stall *stall = &loop->stall;
    uint64_t ran_ns = loop->account.turn_cpu_ns + loop->account.turn_runqueue_ns;
    struct sonde__cause *last = NULL;
    for (uint32_t i = 0; i < stall->cause_count; i++) {
        last = stall->causes[i].tid == loop->tid ? &stall->causes[i] : last;
    }
    bool unowned = last != NULL && last->owner_tid == 0 && last->owner_pid == 0 &&
                   (last->kind == SONDE__CAUSE_FUTEX || last->kind == SONDE__CAUSE_CONDITION ||
                    last->kind == SONDE__CAUSE_SEMAPHORE);
    return unowned && ran_ns <= loop->decision.counted_ns / WAITS_PART ? last : NULL;
}

static struct sonde__watch_span span_of(const struct sonde__watch_loop *loop)
{
    const struct sonde__decision *d = &loop->decision;
    return (struct sonde__watch_span){.begin_ns = d->since_ns,
                                      .end_ns = d->since_ns + d->counted_ns + d->excluded_ns,
                                      .is_released = unowned_cause(loop) != NULL};
}

/* The last stall of the loop, which may not be handled yet in this round. */
static struct sonde__watch_span last_span(const struct sonde__watch_loop *loop)
{
    if (loop->decision.phase != SONDE__DECIDE_STALL) {
        return loop->last;
    }
    struct sonde__watch_span span = span_of(loop);
    span.end_ns = atomic_load(&loop->slot->ended_ns); /* 0: it goes on */
    return span;
}

static uint64_t apart(uint64_t a, uint64_t b)
{
    return a > b ? a - b : b - a;
}

/* Did the wait begin in the other stall, and end with it? */
static bool is_with(const struct sonde__watch_span *wait, const struct sonde__watch_span *other)
{
    uint64_t part_ns = (wait->end_ns - wait->begin_ns) / TOGETHER_PART;
    uint64_t most_ns = sonde__base_min(sonde__base_max(TOGETHER_NS, part_ns), TOGETHER_MOST_NS);
    return other->end_ns != 0 && !other->is_released &&
           other->begin_ns <= wait->begin_ns + most_ns &&
           apart(other->end_ns, wait->end_ns) <= most_ns;
}

static const char *name_of(const struct sonde__sampler_stall *stall, uint64_t tid)
{
    for (uint32_t i = 0; i < stall->thread_count; i++) {
        if (stall->threads[i].thread.tid == tid) {
            return stall->threads[i].thread.name;
        }
    }
    return "";
}

static void put_release(struct sonde__cause *cause, const struct sonde__sampler_stall *stall,
                        uint64_t tid)
{
    const char *name = name_of(stall, tid);
    size_t used = strlen(cause->owner);
    snprintf(cause->owner + used, sizeof cause->owner - used, "%suntil thread %llu%s%s%s went on",
             used > 0 ? ", " : "", (unsigned long long)tid, name[0] != '\0' ? " (" : "", name,
             name[0] != '\0' ? ")" : "");
}

void sonde__watch_note_release(struct sonde__watch_session *s, struct sonde__watch_loop *loop)
{
    struct sonde__cause *cause = unowned_cause(loop);
    const struct sonde__watch_span own = span_of(loop);
    const struct sonde__watch_loop *nearest = NULL;
    uint64_t nearest_ns = UINT64_MAX;
    for (uint32_t i = 0; cause != NULL && i < s->used; i++) {
        const struct sonde__watch_loop *other = &s->loops[i];
        const struct sonde__watch_span span = last_span(other);
        if (other != loop && other->tid != 0 && is_with(&own, &span) &&
            apart(span.end_ns, own.end_ns) < nearest_ns) {
            nearest = other;
            nearest_ns = apart(span.end_ns, own.end_ns);
        }
    }
    if (nearest != NULL) {
        put_release(cause, &loop->stall, nearest->tid);
    }
    loop->last = own;
}
