// SPDX-License-Identifier: Apache-2.0
#include "capture_park.h"

#include "capture_walk.h"
#include "os.h"
#include "os_context.h"

enum { IDLE, ASKED, WALKING, PARKED, STATES };
enum { FINISH_LOOK_NS = 1000000 /* nothing wakes the collector after a walk: it looks again */ };

/* A signal's value has 32 bits for us: the slot, and the low bits of the epoch. */
enum { EPOCH_BITS = 22 };
_Static_assert((uint64_t)SONDE__PARK_SLOTS << EPOCH_BITS == (uint64_t)1 << 32, "fills 32 bits");

static struct slot {
    uint32_t state; /* short epoch * STATES + one of the above */
    uint64_t tid;
    uint64_t sent_tid; /* the same, once the signal has been sent */
    int32_t signal;
    uint32_t epoch;
    uint64_t until_ns; /* when the thread leaves by itself */
    struct sonde_stack *stack;
} slots[SONDE__PARK_SLOTS];

static struct {
    uint32_t epoch;    /* of the open or last collection */
    uint32_t released; /* last released epoch: parked threads sleep on this word */
    uint32_t missing;  /* threads asked and not parked yet: the collector sleeps on this word */
    uint32_t next;     /* slot to try first */
    uint32_t used;     /* slots from here on were never used */
    uint64_t until_ns;
    struct sonde__os_sender sender;
} park;

/* The upper half of our signals' values: a process may hold two copies of this library. */
static uint32_t own_mark(void)
{
    return (uint32_t)((uint64_t)(uintptr_t)&park >> 3) ^ 0x7061726bu;
}

static uint32_t state_of(uint32_t epoch, uint32_t state)
{
    return (epoch & ((1u << EPOCH_BITS) - 1)) * STATES + state;
}

static uint64_t value_of(uint32_t short_epoch, uint32_t index)
{
    return (uint64_t)own_mark() << 32 | (uint64_t)short_epoch << (32 - EPOCH_BITS) | index;
}

static uint32_t load_state(const struct slot *slot)
{
    /* acquire: pairs with the release by the writer of the stack or the slot */
    return __atomic_load_n(&slot->state, __ATOMIC_ACQUIRE);
}

void sonde__capture_park_open(uint64_t hold_ns)
{
    park.epoch++;
    park.next = 0;
    park.sender = sonde__os_sender();
    park.until_ns = sonde__os_now_ns() + hold_ns;
    __atomic_store_n(&park.missing, 0, __ATOMIC_RELAXED);
}

/* Take a free slot: threads of the previous collection may not have left theirs yet. */
static struct slot *take_slot(void)
{
    while (park.next < SONDE__PARK_SLOTS) {
        struct slot *slot = &slots[park.next++];
        if (load_state(slot) % STATES == IDLE) {
            if (park.next > park.used) {
                __atomic_store_n(&park.used, park.next, __ATOMIC_RELAXED);
            }
            return slot;
        }
    }
    return NULL;
}

enum sonde_status sonde__capture_park_ask(uint64_t tid, int32_t signal, struct sonde_stack *stack,
                                          uint32_t *ret_slot)
{
    struct slot *slot = take_slot();
    uint32_t asked = state_of(park.epoch, ASKED);
    uint32_t index;
    enum sonde_status status;
    if (slot == NULL) {
        return SONDE_LIMIT;
    }
    index = (uint32_t)(slot - slots);
    __atomic_store_n(&slot->tid, tid, __ATOMIC_RELAXED);
    __atomic_store_n(&slot->sent_tid, 0, __ATOMIC_RELAXED);
    __atomic_store_n(&slot->signal, signal, __ATOMIC_RELAXED);
    slot->epoch = park.epoch;
    slot->until_ns = park.until_ns;
    slot->stack = stack;
    __atomic_fetch_add(&park.missing, 1, __ATOMIC_RELAXED);
    /* release: pairs with the handler's acquire */
    __atomic_store_n(&slot->state, asked, __ATOMIC_RELEASE);
    status = sonde__os_signal_thread(park.sender, tid, signal, value_of(asked / STATES, index));
    if (status != SONDE_OK) {
        __atomic_store_n(&slot->state, state_of(park.epoch, IDLE), __ATOMIC_RELAXED);
        __atomic_fetch_sub(&park.missing, 1, __ATOMIC_RELAXED);
        return status;
    }
    __atomic_store_n(&slot->sent_tid, tid, __ATOMIC_RELEASE);
    *ret_slot = index;
    return SONDE_OK;
}

void sonde__capture_park_wait(uint64_t until_ns)
{
    for (;;) {
        uint32_t missing = __atomic_load_n(&park.missing, __ATOMIC_ACQUIRE);
        if (missing == 0 ||
            sonde__os_sleep_until(&park.missing, missing, until_ns) == SONDE_TIMEOUT) {
            return;
        }
    }
}

uint32_t sonde__capture_park_missing(void)
{
    return __atomic_load_n(&park.missing, __ATOMIC_ACQUIRE);
}

bool sonde__capture_park_is_asked(uint32_t index)
{
    return load_state(&slots[index]) == state_of(park.epoch, ASKED);
}

static enum sonde__parked parked_of(uint32_t state)
{
    return state == state_of(park.epoch, ASKED)     ? SONDE__PARKED_ABSENT
           : state == state_of(park.epoch, WALKING) ? SONDE__PARKED_WALKING
           : state == state_of(park.epoch, PARKED)  ? SONDE__PARKED_HELD
                                                    : SONDE__PARKED_LEFT;
}

enum sonde__parked sonde__capture_park_see(uint32_t index)
{
    return parked_of(load_state(&slots[index]));
}

