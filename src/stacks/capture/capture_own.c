// SPDX-License-Identifier: Apache-2.0
/* Walks of this process' threads. The walk by the thread's memo alone takes a few nanoseconds,
 * so all code on the way to it is in one function. */
#include "capture_images.h"
#include "capture_memo.h"
#include "capture_own_stack.h"
#include "capture_record.h"
#include "capture_walk.h"
#include "unwind_scans.h"
#include "unwind_table.h"

/* Rules for the memo's walk, from the tables of the snapshot, which the first look-up pins. */
struct rules {
    bool is_pinned;
    struct sonde__capture_pin pin;
    const struct sonde__image *image; /* of the last look-up */
    const struct sonde__image_range *range;
};

/* Has the image rules for code that its table lacks? They come before those of scans. */
static bool has_other_rules(const struct sonde__image *image)
{
    return image->go.data != NULL || image->cfi.debug_frame != NULL;
}

static bool find_rule(void *ctx, uint64_t pc, struct sonde__memo_rule *ret_rule)
{
    struct rules *rules = ctx;
    uint64_t call = pc - 1;
    if (!rules->is_pinned) {
        rules->pin = sonde__capture_pin();
        rules->is_pinned = true;
        rules->range = NULL;
    }
    const struct sonde__image_set *images = rules->pin.images;
    if (images == NULL) {
        return false;
    }
    if (rules->range == NULL ||
        call - rules->range->start >= rules->range->end - rules->range->start) {
        rules->range = sonde__image_range_find(images, call);
        if (rules->range == NULL || rules->range->image >= images->image_count) {
            rules->range = NULL;
            *ret_rule = sonde__unwind_memo_record_rule();
            return sonde__capture_keeps_record(call);
        }
        rules->image = &images->images[rules->range->image];
    }
    const struct sonde__image *image = rules->image;
    if (image->is_permanent && image->encodings.info.data != NULL) {
        return sonde__unwind_memo_encoded_rule(image, call - image->bias, ret_rule);
    }
    if (!image->is_permanent || image->rules == NULL) {
        return false;
    }
    const struct sonde__rule *rule = sonde__table_find(image->rules, call - image->bias);
    if (rule->cfa == SONDE__RULE_NONE && sonde__capture_keeps_record(call)) {
        *ret_rule = sonde__unwind_memo_record_rule();
        return true;
    }
    if (rule->cfa == SONDE__RULE_NONE) {
        return !has_other_rules(image) &&
               sonde__unwind_memo_scan_rule(&sonde__capture_scans, pc, ret_rule);
    }
    return sonde__unwind_memo_rule(rule, ret_rule);
}

static uint64_t reach(void *ctx, uint64_t sp, uint64_t to)
{
    (void)ctx;
    return sonde__capture_own_stack_to(sp, to);
}

/* Fill the start of a walk by the memo. */
static inline void begin_by_memo(struct sonde__memo_start *at, struct rules *rules,
                                 const struct sonde__regs *regs, uint32_t skip,
                                 struct sonde__memo *memo)
{
    uint64_t generation = sonde__capture_generation();
    *at = (struct sonde__memo_start){
        .pc = regs->pc,
        .sp = regs->r[sonde__arch_sp(SONDE__ARCH_HOST)],
        .fp = regs->r[sonde__arch_fp(SONDE__ARCH_HOST)],
        .skip = skip,
        .is_still_loaded = sonde__capture_image_is_still_loaded,
        .find_rule = find_rule,
        .scans = &sonde__capture_scans,
        .reach = reach,
        .ctx = rules,
    };
    rules->is_pinned = false;
    at->plain_end = sonde__capture_own_stack_seen(at->sp);
    if (memo->generation != generation) {
        sonde__unwind_memo_reset(memo, at->sp, generation);
    }
}

static inline void end_by_memo(const struct rules *rules)
{
    if (rules->is_pinned) {
        sonde__capture_unpin(rules->pin);
    }
}

