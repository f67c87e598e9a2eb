// SPDX-License-Identifier: Apache-2.0
/* A walk by the memo and by plain rules: one loop, whose state lives in machine registers. What
 * needs more than that is left to the general walk. The short way ends there, and the general walk
 * begins anew; the general walk itself uses the loop from one such frame to the next. */
#include "unwind_memo_inside.h"

#include "base_mem.h"
#include "unwind_memo_rules.h"
#include "unwind_plain_step.h"

/* New frames that are put into the memo together: their place is known when the walk has come to
 * one that is there already. */
enum { FRESH = 48 };

struct fresh {
    struct sonde__memo_frame frames[FRESH];
    uint32_t count;
};

bool sonde__unwind_memo_rule(const struct sonde__rule *rule, struct sonde__memo_rule *ret_rule)
{
    bool by_fp = rule->cfa == SONDE__RULE_FP;
    bool fp_saved = rule->fp_from == SONDE__FROM_CFA;
    if (rule->cfa == SONDE__RULE_END) {
        *ret_rule = (struct sonde__memo_rule){.flags = SONDE__MEMO_RULE_END};
        return true;
    }
    if (!sonde__rule_is_plain(rule) || rule->cfa_offset % 8 != 0 || rule->ra_offset >= 0 ||
        rule->ra_offset % 8 != 0 ||
        (fp_saved && (rule->fp_offset >= 0 || rule->fp_offset % 8 != 0))) {
        return false;
    }
    *ret_rule = (struct sonde__memo_rule){
        .flags = by_fp ? SONDE__MEMO_RULE_BY_FP : 0,
        .cfa = rule->cfa_offset,
        .fp_at = fp_saved ? (uint32_t)-rule->fp_offset : 0,
        .ra_at = (uint32_t)-rule->ra_offset,
    };
    return true;
}

/* The rule for `pc`, at which frame `here` is, where the table of all threads has none. */
static __attribute__((noinline)) bool learn_rule(const struct sonde__memo_start *start, uint64_t pc,
                                                 struct sonde__memo_frame *here,
                                                 struct sonde__memo_rule *ret_rule)
{
    if (!start->find_rule(start->ctx, pc, ret_rule)) {
        return false;
    }
    if ((ret_rule->flags & SONDE__MEMO_RULE_IMAGE) != 0) {
        here->cell |= SONDE__MEMO_IMAGE;
    } else {
        sonde__unwind_memo_rules_put(pc, ret_rule);
    }
    return true;
}

/* Put the new frames into the memo, outward of those of this walk. is_joined: frame `next` is the
 * caller of the last. False: no room. */
static bool place_fresh(struct sonde__memo_pass *pass, struct fresh *fresh, uint32_t next,
                        bool is_joined)
{
    if (!pass->has_begun) {
        pass->has_begun = true;
        pass->begin = pass->at = next;
    }
    int32_t gap = (int32_t)next - (int32_t)(pass->at + fresh->count);
    if (gap < 0 || is_joined) {
        if ((int32_t)pass->begin + gap < 0) {
            return false;
        }
        shift(pass, gap);
    }
    for (uint32_t i = 0; i < fresh->count; i++) {
        pass->memo->frames[pass->at++] = fresh->frames[i];
    }
    pass->changed = pass->at;
    pass->is_changed = true;
    fresh->count = 0;
    return true;
}

/* The innermost frames stay, and nothing else has room. */
static void place_innermost(struct sonde__memo_pass *pass, struct fresh *fresh)
{
    uint32_t room = END - (pass->at - pass->begin);
    fresh->count = fresh->count < room ? fresh->count : room;
    pass->memo->is_root = false;
    pass->place.next = END;
    pass->is_stopped = true;
    (void)place_fresh(pass, fresh, END, false);
}

/* The same as place_fresh() and sonde__memo_pass_finish() for what is nearly all: new frames, then
 * the stack as it was, from frame `next` to the root. False: no room. */
