// SPDX-License-Identifier: Apache-2.0
/* The compact rule: one step of the walk in twelve bytes, which follows only sp, fp and the return
 * address.
 *
 * All compiled code and nearly all assembler has these forms; a process has a few hundred distinct
 * rules. Any other row is OTHER and needs the full interpreter.
 * Context: handler. */
#ifndef SONDE_UNWIND_COMPACT_H
#define SONDE_UNWIND_COMPACT_H

#include "unwind_program.h"

/* How to compute the CFA, which is the caller's sp. */
enum sonde__rule_cfa {
    SONDE__RULE_NONE,     /* no CFI covers this address */
    SONDE__RULE_OTHER,    /* see the full interpreter */
    SONDE__RULE_END,      /* the return address is undefined: the outermost frame */
    SONDE__RULE_PLT,      /* sp + cfa_offset, + 1 << shift when (pc & 15) >= threshold */
    SONDE__RULE_SP,       /* sp + cfa_offset */
    SONDE__RULE_FP,       /* fp + cfa_offset */
    SONDE__RULE_SP_DEREF, /* the word at sp + cfa_offset (signal frames) */
    SONDE__RULE_FP_DEREF, /* the word at fp + cfa_offset (functions that realign their stack) */
};

/* Where the caller's fp or the return address is. */
enum sonde__rule_from {
    SONDE__FROM_KEPT, /* in its register: fp unchanged, return address in lr */
    SONDE__FROM_UNDEFINED,
    SONDE__FROM_CFA, /* the word at CFA + offset, ... */
    SONDE__FROM_SP,
    SONDE__FROM_FP,
};

#define SONDE__RULE_SIGNAL         0x80 /* flag: a signal frame: the caller's pc is exact */
#define SONDE__RULE_RECORD         0x40 /* flag: by the frame pointer that this code keeps; no CFI */
#define SONDE__RULE_PLT_THRESHOLD  0x0f
#define SONDE__RULE_PLT_SHIFT_BITS 4
#define SONDE__RULE_PLT_SHIFT_MASK 0x07

struct sonde__rule {
    int32_t cfa_offset; /* bytes */
    int16_t fp_offset;  /* bytes */
    int16_t ra_offset;  /* bytes */
    uint8_t cfa;        /* enum sonde__rule_cfa */
    uint8_t fp_from;    /* enum sonde__rule_from */
    uint8_t ra_from;    /* enum sonde__rule_from */
    uint8_t flags;
};

/* Is it a plain rule: CFA from sp or fp, the return address and perhaps fp at a distance from
 * it? One test: the two kinds of CFA and the two of fp differ in one bit each, and the rest is
 * fixed. */
static inline bool sonde__rule_is_plain(const struct sonde__rule *rule)
{
    _Static_assert((SONDE__RULE_SP ^ SONDE__RULE_FP) == 1, "the kinds of CFA differ in one bit");
    _Static_assert(SONDE__FROM_KEPT == 0 && (SONDE__FROM_CFA & (SONDE__FROM_CFA - 1)) == 0,
                   "so do the kinds of fp");
    uint32_t kinds = (uint32_t)rule->cfa | (uint32_t)rule->fp_from << 8 |
                     (uint32_t)rule->ra_from << 16 | (uint32_t)rule->flags << 24;
    uint32_t choice = 1 | (uint32_t)SONDE__FROM_CFA << 8;
    uint32_t given = (SONDE__RULE_SP & ~1u) | (uint32_t)SONDE__FROM_CFA << 16;
    return (kinds & ~choice) == given;
}

/* An interpreter that follows the registers of compact rules: fp, return address, sp. */
#define SONDE__COMPACT_CELLS 4
enum { SONDE__COMPACT_FP, SONDE__COMPACT_RA, SONDE__COMPACT_SP, SONDE__COMPACT_IGNORED };

