// SPDX-License-Identifier: Apache-2.0
/* A walk by the memo alone. Most stacks equal the previous one: all cells hold the same from the
 * first frame to the root. Such a walk needs no state but where the next pc goes, and writes
 * nothing to the memo. So it is separate from the loop that handles the others. */
#include "unwind_memo_inside.h"

/* Find the first frame of the memo that is not inward of the start. */
static inline uint32_t find_next(const struct sonde__memo *memo, uint64_t sp)
{
    uint32_t next = memo->first;
    while (next < END && memo->frames[next].sp < sp) {
        next++;
    }
    return next;
}

/* Does the walk start at frame `next`? */
static inline bool is_start(const struct sonde__memo *memo, uint32_t next,
                            const struct sonde__memo_start *start, uint64_t sp)
{
    const struct sonde__memo_frame *frame = &memo->frames[next];
    return next < END && frame->sp == sp && frame->pc == start->pc &&
           has_fp(memo, frame, sonde__strip_fp_tag(start->fp), true);
}

/* Make the memory before `to` readable. Returns the end of what is readable; 0: less than `to`.
 * All are distances from the memo's base. */
static __attribute__((noinline)) uint64_t reach(const struct sonde__memo *memo,
                                                const struct sonde__memo_start *start, uint64_t to)
{
    uint64_t end = start->reach(start->ctx, start->sp, memo->base + to) - memo->base;
    return end <= 2 * REACH && to <= end ? end : 0;
}

/* How far a walk has come by the memo alone: from frame `next` to frame `to`. END: it did not
 * start in the memo; `next` is the first frame not inward of the start. */
struct way {
    uint32_t next, to;
};

struct filled {
    uint32_t kept, skip; /* as in an output */
};

static inline void begin_pass(struct sonde__memo_pass *pass, struct sonde__memo *memo,
                              const struct sonde__memo_start *start,
                              const struct sonde__memo_look *look)
{
    pass->memo = memo;
    pass->start = start;
    pass->look = *look;
    pass->begin = pass->at = pass->changed = 0;
    pass->has_begun = pass->has_proven = pass->is_changed = pass->is_linked = false;
    pass->is_root = pass->is_stopped = false;
    pass->root.by = SONDE__MEMO_NO_ROOT;
}

/* Walk the rest, which the memo does not hold. Fills the memo, and *ret_first as
 * sonde__unwind_memo_renew() does. */
static inline __attribute__((always_inline)) enum sonde__memo_outcome
walk_rest(struct sonde__memo_pass *pass, struct way way, uint32_t *ret_first, const bool has_stack)
{
    const struct sonde__memo_start *start = pass->start;
    const struct sonde__memo *memo = pass->memo;
    const uint64_t sp = start->sp - memo->base;
    const uint64_t end = start->plain_end - memo->base;
    /* the memo's cells, or at least the word at sp */
    const uint64_t least =
        memo->first < END && memo->frames[END - 1].sp > sp ? memo->frames[END - 1].sp : sp + 1;
    if (sp >= 2 * REACH || (sp & 7) != 0 || end > 2 * REACH) {
        return SONDE__MEMO_OPEN;
    }
    pass->end = least <= end ? end : reach(memo, start, least);
    if (pass->end == 0) {
        return SONDE__MEMO_OPEN;
    }
    pass->place = (struct sonde__memo_place){start->pc,       sp, sonde__strip_fp_tag(start->fp),
                                             SONDE__MEMO_ODD, 0,  way.next};
    enum sonde__memo_outcome outcome =
        has_stack ? sonde__memo_pass_on(pass, way.to) : sonde__memo_pass_on_silent(pass, way.to);
    /* Keep what was found, even if the general walk does the rest. */
    if (pass->has_begun && (pass->is_changed || pass->is_root)) {
        sonde__memo_pass_finish(pass);
    }
    *ret_first = pass->is_stopped ? END : memo->first;
    return outcome;
}

/* Write what the general walk would write about this stack. */
static inline void put_end(struct sonde_stack *stack, uint32_t count, uint32_t skip,
                           enum sonde_end_reason end, uint64_t end_at)
{
    sonde__sink_forget_async(stack);
    sonde__how_fill(stack->how, count, SONDE_FOUND_CFI);
    if (skip == 0) {
        stack->how[0] = SONDE_FOUND_REGISTERS;
    }
    stack->end = (uint8_t)end;
    stack->end_at = end_at;
    stack->count = stack->lost_at = count;
    stack->lost_count = 0;
}

