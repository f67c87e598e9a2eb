// SPDX-License-Identifier: Apache-2.0
/* Steps from code without call frame information: by known properties of the code, then by a
 * search, last by the frame pointer. */
#include "unwind_go.h"
#include "unwind_step.h"

/* Update the full registers, if kept, from the compact frame. */
static enum sonde__step followed(struct sonde__walker *walker, enum sonde__step step)
{
    const struct sonde__frame *frame = &walker->frame;
    if (walker->regs == NULL || step != SONDE__STEP_ON) {
        return step;
    }
    if (frame->fp_known) {
        sonde__regs_set(walker->regs, sonde__arch_fp(walker->arch), frame->fp);
    }
    sonde__regs_set(walker->regs, sonde__arch_sp(walker->arch), frame->sp);
    walker->regs->pc = frame->pc;
    return step;
}

/* Search for the caller from unknown code. OTHER: nothing found. */
static enum sonde__step search(struct sonde__walker *walker)
{
    if (sonde__step_is_nowhere(walker)) {
        return sonde__step_from_nowhere(walker);
    }
    if (!walker->frame.exact && sonde__step_is_entry(walker)) {
        return sonde__step_end(walker, SONDE_END_ROOT, walker->frame.pc);
    }
    if (sonde__step_is_frame_unknown(walker)) {
        return sonde__step_end(walker, SONDE_END_NO_RULE, walker->frame.pc);
    }
    return sonde__step_by_link(walker) ? SONDE__STEP_ON : sonde__step_scan(walker);
}

/* Step by the frame record that the frame pointer points to. */
static enum sonde__step step_by_record(struct sonde__walker *walker)
{
    struct sonde__frame *frame = &walker->frame;
    uint64_t pc = 0, fp = 0;
    if (!frame->fp_known) {
        /* fp was not captured; or it was lost in a frame further in, so capturing it is no help */
        bool is_read = sonde__regs_known(&walker->walk->regs, sonde__arch_fp(walker->arch));
        return sonde__step_end(walker, is_read ? SONDE_END_NO_RULE : SONDE_END_NO_REGISTERS,
                               frame->pc);
    }
    if ((frame->fp & 7) != 0 || frame->fp < frame->sp ||
        !sonde__reader_word(walker->reader, frame->fp, &fp) ||
        !sonde__reader_word(walker->reader, frame->fp + 8, &pc)) {
        return sonde__step_end(walker, SONDE_END_NO_RULE, frame->pc);
    }
    pc = sonde__arch_strip_pac(walker->arch, pc);
    if (pc == 0 || !sonde__walker_is_code(walker, pc - 1)) {
        return sonde__step_end(walker, SONDE_END_NO_RULE, frame->pc);
    }
    fp = sonde__strip_fp_tag(fp);
    frame->sp = sonde__arch_sp_after_frame_record(walker->arch, frame->fp, fp);
    frame->fp = fp;
    frame->pc = pc;
    frame->lr_known = false;
    frame->exact = false;
    frame->found = SONDE_FOUND_FP;
    return SONDE__STEP_ON;
}

enum sonde__step sonde__step_without_cfi(struct sonde__walker *walker)
{
    enum sonde__step step = SONDE__STEP_OTHER;
    walker->was_signal = false;
    if (sonde__walker_keeps_record(walker, sonde__frame_lookup_pc(&walker->frame))) {
        return followed(walker, step_by_record(walker));
    }
    if (sonde__step_go(walker, &step)) {
        return followed(walker, step);
    }
    if (!sonde__step_recall(walker, &step)) {
        if (walker->walk->is_brief) {
            return sonde__step_end(walker, SONDE_END_COSTLY, walker->frame.pc);
        }
        if (sonde__step_sigreturn(walker, &step)) {
            return step;
        }
        step = search(walker);
    }
    return followed(walker, step == SONDE__STEP_OTHER ? step_by_record(walker) : step);
}