struct sonde__compact {
    struct sonde__program program;
    uint8_t arch;
    uint8_t sp; /* register numbers */
    uint8_t fp;
    uint8_t ra;
    uint8_t cell_of[SONDE__REG_COUNT];
    struct sonde__cell cells[SONDE__PROGRAM_STATES * SONDE__COMPACT_CELLS];
};

void sonde__compact_init(struct sonde__compact *compact, const struct sonde__cfi *cfi,
                         unsigned arch);

/* The program's current row as a rule. */
struct sonde__rule sonde__compact_rule(const struct sonde__compact *compact);

/* A rule in three words, to compare and hash it in registers. */
struct sonde__rule_key {
    uint32_t cfa_offset;
    uint32_t offsets; /* fp_offset, ra_offset << 16 */
    uint32_t kinds;   /* cfa, fp_from << 8, ra_from << 16, flags << 24 */
};

static inline struct sonde__rule_key sonde__rule_key(const struct sonde__rule *rule)
{
    return (struct sonde__rule_key){
        .cfa_offset = (uint32_t)rule->cfa_offset,
        .offsets = (uint32_t)(uint16_t)rule->fp_offset | (uint32_t)(uint16_t)rule->ra_offset << 16,
        .kinds = (uint32_t)rule->cfa | (uint32_t)rule->fp_from << 8 |
                 (uint32_t)rule->ra_from << 16 | (uint32_t)rule->flags << 24,
    };
}

static inline struct sonde__rule sonde__rule_of_key(struct sonde__rule_key key)
{
    return (struct sonde__rule){
        .cfa_offset = (int32_t)key.cfa_offset,
        .fp_offset = (int16_t)(uint16_t)key.offsets,
        .ra_offset = (int16_t)(uint16_t)(key.offsets >> 16),
        .cfa = (uint8_t)key.kinds,
        .fp_from = (uint8_t)(key.kinds >> 8),
        .ra_from = (uint8_t)(key.kinds >> 16),
        .flags = (uint8_t)(key.kinds >> 24),
    };
}

/* The key of the current row. Builds nearly all rows, which have distances only, in place. */
static inline struct sonde__rule_key sonde__compact_key(const struct sonde__compact *compact)
{
    const struct sonde__program *p = &compact->program;
    const struct sonde__cfa *cfa = &p->cfas[0];
    const struct sonde__cell *ra = &p->cells[SONDE__COMPACT_RA];
    const struct sonde__cell *fp = &p->cells[SONDE__COMPACT_FP];
    bool fp_saved = fp->kind == SONDE__CELL_OFFSET;
    bool by_sp = cfa->reg == compact->sp;
    int32_t fp_offset = fp_saved ? fp->value : 0;
    if (cfa->is_expression || (!by_sp && cfa->reg != compact->fp) ||
        ra->kind != SONDE__CELL_OFFSET || ra->value >= 0 || ra->value != (int16_t)ra->value ||
        (!fp_saved && fp->kind != SONDE__CELL_UNSPECIFIED) || fp_offset != (int16_t)fp_offset ||
        p->cells[SONDE__COMPACT_SP].kind != SONDE__CELL_UNSPECIFIED || p->cie.is_signal_frame ||
        p->cie.return_reg != compact->ra) {
        struct sonde__rule rule = sonde__compact_rule(compact);
        return sonde__rule_key(&rule);
    }
    return (struct sonde__rule_key){
        .cfa_offset = (uint32_t)cfa->offset,
        .offsets = (uint32_t)(uint16_t)fp_offset | (uint32_t)(uint16_t)ra->value << 16,
        .kinds = (uint32_t)(by_sp ? SONDE__RULE_SP : SONDE__RULE_FP) |
                 (uint32_t)(fp_saved ? SONDE__FROM_CFA : SONDE__FROM_KEPT) << 8 |
                 (uint32_t)SONDE__FROM_CFA << 16,
    };
}

/* Find the rule for an address in one section, without a table. */
struct sonde__rule sonde__compact_find(const struct sonde__cfi *cfi, unsigned arch,
                                       enum sonde__cfi_section section, uint64_t vaddr);

#endif
