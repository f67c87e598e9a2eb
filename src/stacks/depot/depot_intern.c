// SPDX-License-Identifier: Apache-2.0
#include "depot_layout.h"

struct key {
    uint64_t frame;
    uint32_t caller;
    uint64_t hash;
};

enum outcome { FOUND, EMPTY, MOVED };

/* High and low half of a product: every bit of both words affects all of the hash. The odd
 * constants are digits of pi. */
static uint64_t hash_of(uint64_t frame, uint32_t caller)
{
    unsigned __int128 product = (unsigned __int128)(frame ^ 0x243f6a8885a308d3u) *
                                ((((uint64_t)caller << 32 | caller) ^ 0x13198a2e03707344u) | 1);
    uint64_t hash = (uint64_t)product ^ (uint64_t)(product >> 64);
    return hash * 0x9e3779b97f4a7c15u; /* 2^64 / golden ratio: the top bits are the index */
}

static inline struct key key_of(uint64_t frame, uint32_t caller)
{
    return (struct key){.frame = frame, .caller = caller, .hash = hash_of(frame, caller)};
}

static inline uint32_t slot_of(const struct key *key, uint32_t id)
{
    return (uint32_t)key->hash << 24 | id;
}

static bool is_key(const struct sonde__depot *depot, uint32_t id, const struct key *key)
{
    const struct sonde__depot_node *node = &depot->nodes[id];
    return id < depot->capacity && __atomic_load_n(&node->frame, __ATOMIC_RELAXED) == key->frame &&
           __atomic_load_n(&node->caller, __ATOMIC_RELAXED) == key->caller;
}

/* Search a table. FOUND: *ret is the id. EMPTY: *ret is the free slot for it. MOVED: the table
 * is closed there; a newer one may have it. */
static inline enum outcome find(const struct sonde__depot *depot, uint32_t level,
                                const struct key *key, uint32_t *ret)
{
    const uint32_t *slots = depot->slots[level];
    uint32_t mask = sonde__depot_slot_count(level) - 1;
    uint32_t at = (uint32_t)(key->hash >> (64 - SONDE__DEPOT_LEVEL_BITS - level));
    uint32_t tag = slot_of(key, 0);
    for (uint32_t tries = 0; tries <= mask; tries++, at = (at + 1) & mask) {
        uint32_t slot = __atomic_load_n(&slots[at], __ATOMIC_ACQUIRE);
        if (slot == 0) {
            *ret = at;
            return EMPTY;
        }
        if (slot == SONDE__DEPOT_FROZEN) {
            return MOVED;
        }
        if ((slot & ~SONDE__DEPOT_ID) == tag && is_key(depot, slot & SONDE__DEPOT_ID, key)) {
            *ret = slot & SONDE__DEPOT_ID;
            return FOUND;
        }
    }
    return MOVED;
}

/* Search an older table, and close it for this key. NONE: not there. */
static uint32_t find_old(struct sonde__depot *depot, uint32_t level, const struct key *key)
{
    uint32_t found = 0;
    for (;;) {
        uint32_t empty = 0;
        switch (find(depot, level, key, &found)) {
        case FOUND:
            return found;
        case MOVED:
            return SONDE__DEPOT_NONE;
        default:
            if (__atomic_compare_exchange_n(&depot->slots[level][found], &empty,
                                            SONDE__DEPOT_FROZEN, false, __ATOMIC_ACQ_REL,
                                            __ATOMIC_RELAXED)) {
                return SONDE__DEPOT_NONE;
            }
        }
    }
}

static bool is_label_node(const struct sonde__depot *depot, uint32_t id)
{
    return (__atomic_load_n(&depot->nodes[id].frame, __ATOMIC_RELAXED) & SONDE__DEPOT_LABEL) != 0;
}

/* Take a node wasted by a race, but one younger than its caller. NONE: none fits. */
static uint32_t take_spare(struct sonde__depot *depot, const struct key *key, bool is_label)
{
    if (__atomic_load_n(&depot->wasted, __ATOMIC_RELAXED) == 0) {
        return SONDE__DEPOT_NONE;
    }
    for (unsigned i = 0; i < SONDE__DEPOT_SPARES; i++) {
        uint32_t id = __atomic_load_n(&depot->spares[i], __ATOMIC_ACQUIRE);
        bool fits = id != SONDE__DEPOT_NONE && is_label_node(depot, id) == is_label &&
                    (is_label || (id > key->caller &&
                                  id >= __atomic_load_n(&depot->spares_from, __ATOMIC_ACQUIRE)));
        if (fits && __atomic_compare_exchange_n(&depot->spares[i], &id, SONDE__DEPOT_NONE, false,
                                                __ATOMIC_ACQ_REL, __ATOMIC_RELAXED)) {
            SONDE__DEPOT_ADD(depot, wasted, UINT32_MAX);
            return id;
        }
    }
    return SONDE__DEPOT_NONE;
}

