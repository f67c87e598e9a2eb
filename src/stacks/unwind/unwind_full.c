// SPDX-License-Identifier: Apache-2.0
/* The step with all registers: for rows with a CFA in a register other than sp and fp, or with a
 * real expression (resolvers of the dynamic linker, crypto assembler, setcontext).
 *
 * Registers without a rule keep their value, caller-saved ones too: assembler that bases its CFA
 * on one keeps it over its calls, and gives no rule for it. gdb does the same. */
#include "unwind_encoding.h"
#include "unwind_expression.h"
#include "unwind_go.h"
#include "unwind_step.h"

struct full_row {
    struct sonde__program program;
    uint8_t cell_of[SONDE__REG_COUNT];
    struct sonde__cell cells[SONDE__PROGRAM_STATES * (SONDE__REG_COUNT + 1)];
};

static enum sonde__step end_of_expression(struct sonde__walker *walker,
                                          enum sonde__expression_end end, uint64_t value)
{
    switch (end) {
    case SONDE__EXPRESSION_UNREADABLE:
        return sonde__step_end(walker, SONDE_END_UNREADABLE, value);
    case SONDE__EXPRESSION_UNKNOWN:
        return sonde__step_end(walker, SONDE_END_NO_REGISTERS, walker->frame.pc);
    default:
        return sonde__step_end(walker, SONDE_END_NO_RULE, walker->frame.pc);
    }
}

static enum sonde__expression_end compute_cfa(const struct sonde__walker *walker,
                                              const struct sonde__program *p, uint64_t *ret_cfa)
{
    const struct sonde__cfa *cfa = &p->cfas[0];
    if (cfa->is_expression) {
        return sonde__expression_run(sonde__program_block(p->cfi, p->section, cfa->expression),
                                     walker->regs, walker->reader, NULL, ret_cfa);
    }
    if (cfa->reg >= SONDE__REG_COUNT) {
        return SONDE__EXPRESSION_MALFORMED;
    }
    *ret_cfa = walker->regs->r[cfa->reg] + (uint64_t)(int64_t)cfa->offset;
    return sonde__regs_known(walker->regs, cfa->reg) ? SONDE__EXPRESSION_OK
                                                     : SONDE__EXPRESSION_UNKNOWN;
}

/* Compute the caller's value of what a cell describes. */
static enum sonde__expression_end compute_cell(const struct sonde__walker *walker,
                                               const struct sonde__program *p,
                                               const struct sonde__cell *cell, unsigned reg,
                                               uint64_t cfa, uint64_t *ret_value)
{
    const struct sonde__regs *regs = walker->regs;
    uint64_t at = cfa + (uint64_t)(int64_t)cell->value;
    enum sonde__expression_end end = SONDE__EXPRESSION_OK;
    switch (cell->kind) {
    case SONDE__CELL_OFFSET:
        break;
    case SONDE__CELL_VAL_OFFSET:
        *ret_value = at;
        return SONDE__EXPRESSION_OK;
    case SONDE__CELL_REGISTER:
        *ret_value = regs->r[cell->reg];
        return sonde__regs_known(regs, cell->reg) ? SONDE__EXPRESSION_OK
                                                  : SONDE__EXPRESSION_UNKNOWN;
    case SONDE__CELL_EXPRESSION:
    case SONDE__CELL_VAL_EXPRESSION:
        end = sonde__expression_run(sonde__program_block(p->cfi, p->section, (uint32_t)cell->value),
                                    regs, walker->reader, &cfa, ret_value);
        if (end != SONDE__EXPRESSION_OK || cell->kind == SONDE__CELL_VAL_EXPRESSION) {
            return end;
        }
        at = *ret_value;
        if (reg == sonde__arch_fp(walker->arch) && !p->cie.is_signal_frame &&
            !sonde__is_saved_here(at, cfa)) {
            *ret_value = regs->r[reg];
            return sonde__regs_known(regs, reg) ? SONDE__EXPRESSION_OK : SONDE__EXPRESSION_UNKNOWN;
        }
        break;
    case SONDE__CELL_UNDEFINED:
        return SONDE__EXPRESSION_UNKNOWN;
    default:
        *ret_value = regs->r[reg];
        return sonde__regs_known(regs, reg) ? SONDE__EXPRESSION_OK : SONDE__EXPRESSION_UNKNOWN;
    }
    if (!sonde__reader_word(walker->reader, at, ret_value)) {
        *ret_value = at;
        return SONDE__EXPRESSION_UNREADABLE;
    }
    return SONDE__EXPRESSION_OK;
}

/* Where the row saves the caller's frame pointer; 0: not at a fixed distance from the CFA. */
static uint64_t saved_fp_at(const struct sonde__program *p, unsigned fp, uint64_t cfa)
{
    const struct sonde__cell *cell = &p->cells[fp];
    return cell->kind == SONDE__CELL_OFFSET ? cfa + (uint64_t)(int64_t)cell->value : 0;
}