/* Mark the frames from the first PROVEN one on as INFERRED. */
static __attribute__((noinline)) void put_inferred(struct sonde_stack *stack, uint32_t inferred)
{
    if (inferred < stack->count) {
        sonde__how_fill(stack->how + inferred, stack->count - inferred, SONDE_FOUND_INFERRED);
    }
}

static inline uint32_t inner_of(const struct sonde_stack *stack)
{
    return stack->outer < stack->capacity ? stack->capacity - stack->outer : stack->capacity;
}

static __attribute__((noinline)) bool
fill_rest(struct sonde__memo *memo, const struct sonde__memo_start *start, struct way way,
          struct filled filled, const struct sonde__memo_look *look, struct sonde_stack *stack)
{
    struct sonde__memo_pass pass;
    uint32_t ignored;
    begin_pass(&pass, memo, start, look);
    pass.output = (struct sonde__memo_output){stack->pcs, inner_of(stack), filled.skip, filled.kept,
                                              UINT32_MAX};
    if (way.to != END) {
        pass.output.inferred = first_inferred(memo, way.next, way.to, 0, start->skip);
    }
    enum sonde__memo_outcome outcome = walk_rest(&pass, way, &ignored, true);
    bool is_cut = outcome == SONDE__MEMO_NO_ROOM && pass.output.inner == stack->capacity;
    if (outcome != SONDE__MEMO_AT_ROOT && !is_cut) {
        return false;
    }
    put_end(stack, pass.output.kept, start->skip, is_cut ? SONDE_END_DEPTH : SONDE_END_ROOT,
            pass.place.pc);
    put_inferred(stack, pass.output.inferred);
    return true;
}

static __attribute__((noinline)) bool
renew_rest(struct sonde__memo *memo, const struct sonde__memo_start *start, struct way way,
           const struct sonde__memo_look *look, uint32_t *ret_first)
{
    struct sonde__memo_pass pass;
    begin_pass(&pass, memo, start, look);
    pass.output = (struct sonde__memo_output){.inferred = UINT32_MAX};
    return walk_rest(&pass, way, ret_first, false) == SONDE__MEMO_AT_ROOT && *ret_first != END;
}

/* Walk as far as the memo holds the stack. True: all of it, to the root. */
static inline __attribute__((always_inline)) bool
walk_same(const struct sonde__memo *memo, const struct sonde__memo_start *start, struct way *way,
          struct sonde__memo_output *output, struct sonde__memo_look *look, const bool has_stack)
{
    const uint64_t sp = start->sp - memo->base;
    const uint64_t cells_end = memo->frames[END - 1].sp; /* if there are frames */
    bool is_root = false;
    way->to = END;
    way->next = find_next(memo, sp);
    if (!is_start(memo, way->next, start, sp) ||
        (__builtin_expect(cells_end > start->plain_end - memo->base, 0) &&
         reach(memo, start, cells_end) == 0)) {
        return false;
    }
    way->to = at_index(memo, follow(memo, look, output, way->next, start->plain_end - memo->base,
                                    has_stack, &is_root));
    return is_root;
}

/* Is the stack cut at frame `way.to`, because the output is full and keeps no outermost frames? */
static inline bool is_full(struct way way, const struct sonde__memo_output *output,
                           const struct sonde_stack *stack)
{
    return way.to != END && output->skip == 0 && output->kept == stack->capacity;
}

bool sonde__unwind_memo_walk(struct sonde__memo *memo, const struct sonde__memo_start *start,
                             struct sonde_stack *stack)
{
    struct sonde__memo_look look = {.is_still_loaded = start->is_still_loaded};
    struct sonde__memo_output output = {stack->pcs, inner_of(stack), start->skip, 0, 0};
    struct way way;
    bool is_root = walk_same(memo, start, &way, &output, &look, true);
    if (!is_root && !is_full(way, &output, stack)) {
        struct filled filled = {output.kept, output.skip};
        return fill_rest(memo, start, way, filled, &look, stack);
    }
    put_end(stack, output.kept, start->skip, is_root ? SONDE_END_ROOT : SONDE_END_DEPTH,
            memo->frames[way.to].pc);
    if (__builtin_expect(memo->proven != END, 0)) {
        put_inferred(stack, first_inferred(memo, way.next, way.to, 0, start->skip));
    }
    return true;
}

bool sonde__unwind_memo_renew(struct sonde__memo *memo, const struct sonde__memo_start *start,
                              uint32_t *ret_first)
{
    struct sonde__memo_look look = {.is_still_loaded = start->is_still_loaded};
    struct way way;
    if (!walk_same(memo, start, &way, NULL, &look, false)) {
        return renew_rest(memo, start, way, &look, ret_first);
    }
    *ret_first = way.next;
    return true;
}
