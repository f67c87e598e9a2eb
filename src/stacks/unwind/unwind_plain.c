// SPDX-License-Identifier: Apache-2.0
#include "unwind_plain.h"

#include "unwind_cfa_ops.h"

/* Compilers use smaller alignment factors; with this limit no product below overflows. */
enum { ALIGN_MAX = 16 };

#define KIND_CFA_MASK 0xffu
#define KIND_FP_SHIFT 8
#define KIND_RA_SHIFT 16

struct state {
    struct sonde__rule_key row;
    const uint8_t *at;
    const uint8_t *end;
    unsigned depth;
    struct sonde__rule_key remembered[SONDE__PROGRAM_DEPTH];
};

/* An operand of at most three bytes. False: it is longer, or cut. */
static inline bool read_operand(struct state *s, uint32_t *ret_value)
{
    const uint8_t *p = s->at;
    if (p < s->end && p[0] < 0x80) {
        *ret_value = p[0];
        s->at = p + 1;
        return true;
    }
    if (s->end - p >= 2 && p[1] < 0x80) {
        *ret_value = (p[0] & 0x7fu) | (uint32_t)p[1] << 7;
        s->at = p + 2;
        return true;
    }
    if (s->end - p >= 3 && p[2] < 0x80) {
        *ret_value = (p[0] & 0x7fu) | (p[1] & 0x7fu) << 7 | (uint32_t)p[2] << 14;
        s->at = p + 3;
        return true;
    }
    return false;
}

static inline bool is_followed(const struct sonde__compact *compact, uint32_t reg)
{
    return reg == compact->fp || reg == compact->ra || reg == compact->sp;
}

static inline bool set_cfa_register(const struct sonde__compact *compact, struct state *s,
                                    uint32_t reg)
{
    uint32_t cfa = reg == compact->sp ? SONDE__RULE_SP : SONDE__RULE_FP;
    s->row.kinds = (s->row.kinds & ~KIND_CFA_MASK) | cfa;
    return reg == compact->sp || reg == compact->fp;
}

/* A register is saved at CFA + factored * data_align. */
static inline bool save(const struct sonde__compact *compact, const struct sonde__plain_cie *plain,
                        struct state *s, uint32_t reg)
{
    uint32_t factored = 0;
    if (!read_operand(s, &factored)) {
        return false;
    }
    if (!is_followed(compact, reg)) {
        return true;
    }
    int32_t offset = (int32_t)factored * plain->data_align;
    if (reg == compact->sp || offset != (int16_t)offset) {
        return false;
    }
    if (reg == compact->fp) {
        s->row.offsets = (s->row.offsets & 0xffff0000u) | (uint16_t)offset;
        s->row.kinds = (s->row.kinds & ~(0xffu << KIND_FP_SHIFT)) | (uint32_t)SONDE__FROM_CFA
                                                                        << KIND_FP_SHIFT;
        return true;
    }
    s->row.offsets = (s->row.offsets & 0xffffu) | (uint32_t)(uint16_t)offset << 16;
    s->row.kinds = (s->row.kinds & ~(0xffu << KIND_RA_SHIFT)) | (uint32_t)SONDE__FROM_CFA
                                                                    << KIND_RA_SHIFT;
    return offset < 0; /* above the CFA it is another CFA that is meant (unwind_compact.c) */
}

/* A register is where it was at the start; sp was nowhere else. */
static inline void restore(const struct sonde__compact *compact,
                           const struct sonde__plain_cie *plain, struct state *s, uint32_t reg)
{
    uint32_t offsets_mask = reg == compact->fp ? 0xffffu : reg == compact->ra ? 0xffff0000u : 0;
    uint32_t kinds_mask = reg == compact->fp   ? 0xffu << KIND_FP_SHIFT
                          : reg == compact->ra ? 0xffu << KIND_RA_SHIFT
                                               : 0;
    s->row.offsets = (s->row.offsets & ~offsets_mask) | (plain->initial.offsets & offsets_mask);
    s->row.kinds = (s->row.kinds & ~kinds_mask) | (plain->initial.kinds & kinds_mask);
}

