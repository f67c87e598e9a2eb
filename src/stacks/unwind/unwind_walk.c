// SPDX-License-Identifier: Apache-2.0
#include "unwind_walk.h"

#include "unwind_memo.h"
#include "unwind_plain_step.h"
#include "unwind_sink.h"

/* The rule for the frame at which the walker stands. */
static inline const struct sonde__rule *find_rule(struct sonde__walker *w,
                                                  struct sonde__rule *scratch)
{
    uint64_t pc = sonde__frame_lookup_pc(&w->frame);
    sonde__walker_locate(w, pc);
    const struct sonde__image *image = w->image;
    if (image != NULL) {
        uint64_t vaddr = pc - image->bias;
        if (image->rules != NULL) {
            const struct sonde__rule *rule = sonde__table_find(image->rules, vaddr);
            if (rule->cfa != SONDE__RULE_NONE) {
                return rule;
            }
        }
        *scratch = sonde__walker_rule_slow(w, vaddr);
        return scratch;
    }
    *scratch = (struct sonde__rule){.cfa = SONDE__RULE_NONE};
    return scratch;
}

/* A table for the frame at which the walker stands, if it is a return address in an image that has
 * one. */
static inline bool find_table(struct sonde__walker *w, const struct sonde__frame *frame,
                              struct sonde__table_view *view)
{
    sonde__walker_locate(w, frame->pc - 1);
    if (w->image == NULL || w->image->rules == NULL) {
        return false;
    }
    *view = sonde__table_view(w->image->rules);
    view->start += w->image->bias;
    return true;
}

/* Walk while frames are return addresses in images with a table, and stack cells are plain memory,
 * and there is room in the front of the caller's arrays. The frame and all that the loop needs live
 * in machine registers. Stops in front of the first frame that is different, which is not kept yet.
 */
SONDE__NO_SANITIZE static void run_plain(struct sonde__walker *w, struct sonde__sink *sink,
                                         uint64_t *left)
{
    const uint64_t plain = w->reader->memory.plain_start;
    const uint64_t plain_size = w->reader->memory.plain_end - plain;
    const uint64_t mask = sonde__arch_strip_pac(w->arch, UINT64_MAX);
    struct sonde__frame frame = w->frame;
    struct sonde__table_view view;
    if (plain_size < 8 || frame.exact || sink->skip > 0 || sink->kept >= sink->inner ||
        !find_table(w, &frame, &view)) {
        return;
    }
    uint64_t *pcs = sink->stack->pcs;
    uint8_t *how = sink->stack->how;
    uint8_t next_found = sink->inferred ? SONDE_FOUND_INFERRED : SONDE_FOUND_CFI;
    uint8_t found = sink->inferred ? SONDE_FOUND_INFERRED : frame.found;
    uint64_t room = sink->inner - sink->kept;
    uint64_t end = sink->kept + (room < *left ? room : *left);
    uint64_t kept = sink->kept;
    uint64_t place = w->place_start;
    uint64_t place_size = w->place_end - place;
    while (kept < end) {
        uint64_t call = frame.pc - 1;
        if (call - place >= place_size) {
            if (!find_table(w, &frame, &view)) {
                break;
            }
            place = w->place_start;
            place_size = w->place_end - place;
        }
        const struct sonde__rule *rule = sonde__table_view_find(&view, call);
        bool by_fp = rule->cfa == SONDE__RULE_FP;
        bool fp_saved = rule->fp_from == SONDE__FROM_CFA;
        uint64_t cfa = (by_fp ? frame.fp : frame.sp) + (uint64_t)(int64_t)rule->cfa_offset;
        uint64_t ra_at = cfa + (uint64_t)(int64_t)rule->ra_offset;
        uint64_t fp_at = cfa + (uint64_t)(int64_t)rule->fp_offset;
        uint64_t pc = frame.pc;
        if (!sonde__rule_is_plain(rule) || (by_fp && !frame.fp_known) || cfa <= frame.sp ||
            ra_at - plain > plain_size - 8 || (fp_saved && fp_at - plain > plain_size - 8) ||
            !sonde__plain_step(ra_at, mask, fp_saved, fp_at, frame.fp_known, &frame.pc,
                               &frame.fp)) {
            break;
        }
        frame.fp_known |= fp_saved;
        frame.sp = cfa;
        pcs[kept] = pc;
        how[kept++] = found;
        found = next_found;
    }
    if (kept == sink->kept) {
        return;
    }
    *left -= kept - sink->kept;
    sink->last = (uint32_t)(kept - 1);
    sink->kept = kept;
    frame.found = SONDE_FOUND_CFI;
    frame.lr_known = false;
    w->frame = frame;
}

