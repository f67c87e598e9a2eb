// SPDX-License-Identifier: Apache-2.0
/* A walk by the memo and by plain rules: one loop, with its state in machine registers. It
 * leaves other frames to the general walk. A walk by the memo alone (unwind_memo_same.c) ends
 * there, and the general walk starts over; the general walk (unwind_memo_walker.c) uses the loop
 * between such frames. */
#include "unwind_memo_inside.h"

#include "base_mem.h"
#include "unwind_memo_rules.h"
#include "unwind_plain_step.h"
#include "unwind_scans.h"

/* New frames are put into the memo together: their place follows from the next known frame. */
enum { FRESH = 48 };

struct fresh {
    struct sonde__memo_frame frames[FRESH];
    uint32_t count;
};

/* Find the rule for `pc`, the pc of frame `here`, if the process's cache has none. */
static __attribute__((noinline)) bool learn_rule(const struct sonde__memo_start *start, uint64_t pc,
                                                 struct sonde__memo_frame *here,
                                                 struct sonde__memo_rule *ret_rule)
{
    if (!start->find_rule(start->ctx, pc, ret_rule)) {
        return false;
    }
    if ((ret_rule->flags & SONDE__MEMO_RULE_IMAGE) != 0) {
        here->cell |= SONDE__MEMO_IMAGE;
    } else if ((ret_rule->flags & (SONDE__MEMO_RULE_SCAN | SONDE__MEMO_RULE_MADE)) == 0) {
        sonde__unwind_memo_rules_put(pc, ret_rule);
    }
    return true;
}

/* Put the new frames into the memo, outward of those of this walk. is_joined: frame `next` is
 * the last one's caller. False: no room. */
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

/* Keep the innermost frames; there is no room for more. */
static void place_innermost(struct sonde__memo_pass *pass, struct fresh *fresh)
{
    uint32_t room = END - (pass->at - pass->begin);
    fresh->count = fresh->count < room ? fresh->count : room;
    pass->memo->root.by = SONDE__MEMO_NO_ROOT;
    pass->place.next = END;
    pass->is_stopped = true;
    (void)place_fresh(pass, fresh, END, false);
}

/* place_fresh() and sonde__memo_pass_finish() for nearly all cases: new frames, then the
 * unchanged stack from frame `next` to the root. False: no room. */
static inline bool place_whole(struct sonde__memo *memo, const struct fresh *fresh, uint32_t next,
                               bool has_proven)
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
    note_proven(memo, has_proven);
    return true;
}

uint32_t sonde__memo_pass_over(const struct sonde__memo *memo, uint32_t at, uint32_t count,
                               struct sonde__memo_look *look)
{
    uint32_t end = min_u32(END, (uint64_t)at + count + 1);
    return at_index(memo, verify(memo, at, end, look, NULL, false).frame) - at;
}

/* Move the walk, which has followed the memo from frame `from` to frame `to`, to the latter. */
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

/* follow() as functions, which leaves more registers to the loop. */
static __attribute__((noinline)) uint32_t follow_to(struct sonde__memo_pass *pass, uint32_t from)
{
    const struct sonde__memo *memo = pass->memo;
    const uint32_t kept = pass->output.kept, skip = pass->output.skip;
    uint32_t to = at_index(
        memo, follow(memo, &pass->look, &pass->output, from, pass->end, true, &pass->is_root));
    pass->output.inferred =
        min_u32(pass->output.inferred, first_inferred(memo, from, to, kept, skip));
    return to;
}

static __attribute__((noinline)) uint32_t follow_silent_to(struct sonde__memo_pass *pass,
                                                           uint32_t from)
{
    const struct sonde__memo *memo = pass->memo;
    return at_index(memo, follow(memo, &pass->look, NULL, from, pass->end, false, &pass->is_root));
}