/* False: the stack's contents are void. */
static inline bool walk_by_memo(struct sonde_stack *stack, const struct sonde__regs *regs,
                                uint32_t skip, struct sonde__memo *memo)
{
    struct rules rules;
    struct sonde__memo_start at;
    begin_by_memo(&at, &rules, regs, skip, memo);
    bool is_done = sonde__unwind_memo_walk(memo, &at, stack);
    end_by_memo(&rules);
    return is_done;
}

static inline __attribute__((always_inline)) void walk(struct sonde_stack *stack,
                                                       const struct sonde__regs *regs, bool exact,
                                                       uint32_t skip,
                                                       enum sonde__capture_trust trust)
{
    struct sonde__memo *memo = trust != SONDE__CAPTURE_DOUBT ? sonde__capture_memo_enter() : NULL;
    if (memo == NULL || exact || !walk_by_memo(stack, regs, skip, memo)) {
        sonde__capture_walk_general(stack, regs, exact, skip, trust, memo);
    }
    sonde__capture_memo_leave(memo);
}

void sonde__capture_walk(struct sonde_stack *stack, const struct sonde__regs *regs, bool exact,
                         uint32_t skip, enum sonde__capture_trust trust)
{
    walk(stack, regs, exact, skip, trust);
}

struct sonde__memo *sonde__capture_renew(const struct sonde__regs *regs, uint32_t *ret_first)
{
    struct sonde__memo *memo = sonde__capture_memo_enter();
    struct rules rules;
    struct sonde__memo_start at;
    if (memo == NULL) {
        return NULL;
    }
    begin_by_memo(&at, &rules, regs, 0, memo);
    bool is_done = sonde__unwind_memo_renew(memo, &at, ret_first);
    end_by_memo(&rules);
    if (!is_done) {
        sonde__capture_memo_leave(memo);
        return NULL;
    }
    return memo;
}

/* Count the lost frames of a cut stack by the memo alone. False: it does not reach the root. */
static bool count_by_memo(struct sonde_stack *stack, const struct sonde__regs *regs, uint32_t skip)
{
    uint32_t first;
    struct sonde__memo *memo = sonde__capture_renew(regs, &first);
    if (memo == NULL) {
        return false;
    }
    uint64_t shown = (uint64_t)skip + stack->count;
    uint64_t all = SONDE__MEMO_FRAMES - first;
    stack->lost_count = all > shown ? all - shown : 0;
    sonde__capture_memo_leave(memo);
    return true;
}

static __attribute__((noinline)) void count_cut(struct sonde_stack *stack,
                                                const struct sonde__regs *regs, bool exact,
                                                uint32_t skip, enum sonde__capture_trust trust)
{
    struct sonde__capture_count count;
    if (exact || trust == SONDE__CAPTURE_DOUBT || !count_by_memo(stack, regs, skip)) {
        sonde__capture_count_begin(&count);
        sonde__capture_walk(&count.stack, regs, exact, skip, trust);
        sonde__capture_count_end(&count, stack);
    }
}

void sonde__capture_walk_counted(struct sonde_stack *stack, const struct sonde__regs *regs,
                                 bool exact, uint32_t skip, enum sonde__capture_trust trust)
{
    walk(stack, regs, exact, skip, trust);
    if (sonde__capture_is_cut(stack)) {
        count_cut(stack, regs, exact, skip, trust);
    }
}

/* The C half of sonde_stack_capture (capture_entry.S). `caller` is frame 0. */
enum sonde_status sonde__capture_here(struct sonde_stack *stack, uint32_t skip,
                                      const struct sonde__regs *caller);

enum sonde_status sonde__capture_here(struct sonde_stack *stack, uint32_t skip,
                                      const struct sonde__regs *caller)
{
    if (!sonde__capture_is_usable(stack)) {
        return SONDE_USAGE;
    }
    walk(stack, caller, false, skip, SONDE__CAPTURE_OWN);
    if (sonde__capture_is_cut(stack)) {
        count_cut(stack, caller, false, skip, SONDE__CAPTURE_OWN);
    }
    return SONDE_OK;
}
