// SPDX-License-Identifier: Apache-2.0
#include "unwind_scans.h"

#include "base_bytes.h"

/* The kind of an entry, in the low bits of its value. */
enum { RULE = 1, RULE_EXACT, CALLER, RECORD, CUTS, KIND_BITS = 3 };

enum { WAYS = 4 };

/* A rule, from bit KIND_BITS on: by_fp; the place of the return address; fp; pc - entry. */
enum { AT_BITS = 13, FP_BITS = 14, ENTRY_BITS = 15 };
enum { AT_SHIFT = KIND_BITS + 1, FP_SHIFT = AT_SHIFT + AT_BITS, ENTRY_SHIFT = FP_SHIFT + FP_BITS };

/* Values of the field fp; from FP_AT on, a distance in words. */
enum { FP_LOST, FP_KEPT, FP_AT };

#define MIX 0x9e3779b97f4a7c15u

static uint64_t field(uint64_t value, unsigned shift, unsigned bits)
{
    return value >> shift & (((uint64_t)1 << bits) - 1);
}

/* The first entry where a key may be. */
static uint32_t place_of(uint64_t key, unsigned kind)
{
    return (uint32_t)((key + kind) * MIX >> (64 - SONDE__SCANS_BITS)) & ~(uint32_t)(WAYS - 1);
}

static uint64_t check_of(uint64_t key, uint64_t value)
{
    return key ^ value * MIX;
}

/* Load the entry of a key and kind. A torn entry gives a wrong seal, which is neither 0 nor the
 * hash that the caller computes. */
static bool load(const struct sonde__scans *scans, uint64_t key, unsigned kind, uint64_t *ret_value,
                 uint64_t *ret_seal)
{
    const struct sonde__scans_entry *entry = &scans->entries[place_of(key, kind)];
    for (unsigned i = 0; i < WAYS && key != 0; i++, entry++) {
        uint64_t check = __atomic_load_n(&entry->check, __ATOMIC_RELAXED);
        uint64_t found = __atomic_load_n(&entry->key, __ATOMIC_RELAXED);
        uint64_t value = __atomic_load_n(&entry->value, __ATOMIC_RELAXED);
        if (found == key && field(value, 0, KIND_BITS) == kind) {
            *ret_value = value;
            *ret_seal = check ^ check_of(found, value);
            return true;
        }
    }
    return false;
}

/* Store over the same key, in a free entry, or over one that the key picks. */
static void store(struct sonde__scans *scans, uint64_t key, uint64_t value, uint64_t seal)
{
    unsigned kind = (unsigned)field(value, 0, KIND_BITS);
    struct sonde__scans_entry *set = &scans->entries[place_of(key, kind)];
    struct sonde__scans_entry *entry = &set[(key + kind) * MIX >> 20 & (WAYS - 1)];
    for (unsigned i = WAYS; i-- > 0;) {
        uint64_t found = __atomic_load_n(&set[i].key, __ATOMIC_RELAXED);
        uint64_t held = __atomic_load_n(&set[i].value, __ATOMIC_RELAXED);
        if (found == 0) {
            entry = &set[i];
        } else if (found == key && field(held, 0, KIND_BITS) == kind) {
            entry = &set[i];
            break;
        }
    }
    __atomic_store_n(&entry->key, key, __ATOMIC_RELAXED);
    __atomic_store_n(&entry->value, value, __ATOMIC_RELAXED);
    __atomic_store_n(&entry->check, check_of(key, value) ^ seal, __ATOMIC_RELAXED);
}

uint64_t sonde__scans_hash(const uint8_t *code, size_t size)
{
    uint64_t hash = size;
    for (size_t at = 0; at < size; at += 8) {
        uint64_t word = size - at >= 8 ? sonde__base_le64(code + at)
                                       : sonde__base_le(code + at, (unsigned)(size - at));
        hash = (hash ^ word) * MIX;
        hash ^= hash >> 29;
    }
    return hash | 1;
}

