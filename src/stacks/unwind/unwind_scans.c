// SPDX-License-Identifier: Apache-2.0
#include "unwind_scans.h"

enum { PC_BITS = 48, LOW_BITS = 64 - PC_BITS };

/* In the low bits of a value: a record, or what became of a caller's fp; more is a distance in
 * words. */
enum { RECORD, FP_LOST, FP_KEPT, FP_AT };

#define LOW_MASK (((uint64_t)1 << LOW_BITS) - 1)
#define MIX      0x9e3779b97f4a7c15u

/* False: it does not fit. */
static bool pack(uint64_t pc, uint64_t low, uint64_t *ret_word)
{
    *ret_word = pc << LOW_BITS | low;
    return pc != 0 && pc >> PC_BITS == 0 && low >> LOW_BITS == 0;
}

static uint32_t place_of(uint64_t word)
{
    return (uint32_t)(word * MIX >> (64 - SONDE__SCANS_BITS));
}

static uint64_t check_of(uint64_t key, uint64_t value)
{
    return key ^ value * MIX;
}

static bool load(const struct sonde__scans *scans, uint32_t place, uint64_t *ret_key,
                 uint64_t *ret_value)
{
    const struct sonde__scans_entry *entry = &scans->entries[place];
    uint64_t check = __atomic_load_n(&entry->check, __ATOMIC_RELAXED);
    *ret_key = __atomic_load_n(&entry->key, __ATOMIC_RELAXED);
    *ret_value = __atomic_load_n(&entry->value, __ATOMIC_RELAXED);
    return *ret_key != 0 && check == check_of(*ret_key, *ret_value);
}

static void store(struct sonde__scans *scans, uint32_t place, uint64_t key, uint64_t value)
{
    struct sonde__scans_entry *entry = &scans->entries[place];
    __atomic_store_n(&entry->key, key, __ATOMIC_RELAXED);
    __atomic_store_n(&entry->value, value, __ATOMIC_RELAXED);
    __atomic_store_n(&entry->check, check_of(key, value), __ATOMIC_RELAXED);
}

uint64_t sonde__scans_hash(const uint8_t *code, size_t size)
{
    uint64_t hash = size;
    for (size_t i = 0; i < size; i++) {
        hash = (hash ^ code[i]) * MIX;
        hash ^= hash >> 32;
    }
    return hash >> LOW_BITS;
}

/* Callers stand at the place of the pc alone, records at that of pc and distance. */
bool sonde__scans_caller(const struct sonde__scans *scans, uint64_t pc,
                         struct sonde__scans_caller *ret_caller)
{
    uint64_t key, value;
    if (!load(scans, place_of(pc), &key, &value) || key >> LOW_BITS != pc ||
        (value & LOW_MASK) == RECORD) {
        return false;
    }
    uint64_t fp = value & LOW_MASK;
    ret_caller->distance = (key & LOW_MASK) * 8;
    ret_caller->pc = value >> LOW_BITS;
    ret_caller->fp_saved = fp == FP_LOST   ? SONDE__SCANS_FP_LOST
                           : fp == FP_KEPT ? SONDE__SCANS_FP_KEPT
                                           : (int64_t)(fp - FP_AT) * 8;
    return true;
}

void sonde__scans_put_caller(struct sonde__scans *scans, uint64_t pc,
                             const struct sonde__scans_caller *caller)
{
    uint64_t key, value;
    uint64_t fp = caller->fp_saved == SONDE__SCANS_FP_LOST ? FP_LOST
                  : caller->fp_saved == SONDE__SCANS_FP_KEPT
                      ? FP_KEPT
                      : FP_AT + (uint64_t)caller->fp_saved / 8;
    bool is_known = caller->fp_saved != SONDE__SCANS_FP_UNKNOWN && (caller->distance & 7) == 0 &&
                    (caller->fp_saved < 0 || (caller->fp_saved & 7) == 0);
    if (is_known && pack(pc, caller->distance / 8, &key) && pack(caller->pc, fp, &value)) {
        store(scans, place_of(pc), key, value);
    }
}

bool sonde__scans_is_record(const struct sonde__scans *scans, uint64_t pc, uint64_t distance,
                            uint64_t code)
{
    uint64_t wanted, key, value;
    return (distance & 7) == 0 && pack(pc, distance / 8, &wanted) &&
           load(scans, place_of(wanted), &key, &value) && key == wanted &&
           value == (code << LOW_BITS | RECORD);
}

void sonde__scans_put_record(struct sonde__scans *scans, uint64_t pc, uint64_t distance,
                             uint64_t code)
{
    uint64_t key;
    if ((distance & 7) == 0 && pack(pc, distance / 8, &key)) {
        store(scans, place_of(key), key, code << LOW_BITS | RECORD);
    }
}