static inline bool place_whole(struct sonde__memo *memo, const struct fresh *fresh, uint32_t next)
{
    struct sonde__memo_frame *frame = &memo->frames[next];
    uint32_t count = fresh->count;
    if (count > next) {
        return false;
    }
    set_need(frame, next + 1 < END ? frame + 1 : NULL);
    memo->first = next - count;
    forget_tags(memo, memo->first, next);
    while (count-- > 0) {
        *--frame = fresh->frames[count];
        set_need(frame, frame + 1);
    }
    return true;
}

static uint32_t verify_silent(const struct sonde__memo *memo, uint32_t at, uint32_t end,
                              struct sonde__memo_look *look)
{
    return verify(memo, at, end, look, NULL, false);
}

/* From frame `from` of the memo, whose state is the walk's, as far as the cells hold the same: all
 * frames but the last of these are put, and that too if it is the root. Returns which it is. */
static inline __attribute__((always_inline)) uint32_t follow(struct sonde__memo_pass *pass,
                                                             uint32_t from, const bool has_stack)
{
    const struct sonde__memo *memo = pass->memo;
    uint32_t to = from;
    if (!has_stack) {
        to = verify(memo, to, END, &pass->look, NULL, false);
        pass->is_root =
            to == END - 1 && memo->is_root && may_leave(memo, &memo->frames[to], &pass->look);
        return to;
    }
    if (pass->skip > 0) {
        to = verify_silent(memo, to, min_u32(END, (uint64_t)to + pass->skip + 1), &pass->look);
        pass->skip -= to - from;
        if (pass->skip > 0) {
            return to;
        }
    }
    uint32_t put = to;
    uint32_t room = pass->inner - pass->kept;
    to = verify(memo, to, min_u32(END, (uint64_t)to + room + 1), &pass->look,
                pass->pcs + pass->kept, true);
    pass->kept += to - put;
    const struct sonde__memo_frame *last = &memo->frames[to];
    if (to == END - 1 && memo->is_root && pass->kept < pass->inner &&
        may_leave(memo, last, &pass->look)) {
        pass->pcs[pass->kept++] = last->pc;
        pass->is_root = true;
    }
    return to;
}

/* The walk has followed the memo from frame `from` to frame `to`, and stands there. */
static inline struct sonde__memo_frame *
stand_at(struct sonde__memo_pass *pass, struct sonde__memo_place *at, uint32_t from, uint32_t to)
{
    struct sonde__memo_frame *here = &pass->memo->frames[to];
    pass->at = at->next = to + 1;
    pass->is_linked = true;
    if (to != from) {
        (void)restore_fp(pass->memo, from, to, &at->fp);
        at->pc = here->pc;
        at->sp = here->sp;
    }
    return here;
}

/* The walk has come to frame `next` of the memo. Null: the memo is all there, or lost. */
static inline __attribute__((always_inline)) struct sonde__memo_frame *
join(struct sonde__memo_pass *pass, struct sonde__memo_place *at, struct fresh *fresh,
     const bool has_stack)
{
    struct sonde__memo *memo = pass->memo;
    uint32_t from = at->next;
    struct sonde__memo_frame *known = &memo->frames[from];
    uint32_t to = follow(pass, from, has_stack);
    known->cell = at->cell | (known->cell & SONDE__MEMO_IMAGE);
    known->fp_home = at->fp_home | (known->fp_home & (SONDE__MEMO_NEED | SONDE__MEMO_USES));
    known->fp = (uint32_t)at->fp - (uint32_t)memo->base;
    if (pass->is_root && !pass->has_begun && place_whole(memo, fresh, from)) {
        at->pc = memo->frames[END - 1].pc;
        fresh->count = 0;
        return NULL;
    }
    if (!place_fresh(pass, fresh, from, true)) {
        (void)stand_at(pass, at, from, to);
        fresh->count = 0;
        pass->is_stopped = true;
        pass->has_begun = pass->is_changed = false;
        sonde__unwind_memo_reset(memo, memo->base + REACH, memo->generation); /* the same base */
        return NULL;
    }
    pass->changed = from + 1;
    return stand_at(pass, at, from, to);
}

