// SPDX-License-Identifier: Apache-2.0
/* Go's function table gives for each instruction how far sp has moved since the function's entry.
 * On x86-64, the return address is next to the caller's sp; on aarch64, it is at the bottom of the
 * frame. The place of the caller's fp follows from the prologue that the Go assembler writes into
 * each function that has a frame.
 *
 * A thread of a Go program has a system stack (g0) and runs goroutines on stacks of their own. A
 * few runtime functions change stacks, and the table says nothing useful about them: the walk
 * knows them by name. It checks each runtime structure that it reads. */
#include "unwind_go.h"

#include "base_mem.h"

enum role {
    ORDINARY,
    SIGRETURN,   /* the end of a signal handler */
    INJECTED,    /* a signal handler made it look called by the next instruction */
    ROOT,        /* nothing called it, or it never returns */
    ENTRY,       /* of the program: called by nothing, or by the C library */
    SYSTEMSTACK, /* runs on the system stack, called from a goroutine's stack */
    ASMCGOCALL,  /* the same, and stores where it came from */
    MORESTACK,   /* runs on the system stack, called before a function has a frame */
    CALLBACK,    /* runs on a goroutine's stack, called by C on the system stack */
};

struct known {
    const char *name;
    enum role role;
};

/* Names after "runtime.". The function that mcall calls never returns to mcall: its goroutine
 * waits and resumes elsewhere. */
static const struct known known[] = {
    {"goexit", ROOT},           {"clone", ROOT},          {"mcall", ROOT},
    {"rt0_go", ENTRY},          {"sigreturn", SIGRETURN}, {"sigreturn__sigaction", SIGRETURN},
    {"asyncPreempt", INJECTED}, {"sigpanic", INJECTED},   {"systemstack", SYSTEMSTACK},
    {"asmcgocall", ASMCGOCALL}, {"morestack", MORESTACK}, {"cgocallback", CALLBACK},
};

static enum role role_of(const char *name)
{
    static const char prefix[] = "runtime.";
    for (unsigned i = 0; i < sizeof prefix - 1; i++) {
        if (name[i] != prefix[i]) {
            return ORDINARY;
        }
    }
    for (unsigned i = 0; i < sizeof known / sizeof *known; i++) {
        if (sonde__base_str_compare(name + sizeof prefix - 1, known[i].name) == 0) {
            return known[i].role;
        }
    }
    return ORDINARY;
}

static bool find_function(const struct sonde__walker *walker, uint64_t vaddr,
                          struct sonde__go_function *ret_function, enum role *ret_role)
{
    const struct sonde__go *go = &walker->image->go;
    const struct sonde__frame *frame = &walker->frame;
    if (go->data == NULL || !sonde__image_go_find(go, vaddr, ret_function)) {
        return false;
    }
    *ret_role = role_of(ret_function->name);
    if (!frame->exact && vaddr + 1 == ret_function->end &&
        vaddr == frame->pc - 1 - walker->image->bias) {
        /* the kernel makes a signal handler return to the first instruction of a function */
        struct sonde__go_function next;
        if (sonde__image_go_find(go, vaddr + 1, &next) && role_of(next.name) == SIGRETURN) {
            *ret_function = next;
            *ret_role = SIGRETURN;
        }
    }
    return true;
}

/* --- the rule --- */

/* Length in bytes of the instruction that saves rbp at `distance` from rsp. */
static unsigned save_bytes(int32_t distance)
{
    return distance == 0 ? 4 : distance < 128 ? 5 : 8;
}

/* Is rbp saved before the next instruction, which is somewhere after the prologue's change of
 * rsp? The Go assembler first moves rsp by the whole frame, then saves rbp. Since Go 1.21 it
 * pushes rbp, so the first change of rsp is 8. */
static bool is_saved(const struct sonde__go_value *v, uint64_t vaddr)
{
    int32_t first = v->start == v->first ? v->value : v->second;
    uint64_t after = vaddr - v->first;
    return first == 8 ? after > 0 : after >= save_bytes((int32_t)((uint32_t)first - 8));
}

