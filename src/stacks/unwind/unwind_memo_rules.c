// SPDX-License-Identifier: Apache-2.0
#include "unwind_memo_rules.h"

#include "unwind_encoding.h"
#include "unwind_scans.h"
#include "unwind_table.h"

enum { PAGE_WORDS = 4096 / sizeof(uint64_t) };

uint64_t sonde__unwind_memo_rules[1 << SONDE__MEMO_RULES_BITS];

void sonde__unwind_memo_rules_prepare(void)
{
    for (uint32_t i = 0; i < 1 << SONDE__MEMO_RULES_BITS; i += PAGE_WORDS) {
        (void)__atomic_fetch_or(&sonde__unwind_memo_rules[i], 0, __ATOMIC_RELAXED);
    }
}

/* Returns 0 if the rule does not fit. */
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

/* The new entry gets the first place: of two that compete, the one in use returns to it. */
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

bool sonde__unwind_memo_rule(const struct sonde__rule *rule, struct sonde__memo_rule *ret_rule)
{
    bool by_fp = rule->cfa == SONDE__RULE_FP;
    bool fp_saved = rule->fp_from == SONDE__FROM_CFA;
    if (rule->cfa == SONDE__RULE_END) {
        *ret_rule = (struct sonde__memo_rule){.flags = SONDE__MEMO_RULE_END};
        return true;
    }
    if (!sonde__rule_is_plain(rule) || rule->cfa_offset % 8 != 0 || rule->ra_offset >= 0 ||
        rule->ra_offset % 8 != 0 ||
        (fp_saved && (rule->fp_offset >= 0 || rule->fp_offset % 8 != 0))) {
        return false;
    }
    *ret_rule = (struct sonde__memo_rule){
        .flags = by_fp ? SONDE__MEMO_RULE_BY_FP : 0,
        .cfa = rule->cfa_offset,
        .fp_at = fp_saved ? (uint32_t)-rule->fp_offset : 0,
        .ra_at = (uint32_t)-rule->ra_offset,
    };
    return true;
}

bool sonde__unwind_memo_encoded_rule(const struct sonde__image *image, uint64_t vaddr,
                                     struct sonde__memo_rule *ret_rule)
{
    struct sonde__rule encoded = sonde__encoding_find(image, SONDE__ARCH_HOST, vaddr);
    if (!sonde__unwind_memo_rule(&encoded, ret_rule)) {
        return false;
    }
    ret_rule->flags |= SONDE__MEMO_RULE_ZEROS; /* sonde__step_is_start() */
    return true;
}

bool sonde__unwind_memo_scan_rule(const struct sonde__scans *scans, uint64_t pc,
                                  struct sonde__memo_rule *ret_rule)
{
    struct sonde__scans_rule rule;
    uint64_t seal = 0;
    /* not redundant on other hosts: NOLINTNEXTLINE(misc-redundant-expression) */
    if (SONDE__ARCH_HOST != SONDE_ARCH_X86_64 ||
        !sonde__scans_rule(scans, pc, false, &rule, &seal) || seal != 0 ||
        rule.fp_saved == SONDE__SCANS_FP_LOST) {
        return false;
    }
    *ret_rule = (struct sonde__memo_rule){
        .flags = SONDE__MEMO_RULE_SCAN | (rule.by_fp ? SONDE__MEMO_RULE_BY_FP : 0),
        .cfa = (int32_t)rule.at + 8, /* the return address included */
        .fp_at = rule.fp_saved == SONDE__SCANS_FP_KEPT ? 0 : (uint32_t)rule.fp_saved + 8,
        .ra_at = 8,
        .entry = rule.entry,
    };
    return true;
}