/* The walk has come to a frame that the memo has not. Null: no room. */
static inline struct sonde__memo_frame *note(struct sonde__memo_pass *pass,
                                             struct sonde__memo_place *at, struct fresh *fresh)
{
    if (fresh->count == FRESH && !place_fresh(pass, fresh, at->next, false)) {
        place_innermost(pass, fresh);
        at->next = END;
        return NULL;
    }
    struct sonde__memo_frame *here = &fresh->frames[fresh->count++];
    *here = (struct sonde__memo_frame){
        .pc = at->pc,
        .cell = at->cell,
        .sp = (uint32_t)at->sp,
        .fp_home = at->fp_home,
        .fp = (uint32_t)at->fp - (uint32_t)pass->memo->base,
    };
    pass->is_linked = false;
    return here;
}

static inline __attribute__((always_inline)) struct sonde__memo_frame *
arrive(struct sonde__memo_pass *pass, struct sonde__memo_place *at, struct fresh *fresh,
       const bool has_stack)
{
    const struct sonde__memo *memo = pass->memo;
    const struct sonde__memo_frame *frames = memo->frames;
    while (at->next < END && frames[at->next].sp < at->sp) {
        at->next++;
    }
    if (at->next < END && frames[at->next].sp == at->sp) {
        if (frames[at->next].pc == at->pc && has_fp(memo, &frames[at->next], at->fp, true)) {
            return join(pass, at, fresh, has_stack);
        }
        at->next++;
    }
    return note(pass, at, fresh);
}

/* Have what lies before `to` to read. False: it cannot be had. */
static __attribute__((noinline)) bool reach(struct sonde__memo_pass *pass, uint64_t to)
{
    const struct sonde__memo_start *start = pass->start;
    uint64_t base = pass->memo->base;
    uint64_t end = start->reach(start->ctx, start->sp, base + to) - base;
    if (end > 2 * REACH || to > end) {
        return false;
    }
    pass->end = end;
    return true;
}

/* From frame `here` to its caller. False: not by this rule alone. */
static inline __attribute__((always_inline)) bool leave(struct sonde__memo_pass *pass,
                                                        struct sonde__memo_place *at,
                                                        struct sonde__memo_frame *here,
                                                        const struct sonde__memo_rule *rule)
{
    const uint64_t base = pass->memo->base;
    bool by_fp = (rule->flags & SONDE__MEMO_RULE_BY_FP) != 0;
    uint64_t cfa = (by_fp ? at->fp - base : at->sp) + (uint64_t)(int64_t)rule->cfa;
    uint64_t size = cfa - at->sp;
    if (size - 1 >= pass->end - at->sp && (size - 1 >= 2 * REACH || !reach(pass, cfa))) {
        return false;
    }
    bool fp_known = true;
    uint64_t cell = cfa - rule->ra_at, fp_home = rule->fp_at != 0 ? cfa - rule->fp_at : 0;
    if ((cfa & 7) != 0 || rule->ra_at > size || rule->fp_at > size ||
        !sonde__plain_step(base + cell, pac_mask(SONDE__ARCH_HOST), rule->fp_at != 0,
                           base + fp_home, &at->pc, &at->fp, &fp_known)) {
        return false;
    }
    here->fp_home |= by_fp ? SONDE__MEMO_USES : 0;
    at->sp = cfa;
    at->cell = (uint32_t)cell;
    at->fp_home = (uint32_t)fp_home;
    return true;
}

enum outcome {
    OPEN,    /* the last frame is not put, and needs more thought */
    NO_ROOM, /* it is not put */
    AT_ROOT, /* it is the outermost one, and is put */
};

/* Walk on from pass->place. to: the frame of the memo that was followed to from there, or END: none
 * is known. */