static struct sonde__rule rule_x86_64(const struct sonde__go_value *v, uint64_t vaddr, bool exact)
{
    struct sonde__rule rule = {
        .cfa = SONDE__RULE_SP,
        .cfa_offset = v->value + 8,
        .ra_from = SONDE__FROM_CFA,
        .ra_offset = -8,
        .fp_from = SONDE__FROM_KEPT,
    };
    if (v->value >= 8 && (!exact || is_saved(v, vaddr))) {
        rule.fp_from = SONDE__FROM_CFA;
        rule.fp_offset = -16;
    }
    return rule;
}

static struct sonde__rule rule_aarch64(const struct sonde__go_value *v, uint64_t vaddr, bool exact)
{
    struct sonde__rule rule = {
        .cfa = SONDE__RULE_SP, .cfa_offset = v->value, .ra_from = SONDE__FROM_KEPT};
    if (v->value >= 8) {
        rule.ra_from = SONDE__FROM_SP;
        rule.fp_from = exact && vaddr == v->first ? SONDE__FROM_KEPT : SONDE__FROM_SP;
        rule.fp_offset = rule.fp_from == SONDE__FROM_SP ? -8 : 0;
    }
    return rule;
}

/* By the table alone, for any role. */
static bool find_rule(const struct sonde__walker *walker, const struct sonde__go_function *function,
                      uint64_t vaddr, struct sonde__rule *ret_rule)
{
    struct sonde__go_value v;
    if (!sonde__image_go_value(&walker->image->go, function, function->stack_values, vaddr, &v) ||
        v.value < 0 || v.value > INT32_MAX - 8) {
        return false;
    }
    *ret_rule = walker->arch == SONDE_ARCH_X86_64 ? rule_x86_64(&v, vaddr, walker->frame.exact)
                                                  : rule_aarch64(&v, vaddr, walker->frame.exact);
    if (v.second == 8 && sonde__base_str_compare(function->name, "crosscall2") == 0) {
        ret_rule->fp_from = SONDE__FROM_UNDEFINED; /* it pushes the flags before the registers */
    }
    return true;
}

bool sonde__go_rule(const struct sonde__walker *walker, uint64_t vaddr,
                    struct sonde__rule *ret_rule)
{
    struct sonde__rule rule = {.cfa = SONDE__RULE_NONE};
    struct sonde__go_function function;
    enum role role;
    if (!find_function(walker, vaddr, &function, &role)) {
        return false;
    }
    if (role == ORDINARY) {
        (void)find_rule(walker, &function, vaddr, &rule);
    }
    *ret_rule = rule;
    return true;
}

/* --- the functions that change stacks --- */

/* Move the walker to a caller, which may be on another stack. */
static enum sonde__step stand_at(struct sonde__walker *walker, uint64_t pc, uint64_t sp)
{
    struct sonde__frame *frame = &walker->frame;
    if (walker->made_left-- == 0) {
        return sonde__step_end(walker, SONDE_END_NO_PROGRESS, frame->pc);
    }
    frame->pc = sonde__arch_strip_pac(walker->arch, pc);
    frame->sp = sp;
    frame->lr_known = false;
    frame->exact = false;
    frame->found = SONDE_FOUND_CFI;
    return SONDE__STEP_ON;
}

static enum sonde__step end_switched(struct sonde__walker *walker)
{
    return sonde__step_end(walker, SONDE_END_SWITCHED, walker->frame.pc);
}

/* Does a call end at `pc`? *ret_target: what it calls; 0: an indirect call. */
static bool is_return(struct sonde__walker *walker, uint64_t pc, uint64_t *ret_target)
{
    uint8_t code[8];
    unsigned size = walker->arch == SONDE_ARCH_X86_64 ? 8 : 4;
    struct sonde__walker looker = *walker;
    return pc > size && sonde__walker_is_code(&looker, pc - 1) &&
           sonde__walker_read(walker, pc - size, code, size) &&
           sonde__arch_is_call_before(walker->arch, pc, code, size, ret_target);
}