/* To the caller as the code of the function says, from the start that its record names. */
static bool step_by_own_code(struct sonde__walker *w)
{
    const struct sonde__image *image;
    uint64_t start = 0, end = 0;
    sonde__walker_locate(w, w->frame.pc);
    image = w->image;
    return image != NULL &&
           sonde__cfi_fde_bounds(&image->cfi, w->arch, w->frame.pc - image->bias, &start, &end) &&
           sonde__step_by_code(w, start + image->bias);
}

/* The innermost frame's rule led to a place without code, so it is wrong: libc's assembler for long
 * numbers pushes registers and does not say so. Where the function's code and the call that entered
 * it agree about the caller, the walker stands there instead. Where a wrong rule leads may be a
 * leftover, so it is looked up as one. ENDED: there is no caller that anybody knows. */
static __attribute__((noinline)) enum sonde__step correct(struct sonde__walker *w,
                                                          const struct sonde__frame *before)
{
    struct sonde__frame after = w->frame;
    bool is_near = after.pc - 1 - w->place_start < w->place_end - w->place_start;
    if (is_near ? w->is_executable : sonde__walker_is_code(w, after.pc - 1)) {
        if (after.found == SONDE_FOUND_LR && sonde__link_is_own_code(w, before->pc, after.pc)) {
            w->frame = *before;
            return sonde__step_end(w, SONDE_END_NO_REGISTERS, before->pc);
        }
        sonde__step_to_target(w);
        return SONDE__STEP_ON;
    }
    w->frame = *before;
    if (!step_by_own_code(w)) {
        uint8_t code[4];
        /* longjmp of aarch64, whose buffer holds it disguised */
        if (w->arch == SONDE_ARCH_AARCH64 && !sonde__walker_read(w, after.pc, code, sizeof code)) {
            return sonde__step_end(w, SONDE_END_NO_RULE, before->pc);
        }
        w->frame = after;
        return SONDE__STEP_ON;
    }
    w->async_context = 0;
    return SONDE__STEP_ON;
}

enum sonde__step sonde__walker_step(struct sonde__walker *walker)
{
    struct sonde__rule scratch;
    struct sonde__frame before = walker->frame;
    enum sonde__step step = sonde__rule_apply(walker, find_rule(walker, &scratch));
    if (before.exact && step == SONDE__STEP_ON && !walker->was_signal && !walker->is_proof) {
        return correct(walker, &before);
    }
    return step;
}

enum sonde__step sonde__walker_step_full(struct sonde__walker *walker)
{
    bool was_exact = walker->frame.exact;
    sonde__walker_locate(walker, sonde__frame_lookup_pc(&walker->frame));
    enum sonde__step step = sonde__step_full(walker);
    if (was_exact && step == SONDE__STEP_ON && !walker->was_signal &&
        walker->frame.found != SONDE_FOUND_INFERRED) {
        sonde__step_to_target(walker);
    }
    return step;
}

/* Frames that a proof may take. */
#define PROOF_FRAMES_MAX 65536