SONDE__NO_SANITIZE static inline __attribute__((always_inline)) enum outcome
walk_on(struct sonde__memo_pass *pass, uint32_t to, const bool has_stack)
{
    enum outcome outcome = OPEN;
    struct sonde__memo_place at = pass->place;
    struct sonde__memo_frame *here; /* at which the walk stands */
    struct fresh fresh;
    fresh.count = 0;
    if (to != END) {
        pass->has_begun = true;
        pass->begin = at.next;
        here = stand_at(pass, &at, at.next, to);
        goto standing;
    }
    while ((here = arrive(pass, &at, &fresh, has_stack)) != NULL) {
    standing:;
        struct sonde__memo_rule rule;
        if (pass->is_root) {
            break;
        }
        if (has_stack && pass->kept == pass->inner && pass->skip == 0) {
            outcome = NO_ROOM;
            break;
        }
        if (!sonde__memo_rules_find(at.pc, &rule) && !learn_rule(pass->start, at.pc, here, &rule)) {
            break;
        }
        bool is_end = (rule.flags & SONDE__MEMO_RULE_END) != 0;
        uint64_t pc = at.pc;
        if (is_end ? has_stack && pass->kept == 0 && pass->skip > 0
                   : !leave(pass, &at, here, &rule)) {
            break;
        }
        if (has_stack && pass->skip > 0) {
            pass->skip--;
        } else if (has_stack) {
            pass->pcs[pass->kept++] = pc;
        }
        if (is_end) {
            pass->is_root = true;
            break;
        }
    }
    pass->place = at;
    if (fresh.count != 0 && !place_fresh(pass, &fresh, at.next, false)) {
        place_innermost(pass, &fresh);
    }
    return pass->is_root ? AT_ROOT : outcome;
}

static __attribute__((noinline)) enum outcome walk_on_with(struct sonde__memo_pass *pass,
                                                           uint32_t to)
{
    return walk_on(pass, to, true);
}

static __attribute__((noinline)) enum outcome walk_on_without(struct sonde__memo_pass *pass,
                                                              uint32_t to)
{
    return walk_on(pass, to, false);
}

/* --- the short way --- */

/* What the general walk writes of a stack that it has walked so. */
static inline void put_end(const struct sonde__memo_pass *pass, struct sonde_stack *stack,
                           enum sonde_end_reason end, uint64_t end_at)
{
    sonde__sink_forget_async(stack);
    sonde__how_fill(stack->how, pass->kept, SONDE_FOUND_CFI);
    if (pass->start->skip == 0) {
        stack->how[0] = SONDE_FOUND_REGISTERS;
    }
    stack->end = (uint8_t)end;
    stack->end_at = end_at;
    stack->count = stack->lost_at = pass->kept;
    stack->lost_count = 0;
}

/* has_stack: as wide as `pass` says. *ret_first: the innermost frame of the memo, if the walk came
 * to the root. */
static inline __attribute__((always_inline)) enum outcome
walk(struct sonde__memo_pass *pass, uint32_t *ret_first, const bool has_stack)
{
    const struct sonde__memo_start *start = pass->start;
    struct sonde__memo *memo = pass->memo;
    const uint64_t sp = start->sp - memo->base;
    const uint64_t fp = sonde__strip_fp_tag(start->fp);
    uint32_t next = memo->first;
    uint32_t to = END;
    /* the cells of the memo, or the word at sp at least */
    const uint64_t least =
        next < END && memo->frames[END - 1].sp > sp ? memo->frames[END - 1].sp : sp + 1;
    pass->end = start->plain_end - memo->base;
    if (sp >= 2 * REACH || (sp & 7) != 0 || pass->end > 2 * REACH ||
        (least > pass->end && !reach(pass, least))) {
        return OPEN;
    }
    while (next < END && memo->frames[next].sp < sp) {
        next++;
    }
    pass->place = (struct sonde__memo_place){start->pc, sp, fp, SONDE__MEMO_ODD, 0, next};
    if (next < END && memo->frames[next].sp == sp && memo->frames[next].pc == start->pc &&
        has_fp(memo, &memo->frames[next], fp, true)) {
        to = follow(pass, next, has_stack);
        if (pass->is_root) {
            pass->place.pc = memo->frames[END - 1].pc;
            *ret_first = next;
            return AT_ROOT;
        }
    }
    enum outcome outcome = has_stack ? walk_on_with(pass, to) : walk_on_without(pass, to);
    /* What was found is kept, also if the rest is left to the general walk. */
    if (pass->has_begun && (pass->is_changed || pass->is_root)) {
        sonde__memo_pass_finish(pass);
    }
    *ret_first = pass->is_stopped ? END : memo->first;
    return outcome;
}

