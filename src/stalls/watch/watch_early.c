// SPDX-License-Identifier: Apache-2.0
#include "watch_early.h"

#include <stdlib.h>

#include "host_clock.h"
#include "probe_turn.h"
#include "sampler_stall.h"
#include "target.h"
#include "watch_most.h"
#include "watch_shared.h"
#include "watch_unread.h"

#define MS 1000000ull

struct sonde__watch_early_stall {
    struct sonde__sampler_stall stall;
    struct sonde__entry_ended ended;
    uint64_t since_ns, most_ns;
};

/* The program may write at any time: load once. */
const volatile struct sonde__probe_candidate *
sonde__watch_early_wait(const struct sonde__probe_slot *slot)
{
    uint32_t early = *(const volatile uint32_t *)&slot->early;
    uint32_t kind = *(const volatile uint32_t *)&slot->loop.kind;
    return kind == SONDE__PROBE_NONE && early > 0 && early <= SONDE__PROBE_CANDIDATES
               ? &slot->candidates[early - 1]
               : &slot->loop;
}

bool sonde__watch_early_lasts(uint64_t beat, uint64_t now_ns)
{
    uint64_t since_ns = beat & ~(uint64_t)SONDE__PROBE_STATE_MASK;
    return (beat & SONDE__PROBE_STATE_MASK) == SONDE__PROBE_EARLY &&
           (int64_t)(now_ns - since_ns) < (int64_t)SONDE__WATCH_EARLY_MAX_NS;
}

bool sonde__watch_early_rests(const struct sonde__watch_loop *loop, uint64_t beat, uint64_t now_ns)
{
    uint64_t since_ns = beat & ~(uint64_t)SONDE__PROBE_STATE_MASK;
    return (beat & SONDE__PROBE_STATE_MASK) == SONDE__PROBE_EARLY &&
           (!sonde__watch_early_lasts(beat, now_ns) || loop->over_ns == since_ns ||
            loop->attended_ns == since_ns);
}

void sonde__watch_early_begin(struct sonde__watch_loop *loop, bool early)
{
    loop->early.is_turn = early;
    loop->early.is_told = false;
}

bool sonde__watch_early_has_end(const struct sonde__watch_loop *loop)
{
    return atomic_load_explicit(&loop->slot->ended_ns, memory_order_acquire) != 0 &&
           atomic_load_explicit(&loop->slot->early_lost, memory_order_acquire) !=
               sonde__probe_beat(loop->decision.since_ns, SONDE__PROBE_EARLY);
}

void sonde__watch_early_tell(struct sonde__watch_session *s, struct sonde__watch_loop *loop,
                             uint64_t duration_ns)
{
    uint64_t beat = sonde__probe_beat(loop->decision.since_ns, SONDE__PROBE_EARLY);
    if (atomic_load_explicit(&loop->slot->beat, memory_order_acquire) != beat) {
        return;
    }
    loop->early.is_told = true;
    sonde__watch_print(s->writer,
                       "thread %llu: it waited for an epoll descriptor, and has not come back for "
                       "%llu ms; if it has an event loop, that is a stall, which is not reported",
                       (unsigned long long)loop->tid, (unsigned long long)(duration_ns / MS));
}

void sonde__watch_early_keep(struct sonde__watch_session *s, struct sonde__watch_loop *loop,
                             struct sonde__sampler_stall *stall,
                             const struct sonde__entry_ended *ended, uint64_t since_ns,
                             uint64_t most_ns)
{
    struct sonde__watch_early *early = &loop->early;
    if (early->kept == NULL) {
        early->kept = calloc(SONDE__WATCH_EARLY_STALLS, sizeof *early->kept);
    }
    if (early->kept == NULL || early->count == SONDE__WATCH_EARLY_STALLS) {
        sonde__watch_count_unsure(s, ended->duration_ns);
        sonde__sampler_stall_done(stall);
        sonde__target_close(ended->images);
        return;
    }
    struct sonde__watch_early_stall *kept = &early->kept[early->count++];
    kept->stall = *stall;
    kept->ended = *ended;
    kept->since_ns = since_ns;
    kept->most_ns = most_ns;
    sonde__sampler_stall_init(stall);
}

static void drop(struct sonde__watch_early_stall *kept)
{
    sonde__sampler_stall_done(&kept->stall);
    sonde__target_close(kept->ended.images);
}

static void report(struct sonde__watch_session *s, struct sonde__watch_loop *loop,
                   struct sonde__watch_early_stall *kept)
{
    const volatile struct sonde__probe_candidate *wait = &loop->slot->loop;
    uint64_t duration_ns = kept->ended.duration_ns;
    kept->ended.loop = (struct sonde__probe_candidate){
        .kind = wait->kind, .object = wait->object, .caller = wait->caller};
    s->stalls++;
    s->longest_ns = duration_ns > s->longest_ns ? duration_ns : s->longest_ns;
    sonde__decide_turns_add(&s->turns, duration_ns);
    sonde__watch_print_scripts(s, &kept->stall);
    sonde__watch_writer_stall(s->writer, &kept->stall, &kept->ended);
    sonde__watch_print_most(s, kept->ended.tid, duration_ns, kept->most_ns);
}

void sonde__watch_early_settle(struct sonde__watch_session *s, struct sonde__watch_loop *loop)
{
    struct sonde__watch_early *early = &loop->early;
    uint64_t proved_ns = atomic_load_explicit(&loop->slot->early_proved_ns, memory_order_acquire);
    if (early->count == 0 || proved_ns == 0) {
        return;
    }
    bool is_own = !sonde__watch_is_shared(s->page, s->used, loop->slot,
                                          sonde__watch_early_wait(loop->slot)->object);
    for (uint32_t i = 0; i < early->count; i++) {
        if (is_own && early->kept[i].since_ns >= proved_ns) {
            report(s, loop, &early->kept[i]);
        } else {
            drop(&early->kept[i]);
        }
    }
    early->count = 0;
}

void sonde__watch_early_drop(struct sonde__watch_loop *loop)
{
    for (uint32_t i = 0; i < loop->early.count; i++) {
        drop(&loop->early.kept[i]);
    }
    loop->early.count = 0;
    free(loop->early.kept);
    loop->early.kept = NULL;
}

void sonde__watch_early_finish(struct sonde__watch_session *s, struct sonde__watch_loop *loop)
{
    sonde__watch_early_settle(s, loop);
    for (uint32_t i = 0; i < loop->early.count; i++) {
        const struct sonde__entry_ended *ended = &loop->early.kept[i].ended;
        sonde__watch_print(s->writer,
                           "thread %llu: it waited too rarely to show that it has a loop; what "
                           "looked like a stall of %llu ms may have been one, and is not reported",
                           (unsigned long long)ended->tid,
                           (unsigned long long)(ended->duration_ns / MS));
    }
    sonde__watch_early_drop(loop);
}