/* The instructions with the operation in all eight bits. */
static inline bool run_whole_op(const struct sonde__compact *compact,
                                const struct sonde__plain_cie *plain, struct state *s, uint8_t op)
{
    uint32_t reg = 0;
    uint32_t ignored = 0;
    switch (op) {
    case CFA_DEF_CFA_OFFSET:
        return read_operand(s, &s->row.cfa_offset);
    case CFA_NOP:
    case CFA_AARCH64_NEGATE_RA_STATE:
        return true;
    case CFA_REMEMBER_STATE:
        if (s->depth == SONDE__PROGRAM_DEPTH) {
            return false;
        }
        s->remembered[s->depth++] = s->row;
        return true;
    case CFA_RESTORE_STATE:
        if (s->depth == 0) {
            return false;
        }
        s->row = s->remembered[--s->depth];
        return true;
    case CFA_DEF_CFA:
        return read_operand(s, &reg) && set_cfa_register(compact, s, reg) &&
               read_operand(s, &s->row.cfa_offset);
    case CFA_DEF_CFA_REGISTER:
        return read_operand(s, &reg) && set_cfa_register(compact, s, reg);
    case CFA_OFFSET_EXTENDED:
        return read_operand(s, &reg) && save(compact, plain, s, reg);
    case CFA_RESTORE_EXTENDED:
        if (!read_operand(s, &reg)) {
            return false;
        }
        restore(compact, plain, s, reg);
        return true;
    case CFA_GNU_ARGS_SIZE:
        return read_operand(s, &ignored);
    default:
        return false;
    }
}

/* One instruction, the cursor behind its first byte. *ret_delta: by how much it advances.
 * False: not plain. */
static inline bool run(const struct sonde__compact *compact, const struct sonde__plain_cie *plain,
                       struct state *s, uint8_t op, uint32_t *ret_delta)
{
    *ret_delta = 0;
    switch (op & ~CFA_LOW_BITS) {
    case CFA_ADVANCE_LOC:
        *ret_delta = (uint32_t)(op & CFA_LOW_BITS) * plain->code_align;
        return true;
    case CFA_OFFSET:
        return save(compact, plain, s, op & CFA_LOW_BITS);
    case CFA_RESTORE:
        restore(compact, plain, s, op & CFA_LOW_BITS);
        return true;
    default:
        break;
    }
    if (op == CFA_ADVANCE_LOC1 && s->end - s->at >= 1) {
        *ret_delta = (uint32_t)s->at[0] * plain->code_align;
        s->at += 1;
        return true;
    }
    if (op == CFA_ADVANCE_LOC2 && s->end - s->at >= 2) {
        *ret_delta = (s->at[0] | (uint32_t)s->at[1] << 8) * plain->code_align;
        s->at += 2;
        return true;
    }
    return run_whole_op(compact, plain, s, op);
}

/* What the interpreter holds in this state: number 0 is the row's, from 2 on the remembered. */
static void set_program_state(struct sonde__compact *compact, unsigned state,
                              struct sonde__rule_key key)
{
    struct sonde__rule rule = sonde__rule_of_key(key);
    struct sonde__cell *cells = compact->cells + (size_t)state * SONDE__COMPACT_CELLS;
    cells[SONDE__COMPACT_SP] = (struct sonde__cell){.kind = SONDE__CELL_UNSPECIFIED};
    cells[SONDE__COMPACT_FP] = cells[SONDE__COMPACT_SP];
    cells[SONDE__COMPACT_RA] = cells[SONDE__COMPACT_SP];
    if (rule.fp_from == SONDE__FROM_CFA) {
        cells[SONDE__COMPACT_FP] =
            (struct sonde__cell){.kind = SONDE__CELL_OFFSET, .value = rule.fp_offset};
    }
    if (rule.ra_from == SONDE__FROM_CFA) {
        cells[SONDE__COMPACT_RA] =
            (struct sonde__cell){.kind = SONDE__CELL_OFFSET, .value = rule.ra_offset};
    }
    compact->program.cfas[state] = (struct sonde__cfa){
        .reg = rule.cfa == SONDE__RULE_SP ? compact->sp : compact->fp, .offset = rule.cfa_offset};
}

/* Let the interpreter stand where we do: before the instruction at s->at, in the row that starts at
 * vaddr `at`. */