/* Update the compact frame from the registers, so that both kinds of steps can go on. */
static void follow(struct sonde__walker *walker, uint64_t fp_at, bool exact, uint8_t found)
{
    struct sonde__regs *regs = walker->regs;
    struct sonde__frame *frame = &walker->frame;
    unsigned fp = sonde__arch_fp(walker->arch);
    if (sonde__regs_known(regs, fp) && sonde__fp_is_tagged(regs->r[fp])) {
        sonde__async_note(walker, fp_at, walker->was_signal);
    }
    regs->r[fp] = sonde__strip_fp_tag(regs->r[fp]);
    frame->pc = regs->pc;
    frame->sp = regs->r[sonde__arch_sp(walker->arch)];
    frame->fp = regs->r[fp];
    frame->fp_known = sonde__regs_known(regs, fp);
    frame->lr = regs->r[SONDE__AARCH64_LR];
    frame->lr_known =
        exact && walker->arch == SONDE_ARCH_AARCH64 && sonde__regs_known(regs, SONDE__AARCH64_LR);
    frame->exact = exact;
    frame->found = found;
}

/* Has the return address its own place on the stack? Then the stack's memory limits the walk. */
static bool has_place(const struct sonde__program *p, unsigned ra, unsigned sp)
{
    return p->cells[ra].kind == SONDE__CELL_OFFSET &&
           p->cells[sp].kind == SONDE__CELL_UNSPECIFIED; /* so sp is the CFA, which grows */
}

/* Compute the caller's registers. False: the walk ends, as *ret_step says. */
static bool compute_registers(struct sonde__walker *walker, const struct sonde__program *p,
                              uint64_t cfa, struct sonde__regs *caller, enum sonde__step *ret_step)
{
    unsigned ra = (unsigned)p->cie.return_reg, sp = sonde__arch_sp(walker->arch);
    sonde__regs_set(caller, sp, cfa);
    for (unsigned reg = 0; reg < SONDE__REG_COUNT; reg++) {
        const struct sonde__cell *cell = &p->cells[reg];
        uint64_t value = 0;
        if (cell->kind == SONDE__CELL_UNSPECIFIED && reg != ra) {
            continue;
        }
        enum sonde__expression_end end = compute_cell(walker, p, cell, reg, cfa, &value);
        if (end == SONDE__EXPRESSION_OK) {
            sonde__regs_set(caller, reg, value);
        } else if (reg == ra || reg == sp) {
            *ret_step = end_of_expression(walker, end, value);
            return false;
        } else {
            caller->known &= ~((uint64_t)1 << reg);
        }
    }
    return true;
}

static enum sonde__step apply_row(struct sonde__walker *walker, const struct full_row *row)
{
    const struct sonde__program *p = &row->program;
    struct sonde__regs *regs = walker->regs;
    struct sonde__regs caller = *regs;
    bool is_signal = p->cie.is_signal_frame;
    unsigned sp = sonde__arch_sp(walker->arch);
    enum sonde__step step = SONDE__STEP_ON;
    uint64_t cfa = 0;
    walker->was_signal = is_signal;
    if (p->cie.return_reg >= SONDE__REG_COUNT) {
        return sonde__step_end(walker, SONDE_END_NO_RULE, walker->frame.pc);
    }
    unsigned ra = (unsigned)p->cie.return_reg;
    const struct sonde__cell *ra_cell = &p->cells[ra];
    if (ra_cell->kind == SONDE__CELL_UNDEFINED) {
        return sonde__step_end(walker, SONDE_END_ROOT, walker->frame.pc);
    }
    bool kept = ra_cell->kind == SONDE__CELL_UNSPECIFIED || ra_cell->kind == SONDE__CELL_SAME;
    if (kept && walker->arch == SONDE_ARCH_X86_64) {
        return sonde__step_end(walker, SONDE_END_NO_RULE, walker->frame.pc);
    }
    if (kept && !walker->frame.exact) {
        return sonde__step_end(walker, SONDE_END_NO_PROGRESS, walker->frame.pc);
    }
    if (walker->arch == SONDE_ARCH_X86_64) {
        sonde__regs_set(regs, SONDE__X86_64_RA, regs->pc); /* expressions may use it */
    }
    enum sonde__expression_end end = compute_cfa(walker, p, &cfa);
    if (end != SONDE__EXPRESSION_OK) {
        return end_of_expression(walker, end, cfa);
    }
    if (!has_place(p, ra, sp) && walker->made_left-- == 0) {
        return sonde__step_end(walker, SONDE_END_NO_PROGRESS, walker->frame.pc);
    }
    if (!compute_registers(walker, p, cfa, &caller, &step)) {
        return step;
    }
    /* The CFI of code that switches stacks (longjmp, setcontext) names its target as its caller. */
    bool is_switch = p->cells[sp].kind != SONDE__CELL_UNSPECIFIED;
    bool may_jump = is_signal || (is_switch && walker->frame.exact);
    if (!sonde__step_grows(walker, caller.r[sp], may_jump)) {
        return sonde__step_end(walker, SONDE_END_NO_PROGRESS, walker->frame.pc);
    }
    caller.pc = sonde__arch_strip_pac(walker->arch, caller.r[ra]);
    if (caller.pc == 0 && !is_signal && sonde__step_is_start(walker)) {
        return sonde__step_end(walker, SONDE_END_ROOT, walker->frame.pc);
    }
    *regs = caller;
    follow(walker, saved_fp_at(p, sonde__arch_fp(walker->arch), cfa), is_signal,
           kept ? SONDE_FOUND_LR : SONDE_FOUND_CFI);
    return SONDE__STEP_ON;
}

