// SPDX-License-Identifier: Apache-2.0
/* The short way: a stack of plain frames, from what the memo knows of it. Everything that the
 * general walk would have to think about ends it, and that walk begins anew. So this file has one
 * loop, whose state (pc, sp, fp as distances from the memo's base, two places in the memo) lives in
 * machine registers, and what it does at a frame is what sonde__rule_apply(), sonde__memo_arrive()
 * and sonde__memo_follow() do there. */
#include "unwind_memo_inside.h"

#include "base_mem.h"
#include "unwind_memo_rules.h"

/* New frames that are put into the memo together: their place is known when the walk has come to
 * one that is there already. */
enum { FRESH = 48 };

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

static __attribute__((noinline)) bool learn_rule(const struct sonde__memo_start *start, uint64_t pc,
                                                 struct sonde__memo_rule *ret_rule)
{
    if (!start->find_rule(start->ctx, pc, ret_rule)) {
        return false;
    }
    sonde__unwind_memo_rules_put(pc, ret_rule);
    return true;
}

/* The frames of this walk, [begin, at), and `count` new ones outward of them. is_joined: frame
 * `next` is the caller of the last. False: no room. */
static bool place(struct sonde__recorder *rec, const struct sonde__memo_frame *fresh,
                  uint32_t count, bool is_joined)
{
    int32_t gap = (int32_t)rec->next - (int32_t)(rec->at + count);
    if (gap < 0 || is_joined) {
        if ((int32_t)rec->begin + gap < 0) {
            return false;
        }
        shift(rec, gap);
    }
    for (uint32_t i = 0; i < count; i++) {
        rec->memo->frames[rec->at++] = fresh[i];
    }
    rec->changed = rec->at;
    return true;
}

/* A frame that the memo has, at which the walk arrives now. */
static inline void set_known(const struct sonde__memo *memo, struct sonde__memo_frame *known,
                             uint32_t cell, uint32_t fp_home, uint64_t fp)
{
    known->cell = cell | (known->cell & SONDE__MEMO_IMAGE);
    known->fp_home = fp_home | (known->fp_home & (SONDE__MEMO_NEED | SONDE__MEMO_USES));
    known->fp = (uint32_t)fp - (uint32_t)memo->base;
}

/* The same as place() and sonde__memo_finish() for what is nearly all: new frames, then the stack
 * as it was, from frame `next` to the root. False: no room. */
static inline bool place_whole(struct sonde__memo *memo, const struct sonde__memo_frame *fresh,
                               uint32_t count, uint32_t next)
{
    struct sonde__memo_frame *frame = &memo->frames[next];
    if (count > next) {
        return false;
    }
    set_need(frame, next + 1 < END ? frame + 1 : NULL);
    memo->first = next - count;
    forget_tags(memo, memo->first, next);
    while (count-- > 0) {
        *--frame = fresh[count];
        set_need(frame, frame + 1);
    }
    return true;
}

/* What the general walk writes of a stack that it has walked so. */
static void put_result(struct sonde_stack *stack, const struct sonde__memo_start *start,
                       uint64_t count, enum sonde_end_reason end, uint64_t end_at)
{
    sonde__sink_forget_async(stack);
    fill_how(stack->how, count, SONDE_FOUND_CFI);
    if (start->skip == 0) {
        stack->how[0] = SONDE_FOUND_REGISTERS;
    }
    stack->end = (uint8_t)end;
    stack->end_at = end_at;
    stack->count = stack->lost_at = (uint32_t)count;
    stack->lost_count = 0;
}

/* Where a walk is. Without a stack to fill it goes to the root, and what it has found is in the
 * memo only. */
struct pass {
    struct sonde__memo *memo;
    const struct sonde__memo_start *start;
    struct sonde_stack *stack;
    struct look look;
    uint64_t end;   /* of what may be read, from the memo's base */
    uint32_t inner; /* frames that there is room for */
    uint32_t outer;
    uint32_t skip; /* frames still to leave out */
    uint32_t kept;
    uint32_t first; /* of the memo, if the stack was walked to the root: its innermost frame */
    bool is_root;   /* the last frame was the outermost one, and is put */
};

/* From frame `from` of the memo, whose state is the walk's, as far as the cells hold the same: all
 * frames but the last of these are put, and that too if it is the root. Returns which it is. */