/* Step by the table's rule, if it leads to a return address. */
static bool step_by_table(struct sonde__walker *walker, const struct sonde__rule *rule)
{
    struct sonde__walker trial = *walker;
    uint64_t target = 0;
    if (sonde__rule_apply(&trial, rule) != SONDE__STEP_ON ||
        !is_return(walker, trial.frame.pc, &target)) {
        return false;
    }
    walker->frame = trial.frame;
    walker->made_left = trial.made_left;
    return true;
}

/* asmcgocall stores the goroutine (g), and the distance of its sp from the end of its stack. If
 * it did not change stacks, it stores null and sp itself. */
static enum sonde__step step_asmcgocall(struct sonde__walker *walker)
{
    bool is_x86 = walker->arch == SONDE_ARCH_X86_64;
    uint64_t sp = walker->frame.sp;
    uint64_t g = 0, depth = 0, end = 0, pc = 0, target = 0;
    struct sonde__reader *reader = walker->reader;
    if (!sonde__reader_word(reader, sp + (is_x86 ? 48 : 0), &g) ||
        !sonde__reader_word(reader, sp + (is_x86 ? 40 : 8), &depth)) {
        return sonde__step_end(walker, SONDE_END_UNREADABLE, sp);
    }
    uint64_t caller = depth;
    if (g != 0) {
        if (!sonde__reader_word(reader, g + 8, &end)) { /* g.stack.hi */
            return end_switched(walker);
        }
        caller = end - depth;
    }
    if (!sonde__reader_word(reader, caller, &pc) || !is_return(walker, pc, &target)) {
        return end_switched(walker);
    }
    if (!is_x86) {
        walker->frame.fp_known = sonde__reader_word(reader, caller - 8, &walker->frame.fp);
    }
    return stand_at(walker, pc, caller + (is_x86 ? 8 : 16));
}

/* Does `slot` hold the return address of a call by a Go function whose frame, without its own
 * return address, ends at `end`? *ret_target: what it calls; 0: an indirect call. */
static bool is_call_slot(struct sonde__walker *walker, uint64_t slot, uint64_t end,
                         uint64_t *ret_pc, uint64_t *ret_target)
{
    const struct sonde__image *image = walker->image;
    struct sonde__go_function function;
    struct sonde__go_value v;
    return sonde__reader_word(walker->reader, slot, ret_pc) &&
           sonde__image_go_find(&image->go, *ret_pc - 1 - image->bias, &function) &&
           sonde__image_go_value(&image->go, &function, function.stack_values,
                                 *ret_pc - 1 - image->bias, &v) &&
           v.value >= 0 && slot + 8 + (uint64_t)v.value == end &&
           is_return(walker, *ret_pc, ret_target);
}

/* Has the function with its return address at `slot` called morestack, before it had a frame?
 * *ret_pc: the return address of that call. */
static bool is_grow_slot(struct sonde__walker *walker, uint64_t slot, uint64_t function,
                         uint64_t *ret_pc)
{
    const struct sonde__image *image = walker->image;
    struct sonde__go_function callee;
    struct sonde__go_function f;
    uint64_t target = 0;
    return is_call_slot(walker, slot - 8, slot, ret_pc, &target) && target != 0 &&
           sonde__image_go_find(&image->go, target - image->bias, &callee) &&
           (role_of(callee.name) == MORESTACK ||
            sonde__base_str_compare(callee.name, "runtime.morestack_noctxt") == 0) &&
           sonde__image_go_find(&image->go, *ret_pc - 1 - image->bias, &f) &&
           (function == 0 || f.start + image->bias == function);
}

/* Larger frames are rare, and a search that finds nothing reads all of it. */
#define FRAME_BYTES_MAX 8192

/* systemstack and morestack have no frame and do not change rbp. rbp points to the rbp saved at
 * the end of the frame of a function on the goroutine's stack. Below is the return address of
 * the call that this function made, at exactly the distance of its frame's size. It called
 * systemstack, or a function that had no frame yet and called morestack. */
