// SPDX-License-Identifier: Apache-2.0
/* The CFI of code that is about to jump elsewhere for good (setcontext, longjmp, the end of
 * libgcc's unwinder) names the jump's target as its caller. No call ends there: it may be a landing
 * pad or a coroutine's first instruction, and the byte before may have another rule. So the target
 * is a next instruction (exact), not a return address.
 *
 * Only the innermost frame can be in such code. Its caller is a target if no call ends there, the
 * rules of the target and of the byte before differ (else nothing would change), and the target's
 * rule leads on to code. glibc's __start_context fails the last test: it is "returned" to at its
 * first instruction, too, and its stack holds no return address.
 *
 * On aarch64, swapcontext puts its resume address in lr, and its record does not say so. An lr
 * that no call set and that points into the function itself is not a return address. Context:
 * handler. */
#include "unwind_step.h"

static struct sonde__rule rule_at(struct sonde__walker *walker, uint64_t pc)
{
    struct sonde__rule rule = {.cfa = SONDE__RULE_NONE};
    sonde__walker_locate(walker, pc);
    const struct sonde__image *image = walker->image;
    if (image != NULL && image->rules != NULL) {
        rule = *sonde__table_find(image->rules, pc - image->bias);
    }
    return image != NULL && rule.cfa == SONDE__RULE_NONE
               ? sonde__walker_rule_slow(walker, pc - image->bias)
               : rule;
}

static bool is_same_rule(const struct sonde__rule *a, const struct sonde__rule *b)
{
    return a->cfa == b->cfa && a->cfa_offset == b->cfa_offset && a->flags == b->flags &&
           a->ra_from == b->ra_from && a->ra_offset == b->ra_offset && a->fp_from == b->fp_from &&
           a->fp_offset == b->fp_offset;
}

static bool follows_call(const struct sonde__walker *walker, uint64_t pc)
{
    uint8_t code[8];
    uint64_t target = 0;
    unsigned size = walker->arch == SONDE_ARCH_X86_64 ? 8 : 4;
    return !sonde__walker_read(walker, pc - size, code, size) ||
           sonde__arch_is_call_before(walker->arch, pc, code, size, &target);
}

static bool leads_on(const struct sonde__walker *from)
{
    struct sonde__walker trial = *from;
    trial.is_doubtful = true;
    trial.frame.exact = true;
    sonde__walker_ask_anew(&trial);
    struct sonde__rule rule = rule_at(&trial, trial.frame.pc);
    enum sonde__step step = sonde__rule_apply(&trial, &rule);
    return (step == SONDE__STEP_ENDED && rule.cfa == SONDE__RULE_END) ||
           (step == SONDE__STEP_ON && sonde__walker_is_code(&trial, trial.frame.pc - 1));
}

void sonde__step_to_target(struct sonde__walker *walker)
{
    uint64_t pc = walker->frame.pc;
    struct sonde__walker looker = *walker;
    looker.is_doubtful = true; /* a wrong rule may have led to a leftover */
    struct sonde__rule at = rule_at(&looker, pc);
    struct sonde__rule before = rule_at(&looker, pc - 1);
    bool is_target = at.cfa != SONDE__RULE_NONE && !is_same_rule(&at, &before) &&
                     !follows_call(walker, pc) && leads_on(walker);
    if (is_target || looker.place_start != walker->place_start) {
        sonde__walker_ask_anew(walker);
    }
    walker->frame.exact = is_target;
}

/* Longer functions do not matter here (bytes). */
#define REACH 4096

bool sonde__link_is_own_code(struct sonde__walker *walker, uint64_t pc, uint64_t lr)
{
    uint64_t start = 0, end = 0;
    bool is_near = lr - pc + REACH < (uint64_t)2 * REACH;
    if (!is_near || follows_call(walker, lr)) {
        return false;
    }
    sonde__walker_ask_anew(walker);
    sonde__walker_locate(walker, pc);
    const struct sonde__image *image = walker->image;
    return image != NULL &&
           sonde__cfi_fde_bounds(&image->cfi, walker->arch, pc - image->bias, &start, &end) &&
           lr - image->bias - start < end - start;
}