static inline __attribute__((always_inline)) uint32_t follow(struct pass *pass, uint32_t from,
                                                             const bool has_stack)
{
    const struct sonde__memo *memo = pass->memo;
    uint32_t to = from;
    if (!has_stack) {
        to = verify(memo, to, END, &pass->look, NULL, false);
        pass->is_root =
            to == END - 1 && memo->is_root && may_leave(memo, &memo->frames[to], &pass->look);
        return to;
    }
    uint64_t *pcs = pass->stack->pcs;
    if (pass->skip > 0) {
        to = verify_silent(memo, to, min_u32(END, (uint64_t)to + pass->skip + 1), &pass->look);
        pass->skip -= to - from;
        if (pass->skip > 0) {
            return to;
        }
    }
    uint32_t put = to;
    uint32_t room = pass->inner - pass->kept;
    to = verify(memo, to, min_u32(END, (uint64_t)to + room + 1), &pass->look, pcs + pass->kept,
                true);
    pass->kept += to - put;
    const struct sonde__memo_frame *last = &memo->frames[to];
    if (to == END - 1 && memo->is_root && pass->kept < pass->inner &&
        may_leave(memo, last, &pass->look)) {
        pcs[pass->kept++] = last->pc;
        pass->is_root = true;
    }
    return to;
}

/* Have what lies before `to` to read. False: it cannot be had. */
static __attribute__((noinline)) bool reach(struct pass *pass, uint64_t to)
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

/* What is put into a stack, if there is one. */
static inline void put_end(struct pass *pass, enum sonde_end_reason end, uint64_t end_at,
                           const bool has_stack)
{
    if (has_stack) {
        put_result(pass->stack, pass->start, pass->kept, end, end_at);
    }
}

/* Walk on. at: the frame of the memo that was followed to, or END: none, and what the memo has from
 * frame `next` on may be of use. */
SONDE__NO_SANITIZE static inline __attribute__((always_inline)) bool
// NOLINTNEXTLINE(readability-function-size): one loop, so that its state stays in registers
walk_on(struct pass *pass, uint32_t from, uint32_t at, uint32_t next, const bool has_stack)
{
    struct sonde__memo *const memo = pass->memo;
    const struct sonde__memo_start *const start = pass->start;
    struct sonde_stack *const stack = pass->stack;
    const uint64_t mask = pac_mask(SONDE__ARCH_HOST);
    const uint64_t base = memo->base;
    struct sonde__memo_frame *const frames = memo->frames;
    struct sonde__memo_frame fresh[FRESH];
    struct sonde__memo_frame *here; /* the frame at which the walk stands */
    struct sonde__recorder rec = {.memo = memo};
    uint32_t fresh_count = 0;
    bool has_begun = false; /* the memo holds frames of this walk: [rec.begin, rec.at) */
    bool is_changed = false;
    bool is_done = false;
    uint64_t pc = start->pc;
    uint64_t sp = start->sp - base;
    uint64_t fp = sonde__strip_fp_tag(start->fp);
    uint32_t cell = SONDE__MEMO_ODD; /* the arrival, as in a frame */
    uint32_t fp_home = 0;
    if (at != END) {
        has_begun = true;
        rec.begin = from;
        goto followed;
    }
    for (;;) {
        struct sonde__memo_rule rule;
        while (next < END && frames[next].sp < sp) {
            next++;
        }
        if (next < END && frames[next].sp == sp && frames[next].pc == pc &&
            has_fp(memo, &frames[next], fp, true)) {
            from = next;
            at = follow(pass, from, has_stack);
            set_known(memo, &frames[from], cell, fp_home, fp);
            if (pass->is_root && !has_begun && place_whole(memo, fresh, fresh_count, from)) {
                put_end(pass, SONDE_END_ROOT, frames[END - 1].pc, has_stack);
                pass->first = memo->first;
                return true;
            }
            rec.next = next;
            if (!has_begun) {
                rec.begin = rec.at = next;
                has_begun = true;
            }
            if (!place(&rec, fresh, fresh_count, true)) {
                break;
            }
            rec.changed = next + 1;
            is_changed = true;
            fresh_count = 0;
        followed:
            here = &frames[at];
            rec.at = next = at + 1;
            rec.is_linked = true;
            if (at != from) {
                (void)restore_fp(memo, from, at, &fp);
                pc = here->pc;
                sp = here->sp;
            }
            if (pass->is_root) {
                put_end(pass, SONDE_END_ROOT, pc, has_stack);
                rec.is_root = true;
                is_done = true;
                break;
            }
        } else {
            if (next < END && frames[next].sp == sp) {
                next++;
            }
            if (fresh_count == FRESH) {
                rec.next = next;
                if (!has_begun) {
                    rec.begin = rec.at = 0;
                    has_begun = true;
                }
                if (!place(&rec, fresh, fresh_count, false)) {
                    break;
                }
                is_changed = true;
                fresh_count = 0;
            }
            here = &fresh[fresh_count++];
            *here = (struct sonde__memo_frame){
                .pc = pc,
                .cell = cell,
                .sp = (uint32_t)sp,
                .fp_home = fp_home,
                .fp = (uint32_t)fp - (uint32_t)base,
            };
            rec.is_linked = false;
        }
        if (has_stack && pass->kept == pass->inner && pass->skip == 0) {
            is_done = pass->outer == 0;
            if (is_done) {
                put_end(pass, SONDE_END_DEPTH, pc, has_stack);
            }
            break;
        }
        if (!sonde__memo_rules_find(pc, &rule) && !learn_rule(start, pc, &rule)) {
            break;
        }
        if (has_stack && pass->skip > 0) {
            pass->skip--;
        } else if (has_stack) {
            stack->pcs[pass->kept++] = pc;
        }
        if ((rule.flags & SONDE__MEMO_RULE_END) != 0) {
            if (!has_stack || pass->kept > 0) {
                put_end(pass, SONDE_END_ROOT, pc, has_stack);
                is_done = true;
            }
            rec.is_root = true;
            break;
        }
        bool by_fp = (rule.flags & SONDE__MEMO_RULE_BY_FP) != 0;
        uint64_t cfa = (by_fp ? fp - base : sp) + (uint64_t)(int64_t)rule.cfa;
        uint64_t size = cfa - sp;
        if (size - 1 >= pass->end - sp && (size - 1 >= 2 * REACH || !reach(pass, cfa))) {
            break;
        }
        if ((cfa & 7) != 0 || rule.ra_at > size || rule.fp_at > size) {
            break;
        }
        uint64_t return_pc = sonde__plain_word(base + cfa - rule.ra_at) & mask;
        if (return_pc == 0) {
            break;
        }
        here->fp_home |= by_fp ? SONDE__MEMO_USES : 0;
        fp_home = 0;
        if (rule.fp_at != 0) {
            uint64_t home = cfa - rule.fp_at;
            uint64_t saved = sonde__plain_word(base + home);
            if (sonde__fp_is_tagged(saved) && fp == base + home) {
                break; /* an async function's, most likely */
            }
            fp_home = (uint32_t)home;
            fp = sonde__strip_fp_tag(saved);
        }
        cell = (uint32_t)(cfa - rule.ra_at);
        pc = return_pc;
        sp = cfa;
    }
    /* What was found is kept, also if the rest is left to the general walk. */
    if (fresh_count != 0 || is_changed || rec.is_root) {
        rec.next = next;
        if (!has_begun) {
            rec.begin = rec.at = next;
        }
        if (fresh_count == 0 || place(&rec, fresh, fresh_count, false)) {
            sonde__memo_finish(&rec);
            pass->first = memo->first;
        } else {
            sonde__unwind_memo_reset(memo, start->sp, memo->generation);
            pass->first = END;
        }
    }
    return is_done;
}