bool sonde__scans_rule(const struct sonde__scans *scans, uint64_t pc, bool is_exact,
                       struct sonde__scans_rule *ret_rule, uint64_t *ret_seal)
{
    uint64_t value;
    if (!load(scans, pc, is_exact ? RULE_EXACT : RULE, &value, ret_seal)) {
        return false;
    }
    uint64_t fp = field(value, FP_SHIFT, FP_BITS);
    ret_rule->entry = pc - field(value, ENTRY_SHIFT, ENTRY_BITS);
    ret_rule->at = (uint32_t)field(value, AT_SHIFT, AT_BITS) * 8;
    ret_rule->by_fp = field(value, KIND_BITS, 1) != 0;
    ret_rule->fp_saved = fp == FP_LOST   ? SONDE__SCANS_FP_LOST
                         : fp == FP_KEPT ? SONDE__SCANS_FP_KEPT
                                         : (int32_t)(fp - FP_AT) * 8;
    return true;
}

void sonde__scans_put_rule(struct sonde__scans *scans, uint64_t pc, bool is_exact,
                           const struct sonde__scans_rule *rule, uint64_t seal)
{
    uint64_t fp = rule->fp_saved == SONDE__SCANS_FP_LOST   ? FP_LOST
                  : rule->fp_saved == SONDE__SCANS_FP_KEPT ? FP_KEPT
                                                           : FP_AT + (uint64_t)rule->fp_saved / 8;
    uint64_t distance = pc - rule->entry;
    bool fits = rule->entry != 0 && (rule->at & 7) == 0 && rule->at >> (AT_BITS + 3) == 0 &&
                (rule->fp_saved < 0 || (rule->fp_saved & 7) == 0) && fp >> FP_BITS == 0 &&
                distance >> ENTRY_BITS == 0;
    if (fits) {
        store(scans, pc,
              (is_exact ? RULE_EXACT : RULE) | (uint64_t)rule->by_fp << KIND_BITS |
                  (uint64_t)(rule->at / 8) << AT_SHIFT | fp << FP_SHIFT | distance << ENTRY_SHIFT,
              seal);
    }
}

/* A key of two addresses, in practice unique. */
static uint64_t key_of_call(uint64_t entry, uint64_t pc)
{
    return (entry ^ pc * MIX) * MIX | 1;
}

bool sonde__scans_is_caller(const struct sonde__scans *scans, uint64_t entry, uint64_t pc,
                            uint64_t *ret_seal)
{
    uint64_t value;
    return load(scans, key_of_call(entry, pc), CALLER, &value, ret_seal);
}

void sonde__scans_put_caller(struct sonde__scans *scans, uint64_t entry, uint64_t pc, uint64_t seal)
{
    store(scans, key_of_call(entry, pc), CALLER, seal);
}

static uint64_t key_of_record(uint64_t pc, uint64_t distance)
{
    return key_of_call(pc, distance);
}

bool sonde__scans_is_record(const struct sonde__scans *scans, uint64_t pc, uint64_t distance,
                            uint64_t *ret_seal)
{
    uint64_t value;
    return load(scans, key_of_record(pc, distance), RECORD, &value, ret_seal);
}

void sonde__scans_put_record(struct sonde__scans *scans, uint64_t pc, uint64_t distance,
                             uint64_t seal)
{
    store(scans, key_of_record(pc, distance), RECORD, seal);
}

uint32_t sonde__scans_cuts(const struct sonde__scans *scans, uint64_t pc, uint64_t seal)
{
    uint64_t value, found;
    return load(scans, pc, CUTS, &value, &found) && found == seal ? (uint32_t)(value >> KIND_BITS)
                                                                  : 0;
}

void sonde__scans_put_cuts(struct sonde__scans *scans, uint64_t pc, uint32_t cuts, uint64_t seal)
{
    store(scans, pc, CUTS | (uint64_t)cuts << KIND_BITS, seal);
}
