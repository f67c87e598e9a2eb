// SPDX-License-Identifier: Apache-2.0
#include "unwind_walk.h"

#include "unwind_step.h"

/* Where frames go: the innermost into the front of the caller's arrays, the later ones round and
 * round a ring behind them, so that the outermost are there at the end. */
struct sink {
    struct sonde_stack *stack;
    uint32_t skip; /* frames still to leave out */
    uint32_t inner;
    uint32_t outer;
    uint32_t ring_at; /* next slot of the ring */
    uint64_t kept;    /* frames written, also those overwritten since */
    uint32_t last;    /* slot of the last frame; UINT32_MAX: it was left out */
    bool inferred;
};

/* Room for a frame. False: none, and none is kept for outermost frames. */
static inline bool take_slot(struct sink *sink)
{
    sink->last = UINT32_MAX;
    if (sink->skip > 0) {
        sink->skip--;
        return true;
    }
    if (sink->kept < sink->inner) {
        sink->last = (uint32_t)sink->kept;
    } else if (sink->outer == 0) {
        return false;
    } else {
        sink->last = sink->inner + sink->ring_at;
        sink->ring_at = sink->ring_at + 1 == sink->outer ? 0 : sink->ring_at + 1;
    }
    sink->kept++;
    return true;
}

static inline bool put_frame(struct sink *sink, const struct sonde__frame *frame)
{
    if (!take_slot(sink)) {
        return false;
    }
    if (sink->last != UINT32_MAX) {
        uint8_t found = sink->inferred ? SONDE_FOUND_INFERRED : frame->found;
        sink->stack->pcs[sink->last] = frame->pc;
        sink->stack->how[sink->last] = (uint8_t)(found | (frame->exact ? SONDE_HOW_EXACT : 0));
    }
    return true;
}

static void reverse(struct sonde_stack *stack, uint32_t first, uint32_t end)
{
    for (; first + 1 < end; first++, end--) {
        uint64_t pc = stack->pcs[first];
        uint8_t how = stack->how[first];
        stack->pcs[first] = stack->pcs[end - 1];
        stack->how[first] = stack->how[end - 1];
        stack->pcs[end - 1] = pc;
        stack->how[end - 1] = how;
    }
}

/* Turn the ring into order and say what was left out. */
static void close_sink(struct sink *sink)
{
    struct sonde_stack *stack = sink->stack;
    uint64_t capacity = (uint64_t)sink->inner + sink->outer;
    if (sink->kept <= capacity) {
        stack->count = (uint32_t)sink->kept;
        stack->lost_at = stack->count;
        stack->lost_count = 0;
        return;
    }
    uint32_t end = sink->inner + sink->outer;
    uint32_t oldest = sink->inner + sink->ring_at;
    reverse(stack, sink->inner, oldest);
    reverse(stack, oldest, end);
    reverse(stack, sink->inner, end);
    stack->count = end;
    stack->lost_at = sink->inner;
    stack->lost_count = sink->kept - capacity;
}

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

enum sonde__step sonde__walker_step(struct sonde__walker *walker)
{
    struct sonde__rule scratch;
    return sonde__rule_apply(walker, find_rule(walker, &scratch));
}

/* Frames until the end. Returns ENDED or OTHER. */
SONDE__NO_SANITIZE static inline enum sonde__step run(struct sonde__walker *w, struct sink *sink)
{
    for (uint64_t left = SONDE__WALK_FRAMES_MAX;; left--) {
        struct sonde__rule scratch;
        const struct sonde__rule *rule = NULL;
        enum sonde__step step = SONDE__STEP_ON;
        if (left == 0 || !put_frame(sink, &w->frame)) {
            return sonde__step_end(w, SONDE_END_DEPTH, w->frame.pc);
        }
        if (w->regs != NULL) {
            sonde__walker_locate(w, sonde__frame_lookup_pc(&w->frame));
            step = sonde__step_full(w);
        } else {
            rule = find_rule(w, &scratch);
            step = sonde__rule_apply(w, rule);
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
    }
}

static struct sink open_sink(const struct sonde__walk *walk, struct sonde_stack *stack)
{
    uint32_t outer = stack->outer < stack->capacity ? stack->outer : 0;
    return (struct sink){
        .stack = stack, .skip = walk->skip, .inner = stack->capacity - outer, .outer = outer};
}

/* With all registers, from the start: what they were at the row that needs them is known only so.
 */
static __attribute__((noinline)) void walk_full(const struct sonde__walk *walk,
                                                struct sonde__walker *walker,
                                                struct sonde__reader *reader, struct sink *sink)
{
    struct sonde__regs regs;
    if (sonde__walker_start(walker, walk, reader, &regs)) {
        (void)run(walker, sink);
    }
}

void sonde__unwind_walk(const struct sonde__walk *walk, struct sonde_stack *stack)
{
    struct sonde__walker walker;
    struct sonde__reader reader;
    struct sink sink = open_sink(walk, stack);
    sonde__reader_init(&reader, &walk->memory);
    if (sonde__walker_start(&walker, walk, &reader, NULL) &&
        run(&walker, &sink) == SONDE__STEP_OTHER) {
        sink = open_sink(walk, stack);
        walk_full(walk, &walker, &reader, &sink);
    }
    close_sink(&sink);
    stack->end = walker.end;
    stack->end_at = walker.end_at;
}