static __attribute__((noinline)) bool walk_on_with(struct pass *pass, uint32_t from, uint32_t at,
                                                   uint32_t next)
{
    return walk_on(pass, from, at, next, true);
}

static __attribute__((noinline)) bool walk_on_without(struct pass *pass, uint32_t from, uint32_t at,
                                                      uint32_t next)
{
    return walk_on(pass, from, at, next, false);
}

static inline __attribute__((always_inline)) bool walk(struct pass *pass, const bool has_stack)
{
    const struct sonde__memo_start *start = pass->start;
    struct sonde__memo *memo = pass->memo;
    const uint64_t sp = start->sp - memo->base;
    uint32_t next = memo->first;
    uint32_t at = END;
    /* the cells of the memo, or the word at sp at least */
    const uint64_t least =
        next < END && memo->frames[END - 1].sp > sp ? memo->frames[END - 1].sp : sp + 1;
    pass->end = start->plain_end - memo->base;
    if (sp >= 2 * REACH || (sp & 7) != 0 || pass->end > 2 * REACH ||
        (least > pass->end && !reach(pass, least))) {
        return false;
    }
    while (next < END && memo->frames[next].sp < sp) {
        next++;
    }
    if (next < END && memo->frames[next].sp == sp && memo->frames[next].pc == start->pc &&
        has_fp(memo, &memo->frames[next], sonde__strip_fp_tag(start->fp), true)) {
        at = follow(pass, next, has_stack);
        if (pass->is_root) {
            put_end(pass, SONDE_END_ROOT, memo->frames[END - 1].pc, has_stack);
            pass->first = next;
            return true;
        }
    }
    return has_stack ? walk_on_with(pass, next, at, next) : walk_on_without(pass, next, at, next);
}

bool sonde__unwind_memo_walk(struct sonde__memo *memo, const struct sonde__memo_start *start,
                             struct sonde_stack *stack)
{
    struct pass pass = {
        .memo = memo,
        .start = start,
        .stack = stack,
        .look = {.is_still_loaded = start->is_still_loaded},
        .outer = stack->outer < stack->capacity ? stack->outer : 0,
        .skip = start->skip,
    };
    pass.inner = stack->capacity - pass.outer;
    return walk(&pass, true);
}

bool sonde__unwind_memo_renew(struct sonde__memo *memo, const struct sonde__memo_start *start,
                              uint32_t *ret_first)
{
    struct pass pass = {
        .memo = memo,
        .start = start,
        .look = {.is_still_loaded = start->is_still_loaded},
    };
    if (!walk(&pass, false) || pass.first == END) {
        return false;
    }
    *ret_first = pass.first;
    return true;
}
