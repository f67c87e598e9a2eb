// SPDX-License-Identifier: Apache-2.0
#include "unwind_program.h"

#include "unwind_cfa_ops.h"

static const uint8_t *section_data(const struct sonde__cfi *cfi, enum sonde__cfi_section section)
{
    return section == SONDE__CFI_EH_FRAME ? cfi->eh_frame : cfi->debug_frame;
}

static size_t section_size(const struct sonde__cfi *cfi, enum sonde__cfi_section section)
{
    return section == SONDE__CFI_EH_FRAME ? cfi->eh_frame_size : cfi->debug_frame_size;
}

static void copy_state(struct sonde__program *p, unsigned to, unsigned from)
{
    struct sonde__cell *target = p->cells + (size_t)to * p->cell_count;
    const struct sonde__cell *source = p->cells + (size_t)from * p->cell_count;
    for (unsigned i = 0; i < p->cell_count; i++) {
        target[i] = source[i];
    }
    p->cfas[to] = p->cfas[from];
}

static unsigned cell_index(const struct sonde__program *p, uint64_t reg)
{
    return reg < SONDE__REG_COUNT ? p->cell_of[reg] : p->cell_count - 1;
}

static bool fits(int64_t value, int32_t *ret_value)
{
    *ret_value = (int32_t)value;
    return value >= INT32_MIN && value <= INT32_MAX;
}

/* factored * data_align, as DW_CFA_offset and its like store it */
static bool scale(const struct sonde__program *p, int64_t factored, int32_t *ret_value)
{
    int64_t value = 0;
    return !__builtin_mul_overflow(factored, p->cie.data_align, &value) && fits(value, ret_value);
}

static bool set_cell(struct sonde__program *p, uint64_t reg, enum sonde__cell_kind kind,
                     int32_t value)
{
    p->cells[cell_index(p, reg)] = (struct sonde__cell){.kind = (uint8_t)kind, .value = value};
    return true;
}

static bool set_scaled(struct sonde__program *p, uint64_t reg, enum sonde__cell_kind kind,
                       int64_t factored)
{
    int32_t value = 0;
    return scale(p, factored, &value) && set_cell(p, reg, kind, value);
}

static bool set_cfa(struct sonde__program *p, uint64_t reg, int64_t offset)
{
    struct sonde__cfa *cfa = &p->cfas[0];
    cfa->is_expression = false;
    cfa->reg = (uint8_t)reg;
    return reg < SONDE__REG_COUNT && fits(offset, &cfa->offset);
}

static bool set_cfa_offset(struct sonde__program *p, int64_t offset)
{
    return !p->cfas[0].is_expression && fits(offset, &p->cfas[0].offset);
}

static bool set_cfa_sf(struct sonde__program *p, uint64_t reg, int64_t factored)
{
    int32_t offset = 0;
    return scale(p, factored, &offset) && set_cfa(p, reg, offset);
}

/* Pass over a block; its place is its offset in the section. */
static bool take_block(struct sonde__program *p, uint32_t *ret_offset)
{
    uint64_t offset = (uint64_t)(p->cursor.at - section_data(p->cfi, p->section));
    (void)sonde__base_bytes_take(&p->cursor, sonde__base_bytes_uleb(&p->cursor));
    *ret_offset = (uint32_t)offset;
    return !p->cursor.failed && offset <= UINT32_MAX;
}

static bool set_expression(struct sonde__program *p, uint64_t reg, enum sonde__cell_kind kind)
{
    uint32_t offset = 0;
    return take_block(p, &offset) && set_cell(p, reg, kind, (int32_t)offset);
}

static bool set_register(struct sonde__program *p, uint64_t reg, uint64_t other)
{
    p->cells[cell_index(p, reg)] =
        (struct sonde__cell){.kind = SONDE__CELL_REGISTER, .reg = (uint8_t)other};
    return other < SONDE__REG_COUNT || cell_index(p, reg) == p->cell_count - 1;
}

static bool restore_cell(struct sonde__program *p, uint64_t reg)
{
    unsigned i = cell_index(p, reg);
    p->cells[i] = p->cells[p->cell_count + i];
    return true;
}

