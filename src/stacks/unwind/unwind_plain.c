// SPDX-License-Identifier: Apache-2.0
#include "unwind_plain.h"

#define KIND_CFA_MASK 0xffu
#define KIND_FP_SHIFT 8
#define KIND_RA_SHIFT 16

/* The state of a program: its row, and the remembered rows. */
struct plain {
    struct sonde__rule_key row;
    struct sonde__rule_key initial;
    uint8_t sp, fp, ra; /* register numbers */
    struct sonde__rule_key remembered[SONDE__CFA_DEPTH];
};

static inline bool set_cfa_register(void *state, uint64_t reg)
{
    struct plain *s = state;
    uint32_t cfa = reg == s->sp ? SONDE__RULE_SP : SONDE__RULE_FP;
    s->row.kinds = (s->row.kinds & ~KIND_CFA_MASK) | cfa;
    return reg == s->sp || reg == s->fp;
}

static inline bool set_cfa_offset(void *state, int64_t offset)
{
    ((struct plain *)state)->row.cfa_offset = (uint32_t)offset;
    return offset == (int32_t)offset;
}

static inline bool set_cfa(void *state, uint64_t reg, int64_t offset)
{
    return set_cfa_register(state, reg) && set_cfa_offset(state, offset);
}

static inline bool save(void *state, uint64_t reg, int64_t offset)
{
    struct plain *s = state;
    if (reg == s->fp) {
        s->row.offsets = (s->row.offsets & 0xffff0000u) | (uint16_t)offset;
        s->row.kinds = (s->row.kinds & ~(0xffu << KIND_FP_SHIFT)) | (uint32_t)SONDE__FROM_CFA
                                                                        << KIND_FP_SHIFT;
        return offset == (int16_t)offset;
    }
    if (reg == s->ra) {
        s->row.offsets = (s->row.offsets & 0xffffu) | (uint32_t)(uint16_t)offset << 16;
        s->row.kinds = (s->row.kinds & ~(0xffu << KIND_RA_SHIFT)) | (uint32_t)SONDE__FROM_CFA
                                                                        << KIND_RA_SHIFT;
        /* an offset above the CFA belongs to another CFA (unwind_compact.c) */
        return offset == (int16_t)offset && offset < 0;
    }
    return reg != s->sp && offset == (int32_t)offset;
}

/* sp has no rule of its own in a plain program. */
static inline bool restore(void *state, uint64_t reg)
{
    struct plain *s = state;
    uint32_t offsets_mask = reg == s->fp ? 0xffffu : reg == s->ra ? 0xffff0000u : 0;
    uint32_t kinds_mask = reg == s->fp   ? 0xffu << KIND_FP_SHIFT
                          : reg == s->ra ? 0xffu << KIND_RA_SHIFT
                                         : 0;
    s->row.offsets = (s->row.offsets & ~offsets_mask) | (s->initial.offsets & offsets_mask);
    s->row.kinds = (s->row.kinds & ~kinds_mask) | (s->initial.kinds & kinds_mask);
    return true;
}

static inline void remember(void *state, unsigned slot)
{
    struct plain *s = state;
    s->remembered[slot] = s->row;
}

static inline void recall(void *state, unsigned slot)
{
    struct plain *s = state;
    s->row = s->remembered[slot];
}

static inline const uint8_t *refuse(void *state, uint8_t op, const uint8_t *at, uint64_t *ret_delta)
{
    (void)state;
    (void)op;
    (void)at;
    (void)ret_delta;
    return NULL;
}

bool sonde__plain_put_rows(struct sonde__rows *table, const struct sonde__compact *compact,
                           const struct sonde__plain_cie *plain, const struct sonde__cfi_fde *fde,
                           uint64_t base, uint64_t limit, uint64_t *ret_covered)
{
    static const struct sonde__cfa_state rule = {
        .save = save,
        .restore = restore,
        .set_cfa = set_cfa,
        .set_cfa_register = set_cfa_register,
        .set_cfa_offset = set_cfa_offset,
        .remember = remember,
        .recall = recall,
        .other = refuse,
    };
    struct plain s;
    struct sonde__cfa_run run =
        sonde__cfa_start(&plain->cie, fde->program, fde->program_size, fde->start);
    s.row = s.initial = plain->initial;
    s.sp = compact->sp;
    s.fp = compact->fp;
    s.ra = compact->ra;
    while (run.vaddr < limit) {
        uint64_t next = limit;
        if (sonde__cfa_run_row(&rule, &s, &run, &next) == SONDE__CFA_REFUSED) {
            break;
        }
        if (!sonde__rows_put(table, run.vaddr - base, sonde__rows_intern(table, s.row))) {
            return false;
        }
        run.vaddr = next;
    }
    *ret_covered = run.vaddr < limit ? run.vaddr : limit;
    return true;
}

void sonde__plain_cie_init(struct sonde__plain_cie *plain, struct sonde__compact *compact)
{
    struct sonde__cfi_fde fde = {.cie = plain->cie, .section = SONDE__CFI_EH_FRAME};
    const struct sonde__cell *cells = compact->cells;
    const struct sonde__cell *fp = &cells[SONDE__COMPACT_FP], *ra = &cells[SONDE__COMPACT_RA];
    struct sonde__rule rule;
    plain->is_plain = false;
    if (!sonde__program_start(&compact->program, &fde) || compact->program.cfas[0].is_expression ||
        plain->cie.is_signal_frame || cells[SONDE__COMPACT_SP].kind != SONDE__CELL_UNSPECIFIED) {
        return;
    }
    rule = sonde__compact_rule(compact);
    plain->initial = sonde__rule_key(&rule);
    plain->is_plain =
        (rule.cfa == SONDE__RULE_SP || rule.cfa == SONDE__RULE_FP) &&
        (fp->kind == SONDE__CELL_UNSPECIFIED || fp->kind == SONDE__CELL_OFFSET) &&
        (ra->kind == SONDE__CELL_UNSPECIFIED || (ra->kind == SONDE__CELL_OFFSET && ra->value < 0));
}
