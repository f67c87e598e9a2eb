// SPDX-License-Identifier: Apache-2.0
#include "unwind_program.h"

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

static bool set_cell(struct sonde__program *p, uint64_t reg, enum sonde__cell_kind kind,
                     int64_t value)
{
    p->cells[cell_index(p, reg)] =
        (struct sonde__cell){.kind = (uint8_t)kind, .value = (int32_t)value};
    return value == (int32_t)value;
}

static bool set_scaled(struct sonde__program *p, uint64_t reg, enum sonde__cell_kind kind,
                       int64_t factored)
{
    int64_t value = 0;
    return sonde__cfa_scale(&p->run, factored, &value) && set_cell(p, reg, kind, value);
}

/* Skip a block. *ret_offset: its offset in the section. */
static bool take_block(const struct sonde__program *p, struct sonde__bytes *c, uint32_t *ret_offset)
{
    uint64_t offset = (uint64_t)(c->at - section_data(p->cfi, p->section));
    (void)sonde__base_bytes_take(c, sonde__base_bytes_uleb(c));
    *ret_offset = (uint32_t)offset;
    return offset <= UINT32_MAX;
}

static bool set_expression(struct sonde__program *p, struct sonde__bytes *c, uint64_t reg,
                           enum sonde__cell_kind kind)
{
    uint32_t offset = 0;
    return take_block(p, c, &offset) && set_cell(p, reg, kind, (int32_t)offset);
}

static bool set_register(struct sonde__program *p, uint64_t reg, uint64_t other)
{
    p->cells[cell_index(p, reg)] =
        (struct sonde__cell){.kind = SONDE__CELL_REGISTER, .reg = (uint8_t)other};
    return other < SONDE__REG_COUNT || cell_index(p, reg) == p->cell_count - 1;
}

/* --- the instructions that compilers use --- */

static bool save(void *state, uint64_t reg, int64_t offset)
{
    return set_cell(state, reg, SONDE__CELL_OFFSET, offset);
}

static bool restore(void *state, uint64_t reg)
{
    struct sonde__program *p = state;
    unsigned i = cell_index(p, reg);
    p->cells[i] = p->cells[p->cell_count + i];
    return true;
}

static bool set_cfa_offset(void *state, int64_t offset)
{
    struct sonde__cfa *cfa = &((struct sonde__program *)state)->cfas[0];
    cfa->offset = (int32_t)offset;
    return !cfa->is_expression && offset == (int32_t)offset;
}

static bool set_cfa(void *state, uint64_t reg, int64_t offset)
{
    struct sonde__cfa *cfa = &((struct sonde__program *)state)->cfas[0];
    cfa->is_expression = false;
    cfa->reg = (uint8_t)reg;
    return reg < SONDE__REG_COUNT && set_cfa_offset(state, offset);
}

static bool set_cfa_register(void *state, uint64_t reg)
{
    const struct sonde__cfa *cfa = &((struct sonde__program *)state)->cfas[0];
    return !cfa->is_expression && set_cfa(state, reg, cfa->offset);
}

static void remember(void *state, unsigned slot)
{
    copy_state(state, 2 + slot, 0);
}

static void recall(void *state, unsigned slot)
{
    copy_state(state, 0, 2 + slot);
}

/* --- the others --- */

/* Instructions whose first operand is a register. */
static bool run_register_op(struct sonde__program *p, uint8_t op, struct sonde__bytes *c)
{
    uint64_t reg = sonde__base_bytes_uleb(c);
    int64_t offset = 0;
    switch (op) {
    case CFA_OFFSET_EXTENDED_SF:
        return set_scaled(p, reg, SONDE__CELL_OFFSET, sonde__base_bytes_sleb(c));
    case CFA_GNU_NEGATIVE_OFFSET_EXTENDED:
        return set_scaled(p, reg, SONDE__CELL_OFFSET, (int64_t)(0 - sonde__base_bytes_uleb(c)));
    case CFA_VAL_OFFSET:
        return set_scaled(p, reg, SONDE__CELL_VAL_OFFSET, (int64_t)sonde__base_bytes_uleb(c));
    case CFA_VAL_OFFSET_SF:
        return set_scaled(p, reg, SONDE__CELL_VAL_OFFSET, sonde__base_bytes_sleb(c));
    case CFA_UNDEFINED:
        return set_cell(p, reg, SONDE__CELL_UNDEFINED, 0);
    case CFA_SAME_VALUE:
        return set_cell(p, reg, SONDE__CELL_SAME, 0);
    case CFA_REGISTER:
        return set_register(p, reg, sonde__base_bytes_uleb(c));
    case CFA_EXPRESSION:
        return set_expression(p, c, reg, SONDE__CELL_EXPRESSION);
    case CFA_VAL_EXPRESSION:
        return set_expression(p, c, reg, SONDE__CELL_VAL_EXPRESSION);
    case CFA_DEF_CFA_SF:
        return sonde__cfa_scale(&p->run, sonde__base_bytes_sleb(c), &offset) &&
               set_cfa(p, reg, offset);
    default:
        return false;
    }
}

