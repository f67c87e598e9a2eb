// SPDX-License-Identifier: Apache-2.0
#include "capture_memo.h"

#include "os.h"
#include "unwind_memo_rules.h"

enum {
    CHUNK = 16,   /* slots mapped at once: fewer system calls, and less than a huge page */
    AHEAD = 8,    /* slots whose memory is touched before a thread asks for one */
    SWEEP = 8,    /* owners checked by a thread that finds no free slot (0.3 us each) */
    PATIENCE = 63 /* captures without a memo before the thread asks again */
};

__thread struct sonde__capture_slot sonde__capture_slot;

/* The memo's end, the part that most stacks use, is at the end of a page. */
struct slot {
    uint8_t unused[SONDE__MEMO_BYTES - sizeof(struct sonde__memo)];
    struct sonde__memo memo;
};
_Static_assert(sizeof(struct slot) == SONDE__MEMO_BYTES, "whole pages");

/* In a label: the slot is taken, but its owner is not written yet. */
#define LEASING ((uint64_t)1 << 63)

static uint64_t labels[SONDE__CAPTURE_MEMOS];   /* pid << 32 | tid, LEASING; 0: free */
static uint64_t pointers[SONDE__CAPTURE_MEMOS]; /* the owners' thread pointers */
static struct slot *chunks[SONDE__CAPTURE_MEMOS / CHUNK];
bool sonde__capture_memo_is_disabled;
static uint32_t slots_used; /* slots from here on were never leased */
static uint32_t sweep_at;
static uint64_t refused;

static uint64_t own_label(void)
{
    return (uint64_t)(uint32_t)sonde__os_pid() << 32 | (uint32_t)sonde__os_tid();
}

static struct sonde__memo *slot_memory(uint32_t index)
{
    struct slot **chunk = &chunks[index / CHUNK];
    struct slot *memory = __atomic_load_n(chunk, __ATOMIC_ACQUIRE);
    if (memory == NULL) {
        struct slot *fresh = sonde__os_map(CHUNK * sizeof(struct slot));
        if (fresh == NULL) {
            return NULL;
        }
        if (__atomic_compare_exchange_n(chunk, &memory, fresh, false, __ATOMIC_ACQ_REL,
                                        __ATOMIC_ACQUIRE)) {
            memory = fresh;
        } else {
            sonde__os_unmap(fresh, CHUNK * sizeof(struct slot));
        }
    }
    return &memory[index % CHUNK].memo;
}