/* Join the memo at its frame `next`. Null: the walk has ended at the root, or the memo is reset. */
static inline __attribute__((always_inline)) struct sonde__memo_frame *
join(struct sonde__memo_pass *pass, struct sonde__memo_place *at, struct fresh *fresh,
     const bool has_stack)
{
    struct sonde__memo *memo = pass->memo;
    uint32_t from = at->next;
    struct sonde__memo_frame *known = &memo->frames[from];
    uint32_t to = has_stack ? follow_to(pass, from) : follow_silent_to(pass, from);
    known->cell = at->cell | (known->cell & SONDE__MEMO_IMAGE);
    known->fp_home = at->fp_home | (known->fp_home & (SONDE__MEMO_NEED | SONDE__MEMO_USES));
    known->fp = (uint32_t)at->fp - (uint32_t)memo->base;
    if (pass->is_root && !pass->has_begun && place_whole(memo, fresh, from, pass->has_proven)) {
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

/* Note a frame that is not in the memo. Null: no room. */
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

/* Make the memory before `to` readable. False: impossible. */
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

/* Step from frame `here` to its caller. False: this rule alone does not lead there. */
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

/* Are there zeros in place of the return address and the saved fp of frame `here`, which the rule
 * takes for the end? The rule has led nowhere. is_known: the frame is in the memo. */
SONDE__NO_SANITIZE static __attribute__((noinline)) bool
ends_in_zeros(struct sonde__memo_pass *pass, const struct sonde__memo_place *at,
              struct sonde__memo_frame *here, const struct sonde__memo_rule *rule, bool is_known)
{
    const uint64_t base = pass->memo->base;
    bool by_fp = (rule->flags & SONDE__MEMO_RULE_BY_FP) != 0;
    uint64_t cfa = (by_fp ? at->fp - base : at->sp) + (uint64_t)(int64_t)rule->cfa;
    uint64_t size = cfa - at->sp;
    if ((rule->flags & SONDE__MEMO_RULE_ZEROS) == 0 || rule->fp_at == 0 || (cfa & 7) != 0 ||
        size - 1 >= pass->end - at->sp || rule->ra_at > size || rule->fp_at > size) {
        return false;
    }
    uint64_t cell = cfa - rule->ra_at, fp_home = cfa - rule->fp_at;
    if ((sonde__plain_word(base + cell) | sonde__plain_word(base + fp_home)) != 0) {
        return false;
    }
    here->fp_home |= by_fp ? SONDE__MEMO_USES : 0;
    pass->root =
        (struct sonde__memo_root){SONDE__MEMO_ROOT_BY_ZEROS, (uint32_t)cell, (uint32_t)fp_home};
    if (is_known) { /* and where its fp matters is to be found again */
        pass->changed = pass->at;
        pass->is_changed = true;
    }
    return true;
}

/* Put the frame, and step to its caller by a scan's rule, if the call there is known to lead to
 * the function. The caller and all frames further out are INFERRED. */
static __attribute__((noinline)) bool leave_by_scan(struct sonde__memo_pass *pass,
                                                    struct sonde__memo_place *at,
                                                    struct sonde__memo_frame *here,
                                                    const struct sonde__memo_rule *rule)
{
    struct sonde__memo_output *output = &pass->output;
    uint64_t pc = at->pc, seal = 0;
    if (!leave(pass, at, here, rule) ||
        !sonde__scans_is_caller(pass->start->scans, rule->entry, at->pc, &seal) || seal != 0) {
        return false;
    }
    if (output->skip > 0) {
        output->skip--;
    } else if (output->pcs != NULL) {
        output->pcs[output->kept++] = pc;
    }
    output->inferred = min_u32(output->inferred, output->kept);
    at->fp_home |= SONDE__MEMO_PROVEN;
    pass->has_proven = true;
    return true;
}

/* Put the frame that the walk has left, or that is its end. False: all frames are left out, and the
 * end is not. */
static inline __attribute__((always_inline)) bool
put_left(struct sonde__memo_pass *pass, uint64_t pc, bool is_end, const bool has_stack)
{
    struct sonde__memo_output *output = &pass->output;
    if (is_end && has_stack && output->kept == 0 && output->skip > 0) {
        return false;
    }
    if (has_stack && output->skip > 0) {
        output->skip--;
    } else if (has_stack) {
        output->pcs[output->kept++] = pc;
    }
    if (is_end) {
        pass->is_root = true;
        if (pass->root.by == SONDE__MEMO_NO_ROOT) {
            pass->root.by = SONDE__MEMO_ROOT_BY_RULE;
        }
    }
    return true;
}

SONDE__NO_SANITIZE static inline __attribute__((always_inline)) enum sonde__memo_outcome
walk_on(struct sonde__memo_pass *pass, uint32_t to, const bool has_stack)
{
    enum sonde__memo_outcome outcome = SONDE__MEMO_OPEN;
    struct sonde__memo_place at = pass->place;
    struct sonde__memo_frame *here; /* the walk's frame */
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
        if (has_stack && pass->output.kept == pass->output.inner && pass->output.skip == 0) {
            outcome = SONDE__MEMO_NO_ROOM;
            break;
        }
        if (!sonde__memo_rules_find(at.pc, &rule)) {
            struct sonde__memo_rule learnt; /* its address is taken, so it is in memory */
            if (!learn_rule(pass->start, at.pc, here, &learnt)) {
                break;
            }
            if ((learnt.flags & SONDE__MEMO_RULE_SCAN) != 0) {
                struct sonde__memo_place caller = at;
                if (!leave_by_scan(pass, &caller, here, &learnt)) {
                    break;
                }
                at = caller;
                continue;
            }
            rule = learnt;
        }
        uint64_t pc = at.pc;
        bool is_end = (rule.flags & SONDE__MEMO_RULE_END) != 0;
        if (!is_end && !leave(pass, &at, here, &rule)) {
            is_end = ends_in_zeros(pass, &at, here, &rule, fresh.count == 0);
            if (!is_end) {
                break;
            }
        }
        if (!put_left(pass, pc, is_end, has_stack) || is_end) {
            break;
        }
    }
    pass->place = at;
    if (fresh.count != 0 && !place_fresh(pass, &fresh, at.next, false)) {
        place_innermost(pass, &fresh);
    }
    return pass->is_root ? SONDE__MEMO_AT_ROOT : outcome;
}

enum sonde__memo_outcome sonde__memo_pass_on(struct sonde__memo_pass *pass, uint32_t to)
{
    return walk_on(pass, to, true);
}

enum sonde__memo_outcome sonde__memo_pass_on_silent(struct sonde__memo_pass *pass, uint32_t to)
{
    return walk_on(pass, to, false);
}