/* Registers: everything that names one and is not the commonest form. */
static bool run_register_op(struct sonde__program *p, uint8_t op)
{
    struct sonde__bytes *c = &p->cursor;
    uint64_t reg = sonde__base_bytes_uleb(c);
    switch (op) {
    case CFA_OFFSET_EXTENDED:
        return set_scaled(p, reg, SONDE__CELL_OFFSET, (int64_t)sonde__base_bytes_uleb(c));
    case CFA_OFFSET_EXTENDED_SF:
        return set_scaled(p, reg, SONDE__CELL_OFFSET, sonde__base_bytes_sleb(c));
    case CFA_GNU_NEGATIVE_OFFSET_EXTENDED:
        return set_scaled(p, reg, SONDE__CELL_OFFSET, (int64_t)(0 - sonde__base_bytes_uleb(c)));
    case CFA_VAL_OFFSET:
        return set_scaled(p, reg, SONDE__CELL_VAL_OFFSET, (int64_t)sonde__base_bytes_uleb(c));
    case CFA_VAL_OFFSET_SF:
        return set_scaled(p, reg, SONDE__CELL_VAL_OFFSET, sonde__base_bytes_sleb(c));
    case CFA_RESTORE_EXTENDED:
        return restore_cell(p, reg);
    case CFA_UNDEFINED:
        return set_cell(p, reg, SONDE__CELL_UNDEFINED, 0);
    case CFA_SAME_VALUE:
        return set_cell(p, reg, SONDE__CELL_SAME, 0);
    case CFA_REGISTER:
        return set_register(p, reg, sonde__base_bytes_uleb(c));
    case CFA_EXPRESSION:
        return set_expression(p, reg, SONDE__CELL_EXPRESSION);
    case CFA_VAL_EXPRESSION:
        return set_expression(p, reg, SONDE__CELL_VAL_EXPRESSION);
    case CFA_DEF_CFA:
        return set_cfa(p, reg, (int64_t)sonde__base_bytes_uleb(c));
    case CFA_DEF_CFA_SF:
        return set_cfa_sf(p, reg, sonde__base_bytes_sleb(c));
    case CFA_DEF_CFA_REGISTER:
        return !p->cfas[0].is_expression && set_cfa(p, reg, p->cfas[0].offset);
    default:
        return false;
    }
}

/* One instruction that is not an advance. False: malformed or unknown. */
static bool run_op(struct sonde__program *p, uint8_t op)
{
    struct sonde__bytes *c = &p->cursor;
    switch (op) {
    case CFA_NOP:
    case CFA_AARCH64_NEGATE_RA_STATE: /* signatures are stripped whether they stand or not */
    case CFA_AARCH64_NEGATE_RA_STATE_WITH_PC:
        return true;
    case CFA_GNU_ARGS_SIZE:
        (void)sonde__base_bytes_uleb(c); /* matters to landing pads only */
        return true;
    case CFA_REMEMBER_STATE:
        if (p->depth == SONDE__PROGRAM_DEPTH) {
            return false;
        }
        copy_state(p, 2 + p->depth++, 0);
        return true;
    case CFA_RESTORE_STATE:
        if (p->depth == 0) {
            return false;
        }
        copy_state(p, 0, 2 + --p->depth);
        return true;
    case CFA_DEF_CFA_OFFSET:
        return set_cfa_offset(p, (int64_t)sonde__base_bytes_uleb(c));
    case CFA_DEF_CFA_OFFSET_SF: {
        int32_t offset = 0;
        return scale(p, sonde__base_bytes_sleb(c), &offset) && set_cfa_offset(p, offset);
    }
    case CFA_DEF_CFA_EXPRESSION:
        p->cfas[0].is_expression = true;
        return take_block(p, &p->cfas[0].expression);
    default:
        return run_register_op(p, op);
    }
}

/* If `op` advances the location: the new one. False: it does not. */
static bool advance(struct sonde__program *p, uint8_t op, uint64_t *ret_at)
{
    struct sonde__bytes *c = &p->cursor;
    uint64_t delta = 0;
    switch (op) {
    case CFA_ADVANCE_LOC1:
        delta = sonde__base_bytes_u8(c);
        break;
    case CFA_ADVANCE_LOC2:
        delta = sonde__base_bytes_u16(c);
        break;
    case CFA_ADVANCE_LOC4:
        delta = sonde__base_bytes_u32(c);
        break;
    case CFA_SET_LOC:
        if (!sonde__cfi_pointer_read(p->cfi, p->section, c, p->cie.pointer_encoding,
                                     p->cie.address_size, ret_at, NULL)) {
            (void)sonde__base_bytes_fail(c);
        }
        return true;
    default:
        if ((op & ~CFA_LOW_BITS) != CFA_ADVANCE_LOC) {
            return false;
        }
        delta = op & CFA_LOW_BITS;
        break;
    }
    /* A hostile factor may wrap; the result is then below `at` and refused there. */
    *ret_at = p->at + delta * p->cie.code_align;
    return true;
}

static bool run_common_op(struct sonde__program *p, uint8_t op)
{
    bool good = false;
    if ((op & ~CFA_LOW_BITS) == CFA_OFFSET) {
        good = set_scaled(p, op & CFA_LOW_BITS, SONDE__CELL_OFFSET,
                          (int64_t)sonde__base_bytes_uleb(&p->cursor));
    } else if ((op & ~CFA_LOW_BITS) == CFA_RESTORE) {
        good = restore_cell(p, op & CFA_LOW_BITS);
    } else {
        good = run_op(p, op);
    }
    return good && !p->cursor.failed;
}

void sonde__program_init(struct sonde__program *program, const struct sonde__cfi *cfi,
                         const uint8_t *cell_of, struct sonde__cell *cells, unsigned cell_count)
{
    program->cfi = cfi;
    program->cell_of = cell_of;
    program->cells = cells;
    program->cell_count = cell_count;
    program->cie.program = NULL;
    program->done = true;
}