static bool take_entry(uint32_t index, uint64_t from, uint64_t label)
{
    return __atomic_compare_exchange_n(&labels[index], &from, label | LEASING, false,
                                       __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
}

/* Had the owner our thread pointer? Then it has ended. */
static bool had_pointer(uint32_t index, uint64_t owner, uint64_t pointer)
{
    return owner != 0 && (owner & LEASING) == 0 &&
           __atomic_load_n(&pointers[index], __ATOMIC_RELAXED) == pointer;
}

/* Take a slot, from the best source: that of a thread that had our thread pointer (C libraries
 * reuse stacks) or our id, which has ended, so no check is needed and the slot's pages are
 * touched; the one that a capture which we interrupted is leasing; the first free one, because
 * those are prepared. *ret_is_ours: its owner was a thread of this process on our stack. */
static bool take_free(uint64_t label, uint64_t pointer, uint32_t *ret_index, bool *ret_is_ours)
{
    uint32_t top = __atomic_load_n(&slots_used, __ATOMIC_RELAXED);
    for (uint32_t i = 0; i < top; i++) {
        /* acquire: pairs with this owner's lease, so that the pointer is not an earlier owner's */
        uint64_t owner = __atomic_load_n(&labels[i], __ATOMIC_ACQUIRE);
        bool had = had_pointer(i, owner, pointer);
        if (owner == (label | LEASING) ||
            ((owner == label || had) && take_entry(i, owner, label))) {
            *ret_index = i;
            *ret_is_ours = had && owner >> 32 == label >> 32;
            return true;
        }
    }
    for (uint32_t i = 0; i < SONDE__CAPTURE_MEMOS; i++) {
        if (__atomic_load_n(&labels[i], __ATOMIC_RELAXED) == 0 && take_entry(i, 0, label)) {
            while (top <= i && !__atomic_compare_exchange_n(&slots_used, &top, i + 1, true,
                                                            __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
            }
            *ret_index = i;
            return true;
        }
    }
    return false;
}

/* Take a slot whose thread has ended. A child that forked without sonde__capture_memo_forget()
 * does not take slots of the parent: one of them is the forking thread's. */
static bool take_abandoned(uint64_t label, uint32_t *ret_index)
{
    struct sonde__os_sender sender = sonde__os_sender();
    uint32_t from = __atomic_fetch_add(&sweep_at, SWEEP, __ATOMIC_RELAXED);
    for (uint32_t i = 0; i < SWEEP; i++) {
        uint32_t index = (from + i) % SONDE__CAPTURE_MEMOS;
        uint64_t owner = __atomic_load_n(&labels[index], __ATOMIC_RELAXED);
        if (owner >> 32 == label >> 32 &&
            sonde__os_signal_thread(sender, owner, 0, 0) == SONDE_ABSENT &&
            take_entry(index, owner, label)) {
            *ret_index = index;
            return true;
        }
    }
    return false;
}

struct sonde__memo *sonde__capture_memo_lease(void)
{
    const uint64_t pointer = sonde__os_thread_pointer();
    uint64_t label;
    uint32_t index;
    bool is_ours = false;
    struct sonde__memo *memo;
    if (__atomic_load_n(&sonde__capture_memo_is_disabled, __ATOMIC_RELAXED)) {
        return NULL;
    }
    if (sonde__capture_slot.patience > 0) {
        sonde__capture_slot.patience--;
        return NULL;
    }
    label = own_label();
    if (!take_free(label, pointer, &index, &is_ours) && !take_abandoned(label, &index)) {
        __atomic_fetch_add(&refused, 1, __ATOMIC_RELAXED);
        sonde__capture_slot.patience = PATIENCE;
        return NULL;
    }
    __atomic_store_n(&pointers[index], pointer, __ATOMIC_RELAXED);
    __atomic_store_n(&labels[index], label, __ATOMIC_RELEASE);
    memo = slot_memory(index);
    if (sonde__capture_slot.memo != NULL || memo == NULL) { /* a handler has leased one meanwhile */
        if (sonde__capture_slot.memo != memo) {
            __atomic_store_n(&labels[index], 0, __ATOMIC_RELEASE);
        }
        return sonde__capture_slot.memo;
    }
    /* acquire: pairs with the release by the previous owner, which has ended. This is a write,
     * because a page that is read first faults twice. A memo of a thread on the same stack stays
     * valid for this one: threads that do the same have the same stacks. But not if that thread
     * ended during a capture. */
    if (__atomic_exchange_n(&memo->is_busy, false, __ATOMIC_ACQUIRE) || !is_ours) {
        sonde__unwind_memo_reset(memo, 0, SONDE__MEMO_NO_GENERATION);
    }
    sonde__capture_slot.index = index;
    sonde__capture_slot.memo = memo;
    return memo;
}

void sonde__capture_memo_prepare(void)
{
    uint32_t used = __atomic_load_n(&slots_used, __ATOMIC_RELAXED);
    for (uint32_t i = used; i < used + AHEAD && i < SONDE__CAPTURE_MEMOS; i++) {
        struct sonde__memo *memo = slot_memory(i);
        if (memo != NULL) {
            __atomic_store_n(&memo->here, 1, __ATOMIC_RELAXED);
        }
    }
    sonde__unwind_memo_rules_prepare();
}

uint32_t sonde__capture_memo_index(void)
{
    return sonde__capture_slot.memo != NULL ? sonde__capture_slot.index : SONDE__CAPTURE_MEMOS;
}

void sonde__capture_memo_forget(void)
{
    uint64_t label = own_label();
    for (uint32_t i = 0; i < SONDE__CAPTURE_MEMOS; i++) {
        struct slot *chunk = chunks[i / CHUNK];
        bool is_own = sonde__capture_slot.memo != NULL && chunk != NULL &&
                      &chunk[i % CHUNK].memo == sonde__capture_slot.memo;
        __atomic_store_n(&labels[i], is_own ? label : 0, __ATOMIC_RELEASE);
    }
}

void sonde__capture_memo_disable(bool disable)
{
    __atomic_store_n(&sonde__capture_memo_is_disabled, disable, __ATOMIC_RELAXED);
}

uint64_t sonde__capture_memo_refused(void)
{
    return __atomic_load_n(&refused, __ATOMIC_RELAXED);
}
