// SPDX-License-Identifier: Apache-2.0
/* The launch is handled like a loop. Its slot belongs to the watch, and is busy until the launch
 * ends. */
#include "watch_launch.h"

#include "host_clock.h"
#include "probe_turn.h"
#include "watch_live.h"
#include "watch_loop.h"
#include "watch_writer.h"

void sonde__watch_launch_begin(struct sonde__watch_session *s)
{
    struct sonde__probe_slot *slot = &s->launch_slot;
    s->launches = s->options.launch_ns != 0 && s->waiter != NULL;
    if (!s->launches) {
        return;
    }
    s->launch.slot = slot;
    s->launch.kind = SONDE__REPORT_STALL_LAUNCH;
    s->launch.threshold_ns = s->options.launch_ns;
    atomic_store(&slot->tid, (uint32_t)s->pid);
    atomic_store(&slot->beat, sonde__probe_beat(s->begin_ns, SONDE__PROBE_BUSY));
}

void sonde__watch_launch_drop(struct sonde__watch_session *s)
{
    sonde__watch_live_take_back(s, &s->launch);
    sonde__sampler_stall_done(&s->launch.stall);
    sonde__sampler_clock_close(&s->launch.clock);
    s->launches = false;
}

/* The main thread's loop; null: none yet. The program may write here: load once. */
static const struct sonde__probe_slot *find_loop(const struct sonde__watch_session *s,
                                                 struct sonde__probe_candidate *ret_loop)
{
    for (uint32_t i = 0; i < s->used; i++) {
        const struct sonde__probe_slot *slot = s->loops[i].slot;
        const volatile struct sonde__probe_candidate *loop = &slot->loop;
        if (atomic_load(&slot->tid) == (uint32_t)s->pid) {
            *ret_loop = (struct sonde__probe_candidate){.object = loop->object,
                                                        .caller = loop->caller,
                                                        .kind = loop->kind,
                                                        .first_ns = loop->first_ns};
            bool counts = ret_loop->kind != SONDE__PROBE_NONE &&
                          !sonde__probe_is_weak(ret_loop->kind) && ret_loop->first_ns != 0;
            return counts ? slot : NULL;
        }
    }
    return NULL;
}

/* The launch ended at the loop's first wait. */
static void end(struct sonde__watch_session *s, const struct sonde__probe_candidate *loop,
                uint64_t now_ns)
{
    struct sonde__probe_slot *slot = &s->launch_slot;
    bool busy = false;
    slot->loop = *loop;
    s->launch.loop_changes = slot->loop_changes;
    atomic_store(&slot->ended_ns, loop->first_ns > s->begin_ns ? loop->first_ns : s->begin_ns);
    atomic_store(&slot->beat, SONDE__PROBE_IDLE);
    (void)sonde__watch_loop_inspect(s, &s->launch, now_ns, &busy);
    sonde__watch_launch_drop(s);
}

uint64_t sonde__watch_launch_inspect(struct sonde__watch_session *s, uint64_t now_ns,
                                     bool *ret_busy)
{
    struct sonde__probe_candidate loop;
    if (!s->launches) {
        return UINT64_MAX;
    }
    const struct sonde__probe_slot *slot = find_loop(s, &loop);
    if (slot == NULL || loop.first_ns != s->launch_loop_ns) { /* none, or another one */
        s->launch_loop_ns = slot != NULL ? loop.first_ns : 0;
        s->launch_known_ns = now_ns;
    }
    if (slot != NULL && (atomic_load(&slot->turns) >= SONDE__PROBE_YOUNG_TURNS ||
                         now_ns - s->launch_known_ns >= SONDE__WATCH_LAUNCH_RIPE_NS)) {
        end(s, &loop, now_ns);
        return UINT64_MAX;
    }
    if (slot != NULL) { /* if this is the loop, the launch has ended */
        *ret_busy = true;
        return SONDE__WATCH_LAUNCH_RIPE_NS - (now_ns - s->launch_known_ns);
    }
    if (now_ns - s->begin_ns > SONDE__WATCH_LAUNCH_MAX_NS) {
        sonde__watch_print(s->writer,
                           "the main thread has no event loop after %u s: the launch is "
                           "not watched any more",
                           (unsigned)(SONDE__WATCH_LAUNCH_MAX_NS / 1000000000u));
        sonde__watch_launch_drop(s);
        return UINT64_MAX;
    }
    return sonde__watch_loop_inspect(s, &s->launch, now_ns, ret_busy);
}

void sonde__watch_launch_finish(struct sonde__watch_session *s)
{
    struct sonde__probe_candidate loop;
    if (s->launches && find_loop(s, &loop) != NULL) {
        end(s, &loop, sonde__host_monotonic_ns());
    } else if (s->launches) {
        sonde__watch_launch_drop(s);
    }
}