enum sonde__parked sonde__capture_park_look(uint32_t index)
{
    struct slot *slot = &slots[index];
    uint32_t state = state_of(park.epoch, ASKED);
    if (__atomic_compare_exchange_n(&slot->state, &state, state_of(park.epoch, IDLE), false,
                                    __ATOMIC_ACQUIRE, __ATOMIC_ACQUIRE)) {
        __atomic_fetch_sub(&park.missing, 1, __ATOMIC_RELAXED);
    }
    return parked_of(state);
}

void sonde__capture_park_release(void)
{
    /* release: the collector's work while they were stopped comes before their work now */
    __atomic_store_n(&park.released, park.epoch, __ATOMIC_RELEASE);
    sonde__os_wake(&park.released, true, false);
}

void sonde__capture_park_finish(uint32_t index)
{
    while (load_state(&slots[index]) == state_of(park.epoch, WALKING)) {
        uint32_t missing = __atomic_load_n(&park.missing, __ATOMIC_RELAXED);
        enum sonde_status status = sonde__os_sleep(&park.missing, missing, FINISH_LOOK_NS, false);
        (void)status;
    }
}

bool sonde__capture_park_is_inside(uint64_t tid)
{
    for (uint32_t i = 0; i < park.used; i++) {
        uint32_t state = load_state(&slots[i]) % STATES;
        if ((state == WALKING || state == PARKED) &&
            __atomic_load_n(&slots[i].tid, __ATOMIC_RELAXED) == tid) {
            return true;
        }
    }
    return false;
}

bool sonde__capture_park_was_inside(uint64_t tid)
{
    for (uint32_t i = 0; i < park.used; i++) {
        if (__atomic_load_n(&slots[i].tid, __ATOMIC_RELAXED) == tid) {
            return true;
        }
    }
    return false;
}

uint32_t sonde__capture_park_inside_count(void)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < park.used; i++) {
        uint32_t state = load_state(&slots[i]) % STATES;
        count += state == WALKING || state == PARKED;
    }
    return count;
}

/* Sleep until the release, or until the hold time ends. */
static void wait_release(const struct slot *slot)
{
    for (;;) {
        uint32_t released = __atomic_load_n(&park.released, __ATOMIC_ACQUIRE);
        if ((int32_t)(released - slot->epoch) >= 0 ||
            sonde__os_sleep_until(&park.released, released, slot->until_ns) == SONDE_TIMEOUT) {
            return;
        }
    }
}

/* The slot of our signal. NULL: the signal comes too late. */
static struct slot *slot_of(uint64_t value, uint32_t *ret_asked)
{
    struct slot *slot = &slots[(uint32_t)value & ((1u << (32 - EPOCH_BITS)) - 1)];
    *ret_asked = ((uint32_t)value >> (32 - EPOCH_BITS)) * STATES + ASKED;
    return load_state(slot) == *ret_asked &&
                   __atomic_load_n(&slot->tid, __ATOMIC_RELAXED) == sonde__os_tid()
               ? slot
               : NULL;
}

/* The system keeps one signal of a kind pending for a thread, and drops one sent meanwhile. The
 * pending one, of a withdrawn request or of the program, then brings our request. But not if our
 * signal is pending again: it would find no handler, or the program's. */
static struct slot *slot_of_dropped(int32_t signal, uint32_t *ret_asked)
{
    uint32_t used = __atomic_load_n(&park.used, __ATOMIC_RELAXED);
    uint64_t tid;
    if (sonde__capture_park_missing() == 0) {
        return NULL;
    }
    tid = sonde__os_tid();
    for (uint32_t i = 0; i < used; i++) {
        *ret_asked = load_state(&slots[i]);
        if (*ret_asked % STATES == ASKED &&
            __atomic_load_n(&slots[i].sent_tid, __ATOMIC_ACQUIRE) == tid) {
            bool is_it = __atomic_load_n(&slots[i].signal, __ATOMIC_RELAXED) == signal;
            return is_it && !sonde__os_signal_is_pending(signal) ? &slots[i] : NULL;
        }
    }
    return NULL;
}

bool sonde__capture_park_answer(int32_t signal, uint64_t value, const void *ucontext)
{
    bool is_ours = (uint32_t)(value >> 32) == own_mark();
    uint32_t asked = 0, state;
    struct slot *slot = is_ours ? slot_of(value, &asked) : NULL;
    struct sonde__regs regs;
    if (slot == NULL) {
        slot = slot_of_dropped(signal, &asked);
    }
    state = asked;
    /* acquire: pairs with the collector's release of the slot */
    if (slot == NULL || !__atomic_compare_exchange_n(&slot->state, &state, asked - ASKED + WALKING,
                                                     false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED)) {
        return is_ours; /* too late: the request was withdrawn */
    }
    sonde__os_context_regs(ucontext, &regs);
    sonde__capture_walk_counted(slot->stack, &regs, true, 0, SONDE__CAPTURE_OWN);
    /* release: pairs with the collector's acquire */
    __atomic_store_n(&slot->state, asked - ASKED + PARKED, __ATOMIC_RELEASE);
    if (__atomic_fetch_sub(&park.missing, 1, __ATOMIC_ACQ_REL) == 1) {
        sonde__os_wake(&park.missing, false, false);
    }
    wait_release(slot);
    __atomic_store_n(&slot->state, asked - ASKED + IDLE, __ATOMIC_RELEASE);
    return is_ours;
}

void sonde__capture_park_forget(void)
{
    for (uint32_t i = 0; i < park.used; i++) {
        slots[i].state = IDLE;
        slots[i].tid = 0;
    }
    park.missing = 0;
}