static bool run_other_op(struct sonde__program *p, uint8_t op, struct sonde__bytes *c,
                         uint64_t *ret_delta)
{
    uint64_t at = 0;
    int64_t offset = 0;
    switch (op) {
    case CFA_SET_LOC:
        *ret_delta = 0;
        if (!sonde__cfi_pointer_read(p->cfi, p->section, c, p->cie.pointer_encoding,
                                     p->cie.address_size, &at, NULL)) {
            return false;
        }
        *ret_delta = at - p->run.vaddr;
        return at >= p->run.vaddr;
    case CFA_DEF_CFA_OFFSET_SF:
        return sonde__cfa_scale(&p->run, sonde__base_bytes_sleb(c), &offset) &&
               set_cfa_offset(p, offset);
    case CFA_DEF_CFA_EXPRESSION:
        p->cfas[0].is_expression = true;
        return take_block(p, c, &p->cfas[0].expression);
    default:
        return run_register_op(p, op, c);
    }
}

static __attribute__((noinline)) const uint8_t *run_other(void *state, uint8_t op,
                                                          const uint8_t *at, uint64_t *ret_delta)
{
    struct sonde__program *p = state;
    struct sonde__bytes c;
    uint64_t delta = 0;
    sonde__base_bytes_init(&c, at, (size_t)(p->run.end - at));
    if (!run_other_op(p, op, &c, &delta) || c.failed) {
        return NULL;
    }
    *ret_delta = delta;
    return c.at;
}

const uint8_t *sonde__cfa_read_long(const uint8_t *at, const uint8_t *end, uint64_t *ret_value)
{
    struct sonde__bytes c;
    sonde__base_bytes_init(&c, at, (size_t)(end - at));
    *ret_value = sonde__base_bytes_uleb(&c);
    return c.failed ? NULL : c.at;
}

static enum sonde__cfa_end run_row(struct sonde__program *p, uint64_t *ret_next)
{
    static const struct sonde__cfa_state cells = {
        .save = save,
        .restore = restore,
        .set_cfa = set_cfa,
        .set_cfa_register = set_cfa_register,
        .set_cfa_offset = set_cfa_offset,
        .remember = remember,
        .recall = recall,
        .other = run_other,
    };
    return sonde__cfa_run_row(&cells, p, &p->run, ret_next);
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

/* Run the initial instructions of a CIE. All of its FDEs start from that state. */
static bool start_cie(struct sonde__program *p, const struct sonde__cfi_fde *fde)
{
    uint64_t next;
    p->cie = fde->cie;
    p->section = fde->section;
    for (unsigned i = 0; i < p->cell_count; i++) {
        p->cells[i] = (struct sonde__cell){.kind = SONDE__CELL_UNSPECIFIED};
        p->cells[p->cell_count + i] = p->cells[i];
    }
    p->cfas[0] = (struct sonde__cfa){.reg = UINT8_MAX};
    p->run = sonde__cfa_start(&p->cie, p->cie.program, p->cie.program_size, 0);
    if (run_row(p, &next) != SONDE__CFA_PROGRAM) {
        p->cie.program = NULL;
        return false;
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
    program->run = sonde__cfa_start(&program->cie, fde->program, fde->program_size, fde->start);
    program->end = fde->end;
    program->done = false;
    return true;
}

bool sonde__program_next(struct sonde__program *program)
{
    struct sonde__program *p = program;
    if (p->done) {
        return false;
    }
    uint64_t next = p->end;
    enum sonde__cfa_end end = run_row(p, &next);
    p->done = end != SONDE__CFA_ROW || next >= p->end;
    p->row_start = p->run.vaddr;
    p->row_end = p->done ? p->end : next;
    p->run.vaddr = p->row_end;
    return end != SONDE__CFA_REFUSED;
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