bool sonde__walker_reaches_root(struct sonde__walker *from)
{
    struct sonde__walker walker = *from;
    walker.is_proof = true;
    walker.is_doubtful = true;
    sonde__walker_ask_anew(&walker);
    for (unsigned i = 0; i < PROOF_FRAMES_MAX && from->sweep_left > 0; i++) {
        enum sonde__step step = sonde__walker_step(&walker);
        sonde__walker_spend(from, SONDE__WORK_FRAME);
        if (step != SONDE__STEP_ON) {
            return step == SONDE__STEP_ENDED && walker.end == SONDE_END_ROOT;
        }
    }
    return false;
}

/* Frames until the end. with: null, or the memo that is used. Returns ENDED or OTHER. */
SONDE__NO_SANITIZE static inline enum sonde__step
run(struct sonde__walker *w, struct sonde__sink *sink, struct sonde__memo_walker *with)
{
    for (uint64_t left = SONDE__WALK_FRAMES_MAX;; left--) {
        struct sonde__rule scratch;
        struct sonde__frame before;
        const struct sonde__rule *rule = NULL;
        enum sonde__step step = SONDE__STEP_ON;
        sink->inferred |= w->frame.found == SONDE_FOUND_INFERRED;
        if (with != NULL && !sink->inferred && !with->pass.is_stopped) {
            if (sonde__memo_walker_run(with, sink)) {
                return SONDE__STEP_ENDED;
            }
        } else if (w->regs == NULL && left > 0) {
            run_plain(w, sink, &left);
        }
        if (left == 0 || !sonde__sink_put(sink, &w->frame)) {
            return sonde__step_end(w, SONDE_END_DEPTH, w->frame.pc);
        }
        if (w->regs != NULL) {
            step = sonde__walker_step_full(w);
        } else {
            before = w->frame;
            rule = find_rule(w, &scratch);
            step = sonde__rule_apply(w, rule);
            if (before.exact && step == SONDE__STEP_ON && !w->was_signal) {
                step = correct(w, &before);
            }
        }
        if (w->async_context != 0) {
            sonde__async_deliver(w, sink->stack, sink->last);
        }
        if (w->was_signal && sink->last != UINT32_MAX) {
            sink->stack->how[sink->last] |= SONDE_HOW_SIGNAL;
        }
        if (step == SONDE__STEP_ON) {
            continue;
        }
        if (step == SONDE__STEP_OTHER || rule == NULL || !w->walk->infer ||
            w->end != SONDE_END_NO_REGISTERS || !sonde__step_infer(w, rule)) {
            return step;
        }
        sink->inferred = true;
        w->async_context = 0;
    }
}

/* With all registers, from the start: what they were at the row that needs them is known only so.
 */
static __attribute__((noinline)) void walk_full(const struct sonde__walk *walk,
                                                struct sonde__walker *walker,
                                                struct sonde__reader *reader,
                                                struct sonde__sink *sink)
{
    struct sonde__regs regs;
    if (sonde__walker_start(walker, walk, reader, &regs)) {
        (void)run(walker, sink, NULL);
    }
}

static enum sonde__step run_with_memo(struct sonde__walker *walker, struct sonde__sink *sink)
{
    struct sonde__memo_walker with;
    sonde__memo_walker_begin(&with, walker);
    enum sonde__step step = run(walker, sink, &with);
    sonde__memo_walker_end(&with);
    return step;
}

void sonde__unwind_walk(const struct sonde__walk *walk, struct sonde_stack *stack)
{
    struct sonde__walker walker;
    struct sonde__reader reader;
    struct sonde__sink sink = sonde__sink_open(stack, walk->skip);
    sonde__reader_init(&reader, &walk->memory);
    if (sonde__walker_start(&walker, walk, &reader, NULL)) {
        enum sonde__step step =
            walk->memo != NULL ? run_with_memo(&walker, &sink) : run(&walker, &sink, NULL);
        if (step == SONDE__STEP_OTHER) {
            sink = sonde__sink_open(stack, walk->skip);
            walk_full(walk, &walker, &reader, &sink);
        }
    }
    sonde__sink_close(&sink);
    stack->end = walker.end;
    stack->end_at = walker.end_at;
}