static bool hand_over(struct sonde__compact *compact, const struct sonde__plain_cie *plain,
                      const struct sonde__cfi_fde *fde, const struct state *s, uint64_t at)
{
    struct sonde__cfi_fde whole = *fde;
    whole.cie = plain->cie;
    if (!sonde__program_start(&compact->program, &whole)) {
        return false;
    }
    set_program_state(compact, 0, s->row);
    for (unsigned i = 0; i < s->depth; i++) {
        set_program_state(compact, 2 + i, s->remembered[i]);
    }
    compact->program.depth = s->depth;
    compact->program.at = at;
    compact->program.cursor.at = s->at;
    return true;
}

bool sonde__program_put_rows(struct sonde__rows *table, struct sonde__compact *compact,
                             uint64_t base, uint64_t limit, uint64_t *ret_covered)
{
    struct sonde__program *p = &compact->program;
    uint64_t covered = p->at;
    while (covered < limit && sonde__program_next(p)) {
        uint32_t index = sonde__rows_intern(table, sonde__compact_key(compact));
        if (!sonde__rows_put(table, p->row_start - base, index)) {
            return false;
        }
        covered = p->row_end;
    }
    *ret_covered = covered < limit ? covered : limit;
    return true;
}

bool sonde__plain_put_rows(struct sonde__rows *table, struct sonde__compact *compact,
                           const struct sonde__plain_cie *plain, const struct sonde__cfi_fde *fde,
                           uint64_t base, uint64_t limit, uint64_t *ret_covered)
{
    struct state s = {.row = plain->initial, .at = fde->program, .depth = 0};
    uint64_t at = fde->start;
    s.end = s.at + fde->program_size;
    while (s.at < s.end) {
        const struct sonde__rule_key row = s.row;
        const uint8_t *op = s.at++;
        uint32_t delta;
        if (!run(compact, plain, &s, *op, &delta)) {
            s.row = row;
            s.at = op;
            *ret_covered = at;
            return !hand_over(compact, plain, fde, &s, at) ||
                   sonde__program_put_rows(table, compact, base, limit, ret_covered);
        }
        if (delta == 0) {
            continue;
        }
        if (!sonde__rows_put(table, at - base, sonde__rows_intern(table, s.row))) {
            return false;
        }
        at += delta;
        if (at >= limit) {
            *ret_covered = limit;
            return true;
        }
    }
    *ret_covered = limit;
    return at >= limit || sonde__rows_put(table, at - base, sonde__rows_intern(table, s.row));
}

void sonde__plain_cie_init(struct sonde__plain_cie *plain, struct sonde__compact *compact)
{
    struct sonde__cfi_fde fde = {.cie = plain->cie, .section = SONDE__CFI_EH_FRAME};
    struct sonde__rule rule;
    const struct sonde__cell *cells = compact->cells;
    const struct sonde__cfi_cie *cie = &plain->cie;
    plain->is_plain = false;
    if (!sonde__program_start(&compact->program, &fde) || compact->program.cfas[0].is_expression ||
        cie->is_signal_frame || cie->code_align > ALIGN_MAX || cie->data_align > ALIGN_MAX ||
        cie->data_align < -ALIGN_MAX || cells[SONDE__COMPACT_SP].kind != SONDE__CELL_UNSPECIFIED) {
        return;
    }
    rule = sonde__compact_rule(compact);
    plain->initial = sonde__rule_key(&rule);
    plain->code_align = (uint8_t)cie->code_align;
    plain->data_align = (int8_t)cie->data_align;
    bool fp_is_plain = cells[SONDE__COMPACT_FP].kind == SONDE__CELL_UNSPECIFIED ||
                       cells[SONDE__COMPACT_FP].kind == SONDE__CELL_OFFSET;
    bool ra_is_plain =
        cells[SONDE__COMPACT_RA].kind == SONDE__CELL_UNSPECIFIED ||
        (cells[SONDE__COMPACT_RA].kind == SONDE__CELL_OFFSET && cells[SONDE__COMPACT_RA].value < 0);
    plain->is_plain =
        (rule.cfa == SONDE__RULE_SP || rule.cfa == SONDE__RULE_FP) && fp_is_plain && ra_is_plain;
}
