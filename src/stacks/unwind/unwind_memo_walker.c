// SPDX-License-Identifier: Apache-2.0
/* The general walk with a memo: runs the loop of unwind_memo_walk.c between general steps. */
#include "unwind_memo_inside.h"

#include "unwind_step.h"
#include "unwind_table.h"

static bool find_in(const struct sonde__image *image, uint64_t vaddr,
                    struct sonde__memo_rule *ret_rule)
{
    if (image->encodings.info.data != NULL) {
        return sonde__unwind_memo_encoded_rule(image, vaddr, ret_rule);
    }
    return image->rules != NULL &&
           sonde__unwind_memo_rule(sonde__table_find(image->rules, vaddr), ret_rule);
}

static bool find_rule(void *ctx, uint64_t pc, struct sonde__memo_rule *ret_rule)
{
    struct sonde__memo_walker *with = ctx;
    struct sonde__walker *walker = with->walker;
    sonde__walker_locate(walker, pc - 1);
    const struct sonde__image *image = walker->image;
    if (image == NULL || !find_in(image, pc - 1 - image->bias, ret_rule)) {
        *ret_rule = sonde__unwind_memo_record_rule();
        return walker->walk->keeps_record != NULL &&
               walker->walk->keeps_record(walker->walk->record_ctx, image, pc - 1);
    }
    if (image->is_permanent) {
        return true;
    }
    ret_rule->flags |= SONDE__MEMO_RULE_IMAGE;
    with->pass.look.start = image->start; /* the walker has just found the image */
    with->pass.look.size = image->end - image->start;
    return sonde__memo_list_image(with->pass.memo, image);
}

static uint64_t reach_nothing(void *ctx, uint64_t sp, uint64_t to)
{
    const struct sonde__memo_walker *with = ctx;
    (void)sp;
    (void)to;
    return with->start.plain_end;
}

void sonde__memo_walker_begin(struct sonde__memo_walker *with, struct sonde__walker *walker)
{
    const struct sonde__walk *walk = walker->walk;
    struct sonde__memo *memo = walk->memo;
    uint64_t sp = walker->frame.sp;
    /* sp is out of reach, or the cells exceed what the caller vouches for: start over */
    if (sp - memo->base >= 2 * REACH ||
        (memo->first < END && cells_end(memo) > walk->memory.plain_end)) {
        sonde__unwind_memo_reset(memo, sp, memo->generation);
    }
    with->walker = walker;
    with->plain_start = walk->memory.plain_start;
    with->start = (struct sonde__memo_start){
        .plain_end = walk->memory.plain_end,
        .find_rule = find_rule,
        .reach = reach_nothing,
        .ctx = with,
    };
    with->pass = (struct sonde__memo_pass){
        .memo = memo,
        .start = &with->start,
        .look = {.is_still_loaded = walk->image_is_still_loaded},
        .end = walk->memory.plain_end - memo->base,
        .place = {.next = memo->first},
        .is_stopped = walk->memory.plain_end - memo->base > 2 * REACH,
    };
}

/* Can the walker's frame be remembered? Its sp must be outward of the last frame's, in memory
 * that may be read by plain loads. */
static bool is_fit(struct sonde__memo_walker *with)
{
    const struct sonde__frame *frame = &with->walker->frame;
    struct sonde__memo_pass *pass = &with->pass;
    uint64_t sp = frame->sp - pass->memo->base;
    if (sp <= pass->place.sp || frame->pc == 0) {
        pass->is_stopped = true;
    }
    return !pass->is_stopped && !frame->exact && frame->fp_known && (sp & 7) == 0 &&
           sp < pass->end && frame->sp >= with->plain_start;
}

/* Tell the sink what the pass has put. */
static void put_frames(struct sonde__sink *sink, const struct sonde__memo_pass *pass,
                       uint32_t before, uint8_t found)
{
    const struct sonde__memo_output *output = &pass->output;
    uint32_t end = min_u32(output->kept, output->inferred);
    if (end > before) {
        sonde__sink_add(sink, end - before, sink->skip == 0 ? found : SONDE_FOUND_CFI);
    } else if (sink->skip != output->skip) {
        sink->last = UINT32_MAX;
    }
    if (output->inferred != UINT32_MAX) {
        sink->inferred = true;
        if (output->kept > end) {
            sonde__sink_add(sink, output->kept - end, SONDE_FOUND_INFERRED);
        }
    }
    sink->skip = output->skip;
}

bool sonde__memo_walker_run(struct sonde__memo_walker *with, struct sonde__sink *sink)
{
    struct sonde__memo_pass *pass = &with->pass;
    struct sonde__frame *frame = &with->walker->frame;
    const uint64_t base = pass->memo->base, sp = frame->sp - base;
    if (!is_fit(with)) {
        pass->is_linked = false;
        return false;
    }
    const uint32_t before = min_u32(sink->kept, sink->inner);
    pass->place =
        (struct sonde__memo_place){frame->pc, sp, frame->fp, SONDE__MEMO_ODD, 0, pass->place.next};
    pass->output.pcs = sink->stack->pcs;
    pass->output.inner = sink->inner;
    pass->output.skip = sink->skip;
    pass->output.kept = before;
    pass->output.inferred = UINT32_MAX;
    enum sonde__memo_outcome outcome = sonde__memo_pass_on(pass, END);
    put_frames(sink, pass, before, frame->found);
    if (pass->place.sp != sp) {
        frame->pc = pass->place.pc;
        frame->sp = base + pass->place.sp;
        frame->fp = pass->place.fp;
        frame->lr_known = false;
        frame->found = sink->inferred ? SONDE_FOUND_INFERRED : SONDE_FOUND_CFI;
    }
    if (outcome == SONDE__MEMO_AT_ROOT) {
        (void)sonde__step_end(with->walker, SONDE_END_ROOT, pass->place.pc);
    }
    return outcome == SONDE__MEMO_AT_ROOT;
}

void sonde__memo_walker_end(struct sonde__memo_walker *with)
{
    if (with->pass.has_begun) {
        sonde__memo_pass_finish(&with->pass);
    }
}