static uint32_t take_new(struct sonde__depot *depot, bool is_label)
{
    uint64_t taken = __atomic_load_n(&depot->taken, __ATOMIC_RELAXED);
    const uint64_t one = is_label ? (uint64_t)1 << 32 : 1;
    do {
        if ((uint32_t)taken + (taken >> 32) >= depot->capacity) {
            return SONDE__DEPOT_NONE;
        }
    } while (!__atomic_compare_exchange_n(&depot->taken, &taken, taken + one, true,
                                          __ATOMIC_ACQ_REL, __ATOMIC_RELAXED));
    if (depot->shown != NULL) {
        __atomic_fetch_add(&depot->shown->taken, one, __ATOMIC_RELEASE);
    }
    return is_label ? depot->capacity - 1 - (uint32_t)(taken >> 32) : (uint32_t)taken;
}

static uint32_t take_node(struct sonde__depot *depot, const struct key *key)
{
    bool is_label = (key->frame & SONDE__DEPOT_LABEL) != 0;
    uint32_t id = take_spare(depot, key, is_label);
    id = id != SONDE__DEPOT_NONE ? id : take_new(depot, is_label);
    if (id == SONDE__DEPOT_NONE) {
        return id;
    }
    struct sonde__depot_node *node = &depot->nodes[id];
    __atomic_store_n(&node->caller, key->caller, __ATOMIC_RELAXED);
    __atomic_store_n(&node->frame, key->frame, __ATOMIC_RELAXED);
    return id;
}

/* Is the table at its limit? */
static bool is_full(const struct sonde__depot *depot, uint32_t level)
{
    struct sonde__depot_taken taken = sonde__depot_taken(depot);
    return taken.next + taken.labels >= SONDE__DEPOT_FIRST + sonde__depot_limit(level);
}

/* Another thread was first: the node is unused, and no node's caller. */
static void give_up(struct sonde__depot *depot, uint32_t id)
{
    if (id != SONDE__DEPOT_NONE) {
        __atomic_store_n(&depot->nodes[id].caller, SONDE__DEPOT_NONE, __ATOMIC_RELAXED);
        SONDE__DEPOT_ADD(depot, wasted, 1u);
        /* the spare replaced here is lost: it is the older one */
        (void)__atomic_exchange_n(&depot->spares[id % SONDE__DEPOT_SPARES], id, __ATOMIC_ACQ_REL);
    }
}

static uint32_t drop(struct sonde__depot *depot)
{
    SONDE__DEPOT_ADD(depot, dropped, 1u);
    return SONDE__DEPOT_NONE;
}

/* Use the next table, unless another thread was first. */
static void go_up(struct sonde__depot *depot, uint32_t level)
{
    if (__atomic_compare_exchange_n(&depot->level, &level, level + 1, false, __ATOMIC_ACQ_REL,
                                    __ATOMIC_RELAXED) &&
        depot->shown != NULL) {
        __atomic_fetch_add(&depot->shown->level, 1, __ATOMIC_RELAXED);
    }
}

/* Not in the current table: take it from an older one, or add it. Makes the key again, so that
 * the caller's stays in registers. */
static __attribute__((noinline)) uint32_t add(struct sonde__depot *depot, uint32_t caller,
                                              uint64_t frame)
{
    const struct key made = key_of(frame, caller), *const key = &made;
    uint32_t fresh = SONDE__DEPOT_NONE;
    for (;;) {
        uint32_t level = __atomic_load_n(&depot->level, __ATOMIC_ACQUIRE);
        uint32_t at = 0, id = SONDE__DEPOT_NONE, empty = 0;
        enum outcome outcome = find(depot, level, key, &at);
        if (outcome == FOUND) {
            give_up(depot, fresh);
            return at;
        }
        if (outcome == MOVED) {
            if (level == __atomic_load_n(&depot->level, __ATOMIC_ACQUIRE)) {
                give_up(depot, fresh);
                return drop(depot); /* the last table is full */
            }
            continue;
        }
        for (uint32_t older = level; older-- > 0 && id == SONDE__DEPOT_NONE;) {
            id = find_old(depot, older, key);
        }
        if (id == SONDE__DEPOT_NONE) {
            fresh = fresh != SONDE__DEPOT_NONE ? fresh : take_node(depot, key);
            id = fresh;
        }
        if (id == SONDE__DEPOT_NONE) {
            return drop(depot);
        }
        if (__atomic_compare_exchange_n(&depot->slots[level][at], &empty, slot_of(key, id), false,
                                        __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
            if (id != fresh) {
                give_up(depot, fresh);
            }
            if (level + 1 < depot->level_count && is_full(depot, level)) {
                go_up(depot, level);
            }
            return id;
        }
    }
}

uint32_t sonde__depot_child(struct sonde__depot *depot, uint32_t caller, uint64_t frame)
{
    const struct key key = key_of(frame, caller);
    uint32_t found = 0;
    if (caller == SONDE__DEPOT_NONE || caller >= depot->capacity ||
        (frame & SONDE__DEPOT_CLOSED) != 0) {
        return SONDE__DEPOT_NONE;
    }
    if (find(depot, __atomic_load_n(&depot->level, __ATOMIC_ACQUIRE), &key, &found) == FOUND) {
        return found;
    }
    return add(depot, caller, frame);
}