/* Run the initial instructions of a CIE; the state they leave is that of each of its FDEs. */
static bool start_cie(struct sonde__program *p, const struct sonde__cfi_fde *fde)
{
    p->cie = fde->cie;
    p->section = fde->section;
    p->depth = 0;
    for (unsigned i = 0; i < p->cell_count; i++) {
        p->cells[i] = (struct sonde__cell){.kind = SONDE__CELL_UNSPECIFIED};
        p->cells[p->cell_count + i] = p->cells[i];
    }
    p->cfas[0] = (struct sonde__cfa){.reg = UINT8_MAX};
    sonde__base_bytes_init(&p->cursor, fde->cie.program, fde->cie.program_size);
    while (sonde__base_bytes_left(&p->cursor) > 0) {
        uint64_t ignored = 0;
        uint8_t op = sonde__base_bytes_u8(&p->cursor);
        if (advance(p, op, &ignored) || !run_common_op(p, op)) {
            p->cie.program = NULL;
            return false;
        }
    }
    copy_state(p, 1, 0);
    return true;
}

bool sonde__program_start(struct sonde__program *program, const struct sonde__cfi_fde *fde)
{
    bool same = program->cie.program == fde->cie.program && program->section == fde->section;
    program->done = true;
    if (fde->cie.program == NULL || (!same && !start_cie(program, fde))) {
        return false;
    }
    copy_state(program, 0, 1);
    program->depth = 0;
    program->at = fde->start;
    program->end = fde->end;
    program->done = false;
    sonde__base_bytes_init(&program->cursor, fde->program, fde->program_size);
    return true;
}

/* One instruction of any kind; the location that it leaves in *ret_at. False: malformed. */
static __attribute__((noinline)) bool run_any_op(struct sonde__program *p, uint8_t op,
                                                 uint64_t *ret_at)
{
    *ret_at = p->at;
    return advance(p, op, ret_at) ? !p->cursor.failed : run_common_op(p, op);
}

/* The operand at `at` when it is one byte and inside. */
static inline bool is_short(const uint8_t *at, const uint8_t *end)
{
    return at < end && *at < 0x80;
}

/* One instruction of the few kinds that make nearly all programs, with a short operand; the same as
 * run_any_op() does, in place. False: not of those. */
static inline bool run_short_op(struct sonde__program *p, uint8_t op, uint64_t *ret_at)
{
    struct sonde__bytes *c = &p->cursor;
    *ret_at = p->at;
    switch (op & ~CFA_LOW_BITS) {
    case CFA_ADVANCE_LOC:
        *ret_at = p->at + (op & CFA_LOW_BITS) * p->cie.code_align;
        return true;
    case CFA_OFFSET:
        if (is_short(c->at, c->end) &&
            set_scaled(p, op & CFA_LOW_BITS, SONDE__CELL_OFFSET, *c->at)) {
            c->at++;
            return true;
        }
        return false;
    case CFA_RESTORE:
        return restore_cell(p, op & CFA_LOW_BITS);
    default:
        if (op == CFA_DEF_CFA_OFFSET && is_short(c->at, c->end) && !p->cfas[0].is_expression) {
            p->cfas[0].offset = *c->at++;
            return true;
        }
        return op == CFA_NOP;
    }
}

bool sonde__program_next(struct sonde__program *program)
{
    struct sonde__program *p = program;
    if (p->done) {
        return false;
    }
    p->row_start = p->at;
    while (p->cursor.at < p->cursor.end) {
        uint8_t op = *p->cursor.at++;
        uint64_t at = 0;
        if ((!run_short_op(p, op, &at) && !run_any_op(p, op, &at)) || at < p->at) {
            p->done = true;
            return false;
        }
        if (at > p->at) {
            p->at = at;
            p->done = at >= p->end;
            p->row_end = p->done ? p->end : at;
            return true;
        }
    }
    p->done = true;
    p->row_end = p->end;
    return true;
}

bool sonde__program_seek(struct sonde__program *program, const struct sonde__cfi_fde *fde,
                         uint64_t vaddr)
{
    if (vaddr < fde->start || !sonde__program_start(program, fde)) {
        return false;
    }
    while (sonde__program_next(program)) {
        if (vaddr < program->row_end) {
            return true;
        }
    }
    return false;
}

struct sonde__bytes sonde__program_block(const struct sonde__cfi *cfi,
                                         enum sonde__cfi_section section, uint32_t offset)
{
    struct sonde__bytes all;
    sonde__base_bytes_init(&all, section_data(cfi, section), section_size(cfi, section));
    (void)sonde__base_bytes_seek(&all, offset);
    uint64_t size = sonde__base_bytes_uleb(&all);
    if (all.failed) {
        size = UINT64_MAX;
    }
    return sonde__base_bytes_part(&all, sonde__base_bytes_offset(&all), size);
}
