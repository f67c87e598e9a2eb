// SPDX-License-Identifier: Apache-2.0
#include "unwind_memo_rules.h"

enum { PAGE_WORDS = 4096 / sizeof(uint64_t) };

uint64_t sonde__unwind_memo_rules[1 << SONDE__MEMO_RULES_BITS];

void sonde__unwind_memo_rules_prepare(void)
{
    for (uint32_t i = 0; i < 1 << SONDE__MEMO_RULES_BITS; i += PAGE_WORDS) {
        (void)__atomic_fetch_or(&sonde__unwind_memo_rules[i], 0, __ATOMIC_RELAXED);
    }
}

/* 0: it does not fit. */
static uint64_t pack(const struct sonde__memo_rule *rule)
{
    bool is_down = sonde__memo_rules_is_downward(SONDE__ARCH_HOST);
    uint32_t cfa = (uint32_t)rule->cfa;
    uint64_t ra = is_down ? rule->ra_at : cfa - rule->ra_at;
    uint64_t fp = rule->fp_at == 0 || is_down ? rule->fp_at : cfa - rule->fp_at + 8;
    if ((rule->flags & SONDE__MEMO_RULE_END) != 0) {
        return SONDE__MEMO_RULE_END;
    }
    if (rule->cfa <= 0 || (cfa & ~(uint32_t)SONDE__PACKED_CFA) != 0 ||
        ra / 8 > SONDE__PACKED_RA_MAX || fp / 8 > SONDE__PACKED_FP_MAX) {
        return 0;
    }
    return rule->flags | cfa | ra / 8 << SONDE__PACKED_RA_SHIFT | fp / 8 << SONDE__PACKED_FP_SHIFT;
}

/* The newest first: of two that want the same place, the one that is in use comes back to it. */
void sonde__unwind_memo_rules_put(uint64_t pc, const struct sonde__memo_rule *rule)
{
    uint64_t mixed = sonde__memo_rules_mix(pc);
    uint32_t place = sonde__memo_rules_place(mixed);
    uint64_t packed = pack(rule);
    if (packed == 0 || pc >> SONDE__MEMO_RULES_PC_BITS != 0) {
        return;
    }
    __atomic_store_n(&sonde__unwind_memo_rules[place ^ 1], sonde__memo_rules_load(place),
                     __ATOMIC_RELAXED);
    __atomic_store_n(&sonde__unwind_memo_rules[place], sonde__memo_rules_tag(mixed) | packed,
                     __ATOMIC_RELAXED);
}
