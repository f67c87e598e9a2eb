// SPDX-License-Identifier: Apache-2.0
/* A cache of rules by return address: one table for the process. All threads read and write it
 * without a lock, so the first stack of a thread finds what other threads have looked up in the
 * tables of the images. It holds only images that are never unloaded, so entries stay valid.
 *
 * An entry is one word, so no reader sees half of it: the rule in the low bits, above it a tag that
 * identifies the return address exactly. Multiplication of an address (48 bits) by an odd number
 * modulo 2^48 is a bijection: the upper bits of the product are the index, the others the tag. An
 * evicted entry is looked up in the image's table again.
 *
 * Context: handler. */
#ifndef SONDE_UNWIND_MEMO_RULES_H
#define SONDE_UNWIND_MEMO_RULES_H

#include "unwind_memo.h"

enum {
    SONDE__MEMO_RULES_BITS = 13,       /* entries, as a power of two: 64 KiB */
    SONDE__MEMO_RULES_PC_BITS = 48,    /* of an address; larger ones are not cached */
    SONDE__MEMO_RULES_PACKED_BITS = 28 /* of a rule */
};

/* An entry is at its index or its neighbour (index ^ 1): the tag has the bit in which they
 * differ. */
_Static_assert(SONDE__MEMO_RULES_PC_BITS - (SONDE__MEMO_RULES_BITS - 1) +
                       SONDE__MEMO_RULES_PACKED_BITS ==
                   64,
               "an entry is one word");

/* A packed rule, from bit 0: BY_FP; END; ZEROS; the CFA's distance in bytes, twelve bits from
 * bit 3 on; the place of the return address in words; the place of fp in words (0: nowhere; on
 * aarch64 plus one). x86-64 pushes both first, so these places are counted from the CFA downward.
 * aarch64 stores them at the frame's inner end, so they are counted from sp or fp upward. */
enum {
    SONDE__PACKED_CFA = 0xfff << 3,
    SONDE__PACKED_RA_SHIFT = 15,
    SONDE__PACKED_RA_MAX = 0x7f,
    SONDE__PACKED_FP_SHIFT = 22,
    SONDE__PACKED_FP_MAX = 0x3f,
};

static inline bool sonde__memo_rules_is_downward(unsigned arch)
{
    return arch == SONDE_ARCH_X86_64;
}

extern uint64_t sonde__unwind_memo_rules[1 << SONDE__MEMO_RULES_BITS];

/* Touch the table's pages, so that the first captures do not fault. Context: any thread */
void sonde__unwind_memo_rules_prepare(void);

/* Add a rule, if it can be packed. */
void sonde__unwind_memo_rules_put(uint64_t pc, const struct sonde__memo_rule *rule);

/* Mix an address below 2^48: the index is in the upper bits, the tag below. */
static inline uint64_t sonde__memo_rules_mix(uint64_t pc)
{
    return pc * ((uint64_t)0x9e3779b97f4a7c15u << (64 - SONDE__MEMO_RULES_PC_BITS));
}

static inline uint32_t sonde__memo_rules_place(uint64_t mixed)
{
    return (uint32_t)(mixed >> (64 - SONDE__MEMO_RULES_BITS));
}

static inline uint64_t sonde__memo_rules_tag(uint64_t mixed)
{
    return mixed << (SONDE__MEMO_RULES_BITS - 1);
}

/* Is it a rule? Else the entry has another tag or is free (no rule is 0). */
static inline bool sonde__memo_rules_is_rule(uint64_t packed)
{
    return packed - 1 < ((uint64_t)1 << SONDE__MEMO_RULES_PACKED_BITS) - 1;
}

static inline uint64_t sonde__memo_rules_load(uint32_t place)
{
    return __atomic_load_n(&sonde__unwind_memo_rules[place], __ATOMIC_RELAXED);
}

/* Any word unpacks to some rule; the caller checks its distances as for every rule. */
static inline struct sonde__memo_rule sonde__memo_rule_unpack(uint64_t packed)
{
    struct sonde__memo_rule rule = {.entry = 0};
    uint32_t cfa = (uint32_t)packed & SONDE__PACKED_CFA;
    uint32_t ra = (uint32_t)(packed >> (SONDE__PACKED_RA_SHIFT - 3)) & SONDE__PACKED_RA_MAX << 3;
    uint32_t fp = (uint32_t)(packed >> (SONDE__PACKED_FP_SHIFT - 3)) & SONDE__PACKED_FP_MAX << 3;
    rule.flags = (uint32_t)packed & SONDE__MEMO_RULE_FLAGS;
    rule.cfa = (int32_t)cfa;
    if (sonde__memo_rules_is_downward(SONDE__ARCH_HOST)) {
        rule.ra_at = ra;
        rule.fp_at = fp;
    } else {
        rule.ra_at = cfa - ra;
        rule.fp_at = fp != 0 ? cfa - (fp - 8) : 0;
    }
    return rule;
}

/* The rule for a return address. False: not in the table. */
static inline bool sonde__memo_rules_find(uint64_t pc, struct sonde__memo_rule *ret_rule)
{
    uint64_t mixed = sonde__memo_rules_mix(pc);
    uint32_t place = sonde__memo_rules_place(mixed);
    uint64_t packed = sonde__memo_rules_load(place) ^ sonde__memo_rules_tag(mixed);
    if (pc >> SONDE__MEMO_RULES_PC_BITS != 0) {
        return false;
    }
    if (!sonde__memo_rules_is_rule(packed)) {
        packed = sonde__memo_rules_load(place ^ 1) ^ sonde__memo_rules_tag(mixed);
        if (!sonde__memo_rules_is_rule(packed)) {
            return false;
        }
    }
    *ret_rule = sonde__memo_rule_unpack(packed);
    return true;
}

#endif
