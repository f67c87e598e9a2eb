// SPDX-License-Identifier: Apache-2.0
#include "unwind_walk.h"

#include "unwind_memo.h"
#include "unwind_plain_step.h"
#include "unwind_sink.h"

/* A run of frames of one image: return addresses whose stack cells are plain memory. */
struct plain_run {
    uint64_t pc, sp, fp;
    bool fp_known;
    uint64_t *at; /* where the next pc goes */
    const uint64_t *end;
    uint64_t mask; /* for PAC */
    uint64_t plain, plain_size;
};

/* Walk while return addresses are in the table's [first, + size), as offsets. Stops before the
 * first frame that is not plain. False: that frame is in the range. */
SONDE__NO_SANITIZE static __attribute__((noinline)) bool
run_in_table(struct plain_run *run, const struct sonde__table_view *table, uint64_t first,
             uint64_t size)
{
    const struct sonde__table_view view = *table;
    const uint64_t mask = run->mask, plain = run->plain, last = run->plain_size - 8;
    const uint64_t *const end = run->end;
    uint64_t *at = run->at;
    uint64_t pc = run->pc, sp = run->sp, fp = run->fp;
    bool fp_known = run->fp_known, is_inside = true;
    while (at < end) {
        const uint64_t offset = pc - 1 - view.start;
        is_inside = offset - first < size;
        if (!is_inside) {
            break;
        }
        const struct sonde__rule *rule = sonde__table_at(&view, offset);
        const uint64_t from = pc;
        bool fp_saved = rule->fp_from == SONDE__FROM_CFA;
        uint64_t cfa = sp;
        if (rule->cfa == SONDE__RULE_FP) {
            if (!fp_known) {
                break;
            }
            cfa = fp;
        }
        cfa += (uint64_t)(int64_t)rule->cfa_offset;
        uint64_t ra_at = cfa + (uint64_t)(int64_t)rule->ra_offset;
        uint64_t fp_at = cfa + (uint64_t)(int64_t)rule->fp_offset;
        if (!sonde__rule_is_plain(rule) || cfa <= sp || ra_at - plain > last ||
            (fp_saved && fp_at - plain > last) ||
            !sonde__plain_step(ra_at, mask, fp_saved, fp_at, &pc, &fp, &fp_known)) {
            break;
        }
        sp = cfa;
        *at++ = from;
    }
    run->pc = pc;
    run->sp = sp;
    run->fp = fp;
    run->fp_known = fp_known;
    run->at = at;
    return !is_inside;
}

/* Walk over plain frames while the front of the caller's arrays has room. The walker is then at
 * a frame that is not kept yet. */
static void run_plain(struct sonde__walker *w, struct sonde__sink *sink, uint64_t *left)
{
    const struct sonde__memory *memory = &w->reader->memory;
    struct sonde__frame *frame = &w->frame;
    const uint64_t plain_size = memory->plain_end - memory->plain_start;
    if (plain_size < 8 || frame->exact || sink->skip > 0 || sink->kept >= sink->inner) {
        return;
    }
    const uint64_t room = sink->inner - sink->kept;
    uint64_t *const pcs = sink->stack->pcs + sink->kept;
    struct plain_run run = {
        .pc = frame->pc,
        .sp = frame->sp,
        .fp = frame->fp,
        .fp_known = frame->fp_known,
        .at = pcs,
        .end = pcs + (room < *left ? room : *left),
        .mask = sonde__arch_strip_pac(w->arch, UINT64_MAX),
        .plain = memory->plain_start,
        .plain_size = plain_size,
    };
    const uint64_t *before = NULL;
    while (run.at != before) {
        sonde__walker_locate(w, run.pc - 1);
        if (w->image == NULL || w->image->rules == NULL) {
            break;
        }
        struct sonde__table_view view = sonde__table_view(w->image->rules);
        view.start += w->image->bias;
        uint64_t first = w->place_start > view.start ? w->place_start : view.start;
        uint64_t end =
            view.start + view.size < w->place_end ? view.start + view.size : w->place_end;
        before = run.at;
        if (first >= end || !run_in_table(&run, &view, first - view.start, end - first)) {
            break;
        }
    }
    const uint64_t count = (uint64_t)(run.at - pcs);
    if (count == 0) {
        return;
    }
    *left -= count;
    sonde__sink_add(sink, count, frame->found);
    frame->pc = run.pc;
    frame->sp = run.sp;
    frame->fp = run.fp;
    frame->fp_known = run.fp_known;
    frame->lr_known = false;
    frame->found = SONDE_FOUND_CFI;
}

