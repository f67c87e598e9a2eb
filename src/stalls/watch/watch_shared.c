// SPDX-License-Identifier: Apache-2.0
#include "watch_shared.h"

#include "probe_turn.h"

/* Does the thread wait for another thread at the place where its loop waits? A wait in a callback
 * is deeper in the stack. The program may change the slot at any time. */
static bool sleeps_at_its_loop(const struct sonde__probe_slot *slot)
{
    uint32_t rival = *(const volatile uint32_t *)&slot->rival;
    uint32_t since_turn = *(const volatile uint32_t *)&slot->yield_waits;
    if (since_turn == 0 || rival >= SONDE__PROBE_CANDIDATES) {
        return false;
    }
    const volatile struct sonde__probe_candidate *wait = &slot->candidates[rival];
    const volatile struct sonde__probe_candidate *loop = &slot->loop;
    uint32_t kind = wait->kind;
    uint64_t its = wait->level, level = loop->level;
    return (kind == SONDE__PROBE_COND || kind == SONDE__PROBE_FUTEX) && its != 0 && level != 0 &&
           (its > level ? its - level : level - its) <= SONDE__WATCH_SHARED_BYTES;
}

static bool is_at(const volatile struct sonde__probe_candidate *wait, uint64_t descriptor)
{
    return wait->kind == SONDE__PROBE_EPOLL && wait->object == descriptor;
}

/* Is `wait` one of the loop `of`? Any poll may begin with the loop's first descriptor, so it must
 * also be the same call. */
static bool is_of_loop(const volatile struct sonde__probe_candidate *wait,
                       const volatile struct sonde__probe_candidate *of)
{
    bool poll = of->kind == SONDE__PROBE_POLL && wait->caller == of->caller;
    return wait->kind == of->kind && wait->object == of->object &&
           (poll || of->kind == SONDE__PROBE_EPOLL);
}

/* Is the last wait since the thread's turn one of the loop `of`, which is not its own? */
static bool went_to(const struct sonde__probe_slot *slot,
                    const volatile struct sonde__probe_candidate *of)
{
    uint32_t rival = *(const volatile uint32_t *)&slot->rival;
    uint32_t since_turn = *(const volatile uint32_t *)&slot->yield_waits;
    return since_turn > 0 && rival < SONDE__PROBE_CANDIDATES &&
           is_of_loop(&slot->candidates[rival], of);
}

/* Has the thread waited at the descriptor, even too rarely for a loop? */
static bool knows(const struct sonde__probe_slot *slot, uint64_t descriptor)
{
    bool found = is_at(&slot->loop, descriptor);
    for (uint32_t i = 0; i < SONDE__PROBE_CANDIDATES; i++) {
        found = found || is_at(&slot->candidates[i], descriptor);
    }
    return found;
}

bool sonde__watch_is_attended(const struct sonde__probe_page *page, uint32_t count,
                              const struct sonde__probe_slot *slot, bool waits)
{
    const volatile struct sonde__probe_candidate *loop = &slot->loop;
    bool shared = false;
    for (uint32_t i = 0; i < count; i++) {
        const struct sonde__probe_slot *other = &page->slots[i];
        if (other == slot || atomic_load(&other->tid) == 0) {
            continue;
        }
        if (went_to(other, loop) ||
            (is_of_loop(&other->loop, loop) &&
             (atomic_load(&other->beat) & SONDE__PROBE_STATE_MASK) == SONDE__PROBE_IDLE)) {
            return true;
        }
        shared = shared || (loop->kind == SONDE__PROBE_EPOLL && knows(other, loop->object));
    }
    return shared && waits && sleeps_at_its_loop(slot);
}

bool sonde__watch_is_shared(const struct sonde__probe_page *page, uint32_t count,
                            const struct sonde__probe_slot *slot, uint64_t descriptor)
{
    for (uint32_t i = 0; i < count; i++) {
        const struct sonde__probe_slot *other = &page->slots[i];
        if (other != slot && atomic_load(&other->tid) != 0 && knows(other, descriptor)) {
            return true;
        }
    }
    return false;
}

bool sonde__watch_has_moved(const struct sonde__probe_page *page, uint32_t count,
                            const struct sonde__probe_slot *slot)
{
    for (uint32_t i = 0; i < count; i++) {
        const struct sonde__probe_slot *other = &page->slots[i];
        if (other != slot && atomic_load(&other->tid) != 0 && went_to(slot, &other->loop)) {
            return true;
        }
    }
    return false;
}