static enum sonde__step step_by_fde(struct sonde__walker *walker, const struct sonde__cfi_fde *fde,
                                    uint64_t vaddr)
{
    struct full_row row;
    for (unsigned reg = 0; reg < SONDE__REG_COUNT; reg++) {
        row.cell_of[reg] = (uint8_t)reg;
    }
    sonde__program_init(&row.program, &walker->image->cfi, row.cell_of, row.cells,
                        SONDE__REG_COUNT + 1);
    return sonde__program_seek(&row.program, fde, vaddr) ? apply_row(walker, &row)
                                                         : SONDE__STEP_NO_CFI;
}

/* Step by the rule of an encoding, then restore the registers that it saves. */
static enum sonde__step step_by_encoding(struct sonde__walker *walker,
                                         const struct sonde__encoded *encoded)
{
    struct sonde__regs *regs = walker->regs;
    enum sonde__step step = sonde__rule_apply(walker, &encoded->rule);
    if (step != SONDE__STEP_ON) {
        return step;
    }
    uint64_t cfa = walker->frame.sp;
    for (unsigned i = 0; i < encoded->count; i++) {
        uint64_t value = 0;
        regs->known &= ~((uint64_t)1 << encoded->saved[i].reg);
        if (sonde__reader_word(walker->reader, cfa + (uint64_t)(int64_t)encoded->saved[i].offset,
                               &value)) {
            sonde__regs_set(regs, encoded->saved[i].reg, value);
        }
    }
    regs->known &= ~((uint64_t)1 << sonde__arch_fp(walker->arch));
    if (walker->frame.fp_known) {
        sonde__regs_set(regs, sonde__arch_fp(walker->arch), walker->frame.fp);
    }
    sonde__regs_set(regs, sonde__arch_sp(walker->arch), cfa);
    regs->pc = walker->frame.pc;
    return SONDE__STEP_ON;
}

static enum sonde__step step_by_unwind_info(struct sonde__walker *walker, uint64_t vaddr)
{
    const struct sonde__cfi *cfi = &walker->image->cfi;
    struct sonde__unwind_info_entry entry;
    struct sonde__encoded encoded;
    struct sonde__cfi_fde fde;
    if (!sonde__unwind_info_find(&walker->image->encodings.info, vaddr, &entry)) {
        return SONDE__STEP_NO_CFI;
    }
    sonde__encoding_decode(&walker->image->encodings, walker->arch, &entry, &encoded);
    if (encoded.rule.cfa != SONDE__RULE_OTHER) {
        return step_by_encoding(walker, &encoded);
    }
    return sonde__encoding_fde(cfi, walker->arch, &entry, vaddr, &fde)
               ? step_by_fde(walker, &fde, vaddr)
               : SONDE__STEP_NO_CFI;
}

enum sonde__step sonde__step_full(struct sonde__walker *walker)
{
    static const enum sonde__cfi_section sections[] = {SONDE__CFI_EH_FRAME, SONDE__CFI_DEBUG_FRAME};
    const struct sonde__image *image = walker->image;
    uint64_t vaddr = image != NULL ? sonde__frame_lookup_pc(&walker->frame) - image->bias : 0;
    struct sonde__cfi_fde fde;
    if (image != NULL && image->encodings.info.data != NULL) {
        return step_by_unwind_info(walker, vaddr);
    }
    for (unsigned i = 0; image != NULL && i < 2; i++) {
        struct sonde__rule rule;
        if (sections[i] == SONDE__CFI_DEBUG_FRAME && sonde__go_rule(walker, vaddr, &rule)) {
            break;
        }
        if (sonde__cfi_fde_find_in(&image->cfi, walker->arch, sections[i], vaddr, &fde)) {
            enum sonde__step step = step_by_fde(walker, &fde, vaddr);
            if (step != SONDE__STEP_NO_CFI) {
                return step;
            }
        }
    }
    return SONDE__STEP_NO_CFI;
}