static enum sonde__step step_to_goroutine(struct sonde__walker *walker, enum role role,
                                          const struct sonde__go_function *function)
{
    const struct sonde__frame *frame = &walker->frame;
    uint64_t callee = function->start + walker->image->bias;
    uint64_t end = frame->fp + 8, found = 0, found_sp = 0;
    if (walker->arch != SONDE_ARCH_X86_64 || !frame->fp_known || (frame->fp & 7) != 0 ||
        frame->fp < FRAME_BYTES_MAX) {
        return end_switched(walker);
    }
    for (uint64_t slot = frame->fp - 8; frame->fp - slot <= FRAME_BYTES_MAX; slot -= 8) {
        uint64_t pc = 0, grown = 0, target = 0;
        if (!is_call_slot(walker, slot, end, &pc, &target) ||
            (role == MORESTACK ? !is_grow_slot(walker, slot, target, &grown) : target != callee)) {
            continue;
        }
        if (found != 0) {
            return end_switched(walker); /* two matches: one is a leftover */
        }
        found = role == MORESTACK ? grown : pc;
        found_sp = role == MORESTACK ? slot : slot + 8;
    }
    return found != 0 ? stand_at(walker, found, found_sp) : end_switched(walker);
}

/* --- calls from C --- */

#define X86_64_R14 14 /* holds the goroutine (g) in Go code, since Go 1.17 */

enum { G_LOW, G_HIGH, G_THREAD = 6, G_SP, G_WORDS }; /* words of a goroutine: stack, m, sched.sp */

static bool is_goroutine_at(const struct sonde__walker *walker, uint64_t at, uint64_t *ret_g)
{
    return sonde__walker_read(walker, at, ret_g, G_WORDS * sizeof *ret_g) &&
           walker->frame.sp >= ret_g[G_LOW] && walker->frame.sp < ret_g[G_HIGH];
}

/* A thread (m) has pointers to its goroutines among its first words. */
#define THREAD_WORDS 64

/* Find the goroutine on whose stack the walker is. Frame 0 has it in r14; if r14 holds the
 * goroutine of the thread's signal handlers, it is the interrupted one. */
static bool find_goroutine(const struct sonde__walker *walker, uint64_t *ret_g)
{
    const struct sonde__regs *regs = &walker->walk->regs;
    uint64_t thread = 0, words[THREAD_WORDS];
    if (!sonde__regs_known(regs, X86_64_R14)) {
        return false;
    }
    if (is_goroutine_at(walker, regs->r[X86_64_R14], ret_g)) {
        return true;
    }
    if (!sonde__walker_read(walker, regs->r[X86_64_R14] + (uint64_t)8 * G_THREAD, &thread,
                            sizeof thread) ||
        !sonde__walker_read(walker, thread, words, sizeof words)) {
        return false;
    }
    for (unsigned i = 0; i < THREAD_WORDS; i++) {
        if (is_goroutine_at(walker, words[i], ret_g) && ret_g[G_THREAD] == thread) {
            return true;
        }
    }
    return false;
}

/* Find the sp with which the thread left its system stack. The goroutine points to its thread,
 * and that to the system stack's goroutine (g0, its first word), which must point back. */
static bool system_sp(struct sonde__walker *walker, uint64_t *ret_sp)
{
    uint64_t g[G_WORDS], g0[G_WORDS], g0_at = 0;
    if (walker->system_sp != 0) {
        *ret_sp = walker->system_sp; /* stored by the call from C further in */
        return true;
    }
    if (!find_goroutine(walker, g) ||
        !sonde__walker_read(walker, g[G_THREAD], &g0_at, sizeof g0_at) ||
        !sonde__walker_read(walker, g0_at, g0, sizeof g0) || g0[G_THREAD] != g[G_THREAD] ||
        g0[G_SP] <= g0[G_LOW] || g0[G_SP] >= g0[G_HIGH]) {
        return false;
    }
    *ret_sp = g0[G_SP];
    return true;
}

/* C called Go. The frame of cgocallback is on the system stack; a copy is on the goroutine's
 * stack, with a return address that leads to what runs below the C code. At sp, the frame on the
 * system stack stores the thread's sp of an earlier call from C. */
