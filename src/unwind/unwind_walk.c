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

/* Rules that need no thought: CFA from sp or fp, return address and perhaps fp at a distance. One
 * test: the two kinds of CFA and the two of fp differ in one bit each, all the rest is given. */
static inline bool is_plain_rule(const struct sonde__rule *rule)
{
    _Static_assert((SONDE__RULE_SP ^ SONDE__RULE_FP) == 1, "the kinds of CFA differ in one bit");
    _Static_assert(SONDE__FROM_KEPT == 0 && (SONDE__FROM_CFA & (SONDE__FROM_CFA - 1)) == 0,
                   "so do the kinds of fp");
    uint32_t kinds = (uint32_t)rule->cfa | (uint32_t)rule->fp_from << 8 |
                     (uint32_t)rule->ra_from << 16 | (uint32_t)rule->flags << 24;
    uint32_t choice = 1 | (uint32_t)SONDE__FROM_CFA << 8;
    uint32_t given = (SONDE__RULE_SP & ~1u) | (uint32_t)SONDE__FROM_CFA << 16;
    return (kinds & ~choice) == given;
}

/* Walk while frames are return addresses in the image of the last look-up, which has a table, and
 * stack cells are plain memory, and there is room in the front of the caller's arrays. The same
 * steps as sonde__rule_apply() takes; here, with nothing that could fail, the frame and all that
 * the loop needs live in machine registers and not in memory. Stops in front of the first frame
 * that is different, which is not kept yet. */
SONDE__NO_SANITIZE static inline void run_plain(struct sonde__walker *w, struct sink *sink,
                                                uint64_t *left)
{
    const uint64_t place = w->place_start;
    const uint64_t place_size = w->place_end - place;
    const uint64_t plain = w->reader->memory.plain_start;
    const uint64_t plain_size = w->reader->memory.plain_end - plain;
    const uint64_t pc_mask = sonde__arch_strip_pac(w->arch, UINT64_MAX);
    struct sonde__frame frame = w->frame;
    if (w->image == NULL || w->image->rules == NULL || plain_size < 8 || frame.exact ||
        sink->skip > 0 || sink->kept >= sink->inner) {
        return;
    }
    struct sonde__table_view view = sonde__table_view(w->image->rules);
    uint64_t *pcs = sink->stack->pcs;
    uint8_t *how = sink->stack->how;
    uint8_t next_found = sink->inferred ? SONDE_FOUND_INFERRED : SONDE_FOUND_CFI;
    uint8_t found = sink->inferred ? SONDE_FOUND_INFERRED : frame.found;
    uint64_t room = sink->inner - sink->kept;
    uint64_t end = sink->kept + (room < *left ? room : *left);
    uint64_t kept = sink->kept;
    view.start += w->image->bias;
    while (kept < end) {
        uint64_t call = frame.pc - 1;
        if (call - place >= place_size) {
            break;
        }
        const struct sonde__rule *rule = sonde__table_view_find(&view, call);
        bool by_fp = rule->cfa == SONDE__RULE_FP;
        uint64_t cfa = (by_fp ? frame.fp : frame.sp) + (uint64_t)(int64_t)rule->cfa_offset;
        uint64_t ra_at = cfa + (uint64_t)(int64_t)rule->ra_offset;
        uint64_t fp_at = cfa + (uint64_t)(int64_t)rule->fp_offset;
        bool fp_saved = rule->fp_from == SONDE__FROM_CFA;
        if (!is_plain_rule(rule) || (by_fp && !frame.fp_known) || cfa <= frame.sp ||
            ra_at - plain > plain_size - 8 || (fp_saved && fp_at - plain > plain_size - 8)) {
            break;
        }
        uint64_t pc = sonde__plain_word(ra_at) & pc_mask;
        uint64_t fp = fp_saved ? sonde__plain_word(fp_at) : 0;
        if (pc == 0 || sonde__fp_is_tagged(fp)) {
            break;
        }
        pcs[kept] = frame.pc;
        how[kept++] = found;
        found = next_found;
        if (fp_saved) {
            frame.fp = fp;
            frame.fp_known = true;
        }
        frame.pc = pc;
        frame.sp = cfa;
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

/* The innermost frame's rule led to a place without code, so it is wrong: libc's assembler for long
 * numbers pushes registers and does not say so. Where the call that entered the function is found,
 * the walker stands at its caller instead. */
static __attribute__((noinline)) void correct(struct sonde__walker *w,
                                              const struct sonde__frame *before)
{
    struct sonde__frame after = w->frame;
    sonde__walker_locate(w, after.pc - 1);
    if (w->is_executable) {
        return;
    }
    w->frame = *before;
    if (!sonde__step_by_call(w)) {
        w->frame = after;
        return;
    }
    w->async_context = 0;
}

enum sonde__step sonde__walker_step(struct sonde__walker *walker)
{
    struct sonde__rule scratch;
    struct sonde__frame before = walker->frame;
    enum sonde__step step = sonde__rule_apply(walker, find_rule(walker, &scratch));
    if (before.exact && step == SONDE__STEP_ON && !walker->was_signal && !walker->is_proof) {
        correct(walker, &before);
    }
    return step;
}

/* Frames that a proof may take. */
#define PROOF_FRAMES_MAX 65536

bool sonde__walker_reaches_root(const struct sonde__walker *from)
{
    struct sonde__walker walker = *from;
    walker.is_proof = true;
    sonde__walker_ask_anew(&walker);
    for (unsigned i = 0; i < PROOF_FRAMES_MAX; i++) {
        enum sonde__step step = sonde__walker_step(&walker);
        if (step != SONDE__STEP_ON) {
            return step == SONDE__STEP_ENDED && walker.end == SONDE_END_ROOT;
        }
    }
    return false;
}

/* Frames until the end. Returns ENDED or OTHER. */
SONDE__NO_SANITIZE static inline enum sonde__step run(struct sonde__walker *w, struct sink *sink)
{
    for (uint64_t left = SONDE__WALK_FRAMES_MAX;; left--) {
        struct sonde__rule scratch;
        struct sonde__frame before;
        const struct sonde__rule *rule = NULL;
        enum sonde__step step = SONDE__STEP_ON;
        sink->inferred = sink->inferred || w->frame.found == SONDE_FOUND_INFERRED;
        if (w->regs == NULL && left > 0) {
            run_plain(w, sink, &left);
        }
        if (left == 0 || !put_frame(sink, &w->frame)) {
            return sonde__step_end(w, SONDE_END_DEPTH, w->frame.pc);
        }
        if (w->regs != NULL) {
            sonde__walker_locate(w, sonde__frame_lookup_pc(&w->frame));
            step = sonde__step_full(w);
        } else {
            bool is_exact = w->frame.exact;
            if (is_exact) {
                before = w->frame;
            }
            rule = find_rule(w, &scratch);
            step = sonde__rule_apply(w, rule);
            if (is_exact && step == SONDE__STEP_ON && !w->was_signal) {
                correct(w, &before);
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

static struct sink open_sink(const struct sonde__walk *walk, struct sonde_stack *stack)
{
    uint32_t outer = stack->outer < stack->capacity ? stack->outer : 0;
    stack->async_met = stack->async_cut = 0;
    stack->async_count = 0;
    stack->async_at = SONDE_NO_FRAME;
    stack->task_id = 0;
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
