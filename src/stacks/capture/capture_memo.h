// SPDX-License-Identifier: Apache-2.0
/* The pool of memos (unwind_memo.h) and their owners.
 *
 * A fixed pool of slots. A thread leases one at its first capture; the slot's label is its process
 * and thread id. Nothing runs when a thread ends: a thread on the same stack reuses its slot with
 * the contents, and any thread does when no slot is free. A thread finds its slot through a word of
 * static TLS. A thread without one (living threads have all slots, or no memory) walks by the
 * tables, and is counted.
 *
 * A capture marks the memo busy. A capture that interrupts it (in a handler) walks by the tables. A
 * handler that leaves such a capture by longjmp leaves the mark, and the thread captures without a
 * memo from then on.
 * Context: handler. */
#ifndef SONDE_CAPTURE_MEMO_H
#define SONDE_CAPTURE_MEMO_H

#include <stddef.h>

#include "unwind_memo.h"

#define SONDE__CAPTURE_MEMOS 256 /* 3 MiB if so many threads capture */

/* Touch the memory that the first captures of the next threads need: a page of some slots, and
 * the table of rules. Context: any thread */
void sonde__capture_memo_prepare(void);

/* The slot of the calling thread. A few words of static TLS (initial-exec), so that a handler's
 * first touch allocates nothing. */
extern __thread struct sonde__capture_slot {
    struct sonde__memo *memo; /* null: none */
    uint32_t patience;
    uint32_t index; /* of the memo */
} sonde__capture_slot;

extern bool sonde__capture_memo_is_disabled;

/* Lease a memo for a thread without one. Null: none now. */
struct sonde__memo *sonde__capture_memo_lease(void);

/* Mark the calling thread's memo busy and return it. Null: none now. */
static inline struct sonde__memo *sonde__capture_memo_enter(void)
{
    struct sonde__memo *memo = sonde__capture_slot.memo;
    if (__builtin_expect(memo == NULL ||
                             __atomic_load_n(&sonde__capture_memo_is_disabled, __ATOMIC_RELAXED),
                         0)) {
        memo = sonde__capture_memo_lease();
        if (memo == NULL) {
            return NULL;
        }
    }
    if (__atomic_load_n(&memo->is_busy, __ATOMIC_RELAXED)) {
        return NULL;
    }
    __atomic_store_n(&memo->is_busy, true, __ATOMIC_RELAXED);
    __atomic_signal_fence(__ATOMIC_SEQ_CST); /* before all use of the memo, as a handler sees it */
    return memo;
}

/* memo: may be null */
static inline void sonde__capture_memo_leave(struct sonde__memo *memo)
{
    if (memo != NULL) {
        __atomic_signal_fence(__ATOMIC_SEQ_CST);
        __atomic_store_n(&memo->is_busy, false, __ATOMIC_RELEASE);
    }
}

/* The index of the calling thread's slot, which no other living thread has;
 * SONDE__CAPTURE_MEMOS: it has none (yet). */
uint32_t sonde__capture_memo_index(void);

/* In a fork child, before it starts a thread. */
void sonde__capture_memo_forget(void);

/* For comparison: true: capture without memos from now on. */
void sonde__capture_memo_disable(bool disable);

/* How often a thread asked for a slot and got none. */
uint64_t sonde__capture_memo_refused(void);

/* Is the memo's image still loaded, by what the loader says now? */
bool sonde__capture_image_is_still_loaded(const struct sonde__memo_image *image);

#endif