static enum sonde__step step_callback(struct sonde__walker *walker, const struct sonde__rule *rule)
{
    uint64_t sp = 0, pc = 0, fp = 0, outer = 0, target = 0;
    struct sonde__go_function caller;
    if (walker->arch != SONDE_ARCH_X86_64 || rule->cfa != SONDE__RULE_SP || rule->cfa_offset < 24 ||
        !system_sp(walker, &sp)) {
        return end_switched(walker);
    }
    uint64_t cfa = sp + (uint64_t)rule->cfa_offset;
    const struct sonde__image *image = walker->image;
    if (!sonde__reader_word(walker->reader, sp, &outer) ||
        !sonde__reader_word(walker->reader, cfa - 8, &pc) ||
        !sonde__reader_word(walker->reader, cfa - 16, &fp) || !is_return(walker, pc, &target) ||
        !sonde__image_go_find(&image->go, pc - 1 - image->bias, &caller) ||
        sonde__base_str_compare(caller.name, "crosscall2") != 0) {
        return end_switched(walker);
    }
    walker->system_sp = outer;
    walker->frame.fp = fp;
    walker->frame.fp_known = true;
    return stand_at(walker, pc, cfa);
}

/* On aarch64, the handler stored the old lr below sp and set lr to the interrupted pc. */
static enum sonde__step step_injected(struct sonde__walker *walker, const struct sonde__rule *rule)
{
    struct sonde__frame *frame = &walker->frame;
    enum sonde__step step = sonde__rule_apply(walker, rule);
    if (step == SONDE__STEP_ON && walker->arch == SONDE_ARCH_AARCH64) {
        frame->lr_known = sonde__reader_word(walker->reader, frame->sp, &frame->lr);
        frame->sp += 16;
    }
    frame->exact = step == SONDE__STEP_ON;
    return step;
}

static enum sonde__step step_role(struct sonde__walker *walker, enum role role,
                                  const struct sonde__go_function *function,
                                  const struct sonde__rule *rule)
{
    if (role == INJECTED && rule->cfa != SONDE__RULE_NONE) {
        return step_injected(walker, rule);
    }
    /* exact: it may not have changed stacks yet, or be on its way back */
    if ((walker->frame.exact || role == ENTRY) && rule->cfa != SONDE__RULE_NONE &&
        step_by_table(walker, rule)) {
        return SONDE__STEP_ON;
    }
    switch (role) {
    case ROOT:
    case ENTRY:
        return sonde__step_end(walker, SONDE_END_ROOT, walker->frame.pc);
    case SYSTEMSTACK:
    case MORESTACK:
        return step_to_goroutine(walker, role, function);
    case ASMCGOCALL:
        return step_asmcgocall(walker);
    case CALLBACK:
        return step_callback(walker, rule);
    default:
        return end_switched(walker);
    }
}

bool sonde__step_go(struct sonde__walker *walker, enum sonde__step *ret_step)
{
    struct sonde__go_function function;
    struct sonde__rule rule = {.cfa = SONDE__RULE_NONE};
    enum role role;
    sonde__walker_locate(walker, sonde__frame_lookup_pc(&walker->frame));
    if (walker->image == NULL || walker->image->go.data == NULL) {
        return false;
    }
    uint64_t vaddr = sonde__frame_lookup_pc(&walker->frame) - walker->image->bias;
    if (!find_function(walker, vaddr, &function, &role) || role == SIGRETURN) {
        return false;
    }
    walker->was_signal = false;
    (void)find_rule(walker, &function, vaddr, &rule);
    if (role != ORDINARY) {
        *ret_step = step_role(walker, role, &function, &rule);
    } else if (rule.cfa != SONDE__RULE_NONE) {
        *ret_step = sonde__rule_apply(walker, &rule);
    } else {
        return false;
    }
    if (walker->regs != NULL) { /* Go's calls preserve no registers */
        walker->regs->known = 0;
    }
    return true;
}