/* Step to the caller by the function's code, from the start that its record names. */
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

/* Check where the innermost frame's rule led. If there is no code, the rule is wrong: libc's
 * assembler for long numbers pushes registers, and its CFI does not say so. The walker then
 * steps to the caller that the function's code and the call that entered it agree about. A wrong
 * rule may lead to a leftover, so the look-up is a doubtful one. ENDED: the caller is unknown. */
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
        /* aarch64's longjmp: its buffer holds the pc disguised; 0 comes from a damaged stack */
        if (w->arch == SONDE_ARCH_AARCH64 && after.pc != 0 &&
            !sonde__walker_read(w, after.pc, code, sizeof code)) {
            return sonde__step_end(w, SONDE_END_NO_RULE, before->pc);
        }
        w->frame = after;
        return SONDE__STEP_ON;
    }
    w->async_context = 0;
    return SONDE__STEP_ON;
}

static inline enum sonde__step step_by_rule(struct sonde__walker *w, const struct sonde__rule *rule)
{
    struct sonde__frame before = w->frame;
    enum sonde__step step = SONDE__STEP_ON;
    if (before.exact && sonde__step_ahead(w, &step)) {
        return step;
    }
    step = sonde__rule_apply(w, rule);
    if (step == SONDE__STEP_NO_CFI) {
        step = sonde__step_without_cfi(w);
    }
    return before.exact && step == SONDE__STEP_ON && !w->was_signal ? correct(w, &before) : step;
}

enum sonde__step sonde__walker_step(struct sonde__walker *walker)
{
    struct sonde__rule scratch;
    return step_by_rule(walker, sonde__walker_rule(walker, &scratch));
}

enum sonde__step sonde__walker_step_full(struct sonde__walker *walker)
{
    bool was_exact = walker->frame.exact;
    enum sonde__step step = SONDE__STEP_ON;
    if (was_exact && sonde__step_ahead(walker, &step)) {
        return step;
    }
    sonde__walker_locate(walker, sonde__frame_lookup_pc(&walker->frame));
    step = sonde__step_full(walker);
    if (step == SONDE__STEP_NO_CFI) {
        step = sonde__step_without_cfi(walker);
    }
    if (was_exact && step == SONDE__STEP_ON && !walker->was_signal &&
        walker->frame.found != SONDE_FOUND_INFERRED) {
        sonde__step_to_target(walker);
    }
    return step;
}

/* Walk until the end. with: the memo used, or null. Returns ENDED or OTHER. */
SONDE__NO_SANITIZE static inline enum sonde__step
run(struct sonde__walker *w, struct sonde__sink *sink, struct sonde__memo_walker *with)
{
    for (uint64_t left = SONDE__WALK_FRAMES_MAX;; left--) {
        struct sonde__rule scratch;
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
            rule = sonde__walker_rule(w, &scratch);
            step = step_by_rule(w, rule);
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

/* Walk again from the start with all registers: only this gives their values at the row. */
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
    struct sonde__sink sink = sonde__sink_open(stack, walk->ret_fps, walk->skip);
    uint64_t outer_sp = 0;
    sonde__reader_init(&reader, &walk->memory);
    if (sonde__walker_start(&walker, walk, &reader, NULL)) {
        enum sonde__step step =
            walk->memo != NULL ? run_with_memo(&walker, &sink) : run(&walker, &sink, NULL);
        if (step == SONDE__STEP_OTHER) {
            sink = sonde__sink_open(stack, walk->ret_fps, walk->skip);
            walk_full(walk, &walker, &reader, &sink);
        }
        outer_sp = walker.frame.sp;
    }
    if (walk->ret_outer_sp != NULL) {
        *walk->ret_outer_sp = outer_sp;
    }
    sonde__sink_close(&sink);
    stack->end = walker.end;
    stack->end_at = walker.end_at;
}