bool sonde__unwind_memo_walk(struct sonde__memo *memo, const struct sonde__memo_start *start,
                             struct sonde_stack *stack)
{
    uint32_t outer = stack->outer < stack->capacity ? stack->outer : 0;
    uint32_t ignored;
    struct sonde__memo_pass pass = {
        .memo = memo,
        .start = start,
        .pcs = stack->pcs,
        .look = {.is_still_loaded = start->is_still_loaded},
        .inner = stack->capacity - outer,
        .skip = start->skip,
    };
    enum outcome outcome = walk(&pass, &ignored, true);
    if (outcome == OPEN || (outcome == NO_ROOM && outer != 0)) {
        return false;
    }
    put_end(&pass, stack, outcome == AT_ROOT ? SONDE_END_ROOT : SONDE_END_DEPTH, pass.place.pc);
    return true;
}

bool sonde__unwind_memo_renew(struct sonde__memo *memo, const struct sonde__memo_start *start,
                              uint32_t *ret_first)
{
    struct sonde__memo_pass pass = {
        .memo = memo,
        .start = start,
        .look = {.is_still_loaded = start->is_still_loaded},
    };
    return walk(&pass, ret_first, false) == AT_ROOT && *ret_first != END;
}

/* --- of the general walk --- */

static bool find_rule(void *ctx, uint64_t pc, struct sonde__memo_rule *ret_rule)
{
    struct sonde__memo_walker *with = ctx;
    struct sonde__walker *walker = with->walker;
    sonde__walker_locate(walker, pc - 1);
    const struct sonde__image *image = walker->image;
    if (image == NULL || image->rules == NULL ||
        !sonde__unwind_memo_rule(sonde__table_find(image->rules, pc - 1 - image->bias), ret_rule)) {
        return false;
    }
    if (image->is_permanent) {
        return true;
    }
    ret_rule->flags |= SONDE__MEMO_RULE_IMAGE;
    with->pass.look.start = image->start; /* the walker has just found it */
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
    /* far from where it was, or more than the caller vouches for: begin anew */
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

/* Can the walker's frame be remembered? Frames lie outward of each other in memory that may be read
 * by plain loads. */
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

/* What the pass has put. */
static void put_frames(struct sonde__sink *sink, const struct sonde__memo_pass *pass,
                       uint32_t before, uint8_t found)
{
    if (pass->kept > before) {
        sonde__sink_add(sink, pass->kept - before, sink->skip == 0 ? found : SONDE_FOUND_CFI);
    } else if (sink->skip != pass->skip) {
        sink->last = UINT32_MAX;
    }
    sink->skip = pass->skip;
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
    pass->pcs = sink->stack->pcs;
    pass->inner = sink->inner;
    pass->skip = sink->skip;
    pass->kept = before;
    enum outcome outcome = walk_on_with(pass, END);
    put_frames(sink, pass, before, frame->found);
    if (pass->place.sp != sp) {
        frame->pc = pass->place.pc;
        frame->sp = base + pass->place.sp;
        frame->fp = pass->place.fp;
        frame->lr_known = false;
        frame->found = SONDE_FOUND_CFI;
    }
    if (outcome == AT_ROOT) {
        (void)sonde__step_end(with->walker, SONDE_END_ROOT, pass->place.pc);
    }
    return outcome == AT_ROOT;
}

void sonde__memo_walker_end(struct sonde__memo_walker *with)
{
    if (with->pass.has_begun) {
        sonde__memo_pass_finish(&with->pass);
    }
}
