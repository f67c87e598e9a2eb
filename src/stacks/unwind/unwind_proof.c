// SPDX-License-Identifier: Apache-2.0
/* Steps by records of code alone, and proofs by them: a scan's result counts if such steps lead
 * from it to the thread's entry. Nothing here scans. */
#include "unwind_step.h"

#include "arch_sigframe.h"
#include "unwind_encoding.h"
#include "unwind_go.h"

struct sonde__rule sonde__walker_rule_slow(const struct sonde__walker *walker, uint64_t vaddr)
{
    const struct sonde__image *image = walker->image;
    struct sonde__rule rule = {.cfa = SONDE__RULE_NONE};
    if (image->encodings.info.data != NULL) {
        return sonde__encoding_find(image, walker->arch, vaddr);
    }
    if (image->rules == NULL) {
        rule = sonde__compact_find(&image->cfi, walker->arch, SONDE__CFI_EH_FRAME, vaddr);
    }
    if (rule.cfa == SONDE__RULE_NONE && sonde__go_rule(walker, vaddr, &rule)) {
        return rule;
    }
    if (rule.cfa == SONDE__RULE_NONE && image->cfi.debug_frame != NULL) {
        rule = sonde__compact_find(&image->cfi, walker->arch, SONDE__CFI_DEBUG_FRAME, vaddr);
    }
    return rule;
}

/* Read a register from the kernel's signal frame. */
static bool read_saved(struct sonde__walker *walker, uint32_t offset, uint64_t *ret_value)
{
    return sonde__reader_word(walker->reader, walker->frame.sp + offset, ret_value);
}

/* Step by the kernel's signal frame, which holds all registers. */
static enum sonde__step leave_sigreturn(struct sonde__walker *walker)
{
    struct sonde__frame *frame = &walker->frame;
    unsigned arch = walker->arch;
    uint64_t pc = 0;
    uint64_t sp = 0;
    walker->was_signal = true;
    if (!read_saved(walker, sonde__arch_sigframe_pc(arch), &pc) ||
        !read_saved(walker, sonde__arch_sigframe_reg(arch, sonde__arch_sp(arch)), &sp)) {
        return sonde__step_end(walker, SONDE_END_UNREADABLE, frame->sp);
    }
    if (!sonde__step_grows(walker, sp, true)) {
        return sonde__step_end(walker, SONDE_END_NO_PROGRESS, frame->pc);
    }
    if (walker->regs != NULL) {
        for (unsigned reg = 0; reg < SONDE__REG_COUNT; reg++) {
            uint32_t offset = sonde__arch_sigframe_reg(arch, reg);
            uint64_t value = 0;
            if (offset != 0 && read_saved(walker, offset, &value)) {
                sonde__regs_set(walker->regs, reg, value);
            }
        }
        walker->regs->pc = pc;
    }
    frame->fp_known =
        read_saved(walker, sonde__arch_sigframe_reg(arch, sonde__arch_fp(arch)), &frame->fp);
    frame->lr_known =
        arch == SONDE_ARCH_AARCH64 &&
        read_saved(walker, sonde__arch_sigframe_reg(arch, SONDE__AARCH64_LR), &frame->lr);
    frame->fp = sonde__strip_fp_tag(frame->fp);
    frame->pc = sonde__arch_strip_pac(arch, pc);
    frame->sp = sp;
    frame->exact = true;
    frame->found = SONDE_FOUND_CFI;
    return SONDE__STEP_ON;
}

bool sonde__step_sigreturn(struct sonde__walker *walker, enum sonde__step *ret_step)
{
    uint8_t code[SONDE__SIGRETURN_BYTES] = {0};
    size_t size = walker->arch == SONDE_ARCH_X86_64 ? 9 : 8;
    if (!sonde__walker_read(walker, walker->frame.pc, code, size) ||
        !sonde__arch_is_sigreturn(walker->arch, code)) {
        return false;
    }
    *ret_step = leave_sigreturn(walker);
    return true;
}

/* Limit of frames of a proof. */
#define PROOF_FRAMES_MAX 65536

struct sonde__walker sonde__proof_begin(const struct sonde__walker *from)
{
    struct sonde__walker walker = *from;
    walker.regs = NULL;
    walker.is_doubtful = true;
    sonde__walker_ask_anew(&walker);
    return walker;
}

enum sonde__step sonde__proof_step(struct sonde__walker *walker)
{
    struct sonde__rule scratch;
    enum sonde__step step = sonde__rule_apply(walker, sonde__walker_rule(walker, &scratch));
    if (step != SONDE__STEP_NO_CFI || sonde__step_go(walker, &step) ||
        sonde__step_sigreturn(walker, &step)) {
        return step;
    }
    return sonde__step_end(walker, SONDE_END_NO_RULE, walker->frame.pc);
}

bool sonde__walker_reaches_root(struct sonde__walker *from)
{
    struct sonde__walker walker = sonde__proof_begin(from);
    for (unsigned i = 0; i < PROOF_FRAMES_MAX && from->sweep_left > 0; i++) {
        enum sonde__step step = sonde__proof_step(&walker);
        sonde__walker_spend(from, SONDE__WORK_FRAME);
        if (step != SONDE__STEP_ON) {
            return step == SONDE__STEP_ENDED && walker.end == SONDE_END_ROOT;
        }
    }
    return false;
}
