// SPDX-License-Identifier: Apache-2.0
#include "record_kept.h"

#include "base_hash.h"
#include "base_mem.h"

enum { PROBES = 64, PAIR = UINT16_MAX };

struct key {
    uint64_t hash;
    uint32_t number, argument;
    const uint8_t *value; /* null: of the pair */
    size_t size;
};

static struct key make_key(uint32_t number, uint32_t argument, const uint8_t *value, size_t size)
{
    const uint8_t pair[] = {(uint8_t)number,         (uint8_t)(number >> 8),
                            (uint8_t)(number >> 16), (uint8_t)(number >> 24),
                            (uint8_t)argument,       value != NULL};
    uint64_t hash = sonde__base_hash_bytes(SONDE__HASH_EMPTY, pair, sizeof pair);
    hash = sonde__base_hash_bytes(hash, value, size);
    hash ^= hash >> 32;
    return (struct key){hash + (hash == 0), number, argument, value, size};
}

/* Is the complete slot of this key? */
static bool is_of(const struct sonde__kept *kept, const struct sonde__kept_slot *slot,
                  const struct key *key)
{
    uint32_t at = slot->at;
    if (slot->number != key->number || slot->argument != key->argument) {
        return false;
    }
    if (key->value == NULL) {
        return slot->size == PAIR;
    }
    return slot->size == key->size && at <= SONDE__KEPT_BYTES - key->size &&
           sonde__base_mem_compare(kept->bytes + at, key->value, key->size) == 0;
}

/* The slot of a key, or the free one where it may begin; null: neither within reach. */
static struct sonde__kept_slot *find(struct sonde__kept *kept, const struct key *key,
                                     bool *ret_is_free)
{
    for (uint32_t i = 0; i < PROBES; i++) {
        struct sonde__kept_slot *slot = &kept->slots[(key->hash + i) % SONDE__KEPT_SLOTS];
        uint64_t hash = atomic_load_explicit(&slot->hash, memory_order_acquire);
        *ret_is_free = hash == 0;
        if (hash == 0 || (hash == key->hash &&
                          (atomic_load_explicit(&slot->complete, memory_order_acquire) == 0 ||
                           is_of(kept, slot, key)))) {
            return slot;
        }
    }
    return NULL;
}

static bool put_value(struct sonde__kept *kept, const struct key *key, uint32_t *ret_at)
{
    uint32_t used = atomic_load_explicit(&kept->used, memory_order_relaxed);
    do {
        if (used > SONDE__KEPT_BYTES - key->size) {
            return false;
        }
    } while (!atomic_compare_exchange_weak_explicit(&kept->used, &used, used + (uint32_t)key->size,
                                                    memory_order_relaxed, memory_order_relaxed));
    sonde__base_mem_copy(kept->bytes + used, key->value, key->size);
    *ret_at = used;
    return true;
}

/* Claim a free slot. False: another key was first; look again. */
static bool claim(struct sonde__kept_slot *slot, const struct key *key, uint32_t at)
{
    uint64_t none = 0;
    if (!atomic_compare_exchange_strong_explicit(&slot->hash, &none, key->hash,
                                                 memory_order_acq_rel, memory_order_acquire)) {
        return false;
    }
    slot->number = key->number;
    slot->argument = (uint16_t)key->argument;
    slot->at = at;
    slot->size = key->value != NULL ? (uint16_t)key->size : PAIR;
    atomic_store_explicit(&slot->complete, 1, memory_order_release);
    return true;
}

/* The slot of a pair, made if it is missing; null: there is no room. */
static struct sonde__kept_slot *pair_of(struct sonde__kept *kept, uint32_t number,
                                        uint32_t argument)
{
    const struct key key = make_key(number, argument, NULL, 0);
    bool is_free;
    struct sonde__kept_slot *slot;
    do {
        slot = find(kept, &key, &is_free);
    } while (slot != NULL && is_free && !claim(slot, &key, 0));
    return slot;
}

/* Reserve one of the different values of a pair. */
static struct sonde__kept_slot *reserve(struct sonde__kept *kept, const struct key *key)
{
    struct sonde__kept_slot *pair = pair_of(kept, key->number, key->argument);
    uint64_t values = pair != NULL ? atomic_load_explicit(&pair->count, memory_order_relaxed) : 0;
    do {
        if (pair == NULL || values >= SONDE__KEPT_EACH) {
            return NULL;
        }
    } while (!atomic_compare_exchange_weak_explicit(&pair->count, &values, values + 1,
                                                    memory_order_relaxed, memory_order_relaxed));
    return pair;
}

/* The slot of a value that has none yet, or that another thread makes just now. */
static struct sonde__kept_slot *make(struct sonde__kept *kept, const struct key *key)
{
    struct sonde__kept_slot *pair = reserve(kept, key), *slot = NULL;
    bool is_free = true;
    uint32_t at = 0;
    if (pair != NULL && put_value(kept, key, &at)) {
        do {
            slot = find(kept, key, &is_free);
        } while (slot != NULL && is_free && !claim(slot, key, at));
    }
    if (pair != NULL && (slot == NULL || !is_free)) {
        atomic_fetch_sub_explicit(&pair->count, 1, memory_order_relaxed);
    }
    return slot;
}

bool sonde__kept_add(struct sonde__kept *kept, uint32_t number, uint32_t argument,
                     const uint8_t *value, size_t size)
{
    const struct key key = make_key(number, argument, value, size);
    bool is_free;
    struct sonde__kept_slot *slot = find(kept, &key, &is_free);
    if (slot != NULL && is_free) {
        slot = make(kept, &key);
    }
    if (slot == NULL) {
        return false;
    }
    atomic_fetch_add_explicit(&slot->count, 1, memory_order_relaxed);
    return true;
}

bool sonde__kept_read(const struct sonde__kept *kept, uint32_t slot,
                      struct sonde__kept_value *ret_value)
{
    const struct sonde__kept_slot *from = &kept->slots[slot];
    if (atomic_load_explicit(&from->complete, memory_order_acquire) == 0) {
        return false;
    }
    uint32_t at = *(const volatile uint32_t *)&from->at;
    uint16_t size = *(const volatile uint16_t *)&from->size;
    if (size == 0 || size > SONDE__KEPT_VALUE || at > (uint32_t)SONDE__KEPT_BYTES - size) {
        return false;
    }
    ret_value->number = from->number;
    ret_value->argument = from->argument;
    ret_value->count = atomic_load_explicit(&from->count, memory_order_relaxed);
    ret_value->size = size;
    sonde__base_mem_copy(ret_value->value, kept->bytes + at, size);
    return true;
}
