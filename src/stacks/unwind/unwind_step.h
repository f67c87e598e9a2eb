// SPDX-License-Identifier: Apache-2.0
/* One step of the walk: from a frame to its caller.
 *
 * A walker is at one frame. A step looks up the rule for its pc, applies it and moves the walker
 * to the caller, or says why there is none. The stack pointer only grows, except for a limited
 * number of jumps at signal frames (a handler on an alternate stack) and in code that switches
 * stacks. So every walk ends. Context: handler. */
#ifndef SONDE_UNWIND_STEP_H
#define SONDE_UNWIND_STEP_H

#include "unwind_memory.h"
#include "unwind_scans.h"
#include "unwind_table.h"

/* The registers that compact rules follow. */
struct sonde__frame {
    uint64_t pc;
    uint64_t sp;
    uint64_t fp;
    uint64_t lr; /* aarch64 */
    bool fp_known;
    bool lr_known;
    bool exact;    /* pc is the next instruction, not a return address */
    uint8_t found; /* enum sonde_found_by */
};

/* Units of work (of sweep_left). One is a decoded instruction, about 50 ns. */
enum {
    SONDE__WORK_IN_HANDLER = 2560, /* for a walk that may be in a handler: about 200 us */
    SONDE__WORK_FRAME = 4,         /* a frame of a proof */
    SONDE__WORK_SCAN = 64,         /* a scan, without what it reads */
    SONDE__WORK_ENTRY = 16,        /* a place where a function may begin */
    SONDE__WORK_WORD = 2,          /* a word of the stack that may be an address */
    SONDE__WORK_CODE = 8,          /* code read at such an address */
};

enum sonde__step {
    SONDE__STEP_ON,     /* the frame is the caller now */
    SONDE__STEP_ENDED,  /* `end` and `end_at` say why */
    SONDE__STEP_OTHER,  /* the row needs all registers: start again with them */
    SONDE__STEP_NO_CFI, /* no record of this code (sonde__step_without_cfi) */
};

struct sonde__walker {
    const struct sonde__walk *walk;
    struct sonde__reader *reader;
    struct sonde__regs *regs; /* all registers; null: the walk needs only compact rules */
    struct sonde__frame frame;
    unsigned arch;
    unsigned jumps_left; /* steps that may still go to a lower stack */
    unsigned made_left;  /* frames left that may use no stack */
    bool was_signal;     /* the frame of the last step is a signal frame */
    bool is_doubtful;    /* a trial: its pc may be stale (see find_doubtful) */
    uint8_t end;         /* enum sonde_end_reason */
    uint64_t end_at;
    /* the place of the last look-up: any pc in [place_start, place_end) has the same answer */
    uint64_t place_start;
    uint64_t place_end;
    const struct sonde__image *image; /* null: none */
    bool is_executable;
    struct sonde__scans_rule scan_rule; /* by which the last scan stepped; entry 0: none */
    uint32_t sweep_left;                /* units of work that scans of this walk may still do */
    uint64_t system_sp; /* Go: sp of the system stack at a call from C; 0: unknown */
    /* of the frame that the last step left, if it was an extended frame of Swift; else 0 */
    uint64_t async_context;
};

/* Start at frame 0. False: sp is unknown (end is set). */
bool sonde__walker_start(struct sonde__walker *walker, const struct sonde__walk *walk,
                         struct sonde__reader *reader, struct sonde__regs *regs);

void sonde__walker_locate_slow(struct sonde__walker *walker, uint64_t pc);

/* Read memory that may be unmapped: code, or the target of a stale word. */
bool sonde__walker_read(const struct sonde__walker *walker, uint64_t address, void *ret_bytes,
                        size_t size);
/* Is there code at an address that may be stale? Clears the walker's place. */
bool sonde__walker_is_code(struct sonde__walker *walker, uint64_t address);
/* The function that a direct call to `target` runs: the one in a stub's slot, or target itself. */
uint64_t sonde__walker_through_stub(const struct sonde__walker *walker, uint64_t target);

/* The rule for a vaddr of the walker's image that no compiled table has. */
struct sonde__rule sonde__walker_rule_slow(const struct sonde__walker *walker, uint64_t vaddr);

/* Step from code without CFI. */
enum sonde__step sonde__step_without_cfi(struct sonde__walker *walker);

/* Step from the trampoline of a signal handler, recognized by its bytes. False: it is none. */
bool sonde__step_sigreturn(struct sonde__walker *walker, enum sonde__step *ret_step);

/* Is the walker's pc certainly not code: in no mapping, or in memory that is not executable? */
bool sonde__step_is_nowhere(struct sonde__walker *walker);

/* Step from such a pc. A call that went there left its return address at sp (x86-64) or in lr
 * (aarch64); anything else ends the walk. */
enum sonde__step sonde__step_from_nowhere(struct sonde__walker *walker);

/* Is the walker's pc, a return address without CFI, in the first function of a thread or
 * program? */
bool sonde__step_is_entry(struct sonde__walker *walker);

/* Is the walker in the entry function of an image, by its ELF header? The function's record may
 * name a return address, which is 0 then (aarch64: the kernel starts a program so). With
 * __unwind_info: is fp known to be 0? */
bool sonde__step_is_start(struct sonde__walker *walker);

/* Does a call end at `pc`? *ret_target: the function that it runs; 0: unknown. True also for the
 * signal trampoline, which no call reaches: the kernel puts its address on the handler's stack.
 * looker: a copy of the walker for look-ups, so that the walker keeps its place. */
bool sonde__walker_is_return_address(struct sonde__walker *walker, struct sonde__walker *looker,
                                     uint64_t pc, uint64_t *ret_target);

/* The same for a word that may be anything. Keeps the walker's place, which may be asked anew. */
bool sonde__walker_is_behind_call(struct sonde__walker *walker, uint64_t pc);

/* Step from code without CFI by a scan of the stack (unwind_scan.c). OTHER: no proof. */
enum sonde__step sonde__step_scan(struct sonde__walker *walker);

/* The same by the cached result of an earlier scan, checked again. False: none. *ret_step: OTHER
 * if that scan found only a frame record. */
bool sonde__step_recall(struct sonde__walker *walker, enum sonde__step *ret_step);

/* The same if the function's first instruction is known, and its rule needs an unknown register
 * or proved wrong. False: no proof, and the walker has not moved. */
bool sonde__step_by_code(struct sonde__walker *walker, uint64_t function);

/* Does the code of `function` (its first instruction), which sets up a frame pointer, rule out
 * that the caller's sp was `sp`? False: not known. */
bool sonde__scan_is_elsewhere(const struct sonde__walker *walker, uint64_t function, uint64_t sp);

/* x86-64. The function that `call *word(%rip)` (-fno-plt) runs; 0: another call, or the word
 * cannot be read. pc: behind the call. code: the 8 bytes before pc. */
uint64_t sonde__scan_through_word(const struct sonde__walker *walker, uint64_t pc,
                                  const uint8_t *code);

/* Step with all registers (walker->regs is not null). NO_CFI as above. */
enum sonde__step sonde__step_full(struct sonde__walker *walker);

/* The saved frame pointer at `record` is tagged: note the async context of the walker's frame,
 * if the record is that frame's. */
void sonde__async_note(struct sonde__walker *walker, uint64_t record, bool is_signal);
/* Write the chain of the noted context, once for each stack. slot: that of the frame in
 * stack->pcs, or UINT32_MAX. */
void sonde__async_deliver(struct sonde__walker *walker, struct sonde_stack *stack, uint32_t slot);

/* `rule` needs an unknown frame pointer: find the caller by a scan of the stack. False: no
 * caller can be proven, or more than one. */
bool sonde__step_infer(struct sonde__walker *walker, const struct sonde__rule *rule);

/* Step from code without CFI by lr. False: lr is not known to be the return address. */
bool sonde__step_by_link(struct sonde__walker *walker);

/* Frame 0, __unwind_info: does the code ahead show where the return address is, where the rule of
 * the function does not hold or (arm64) is missing? True: *ret_step is the step. */
bool sonde__step_ahead(struct sonde__walker *walker, enum sonde__step *ret_step);
/* arm64. The same frame without a rule: may the frame record be that of the caller? Then lr is not
 * known to be the return address either. */
bool sonde__step_is_frame_unknown(struct sonde__walker *walker);

/* A copy of `from` for steps by recorded rules only. */
struct sonde__walker sonde__proof_begin(const struct sonde__walker *from);
enum sonde__step sonde__proof_step(struct sonde__walker *walker);

/* Do such steps lead from here to the thread's entry? Charges the work to `from`. */
bool sonde__walker_reaches_root(struct sonde__walker *from);

/* Charge work to the walk. */
static inline void sonde__walker_spend(struct sonde__walker *walker, uint32_t work)
{
    walker->sweep_left -= work < walker->sweep_left ? work : walker->sweep_left;
}

/* The innermost frame's rule has led to the walker's pc. Sets frame.exact: is the pc where
 * control is about to go, not where it came from? */
void sonde__step_to_target(struct sonde__walker *walker);

/* Is lr, by which the walker left the innermost frame at `pc`, an address in that frame's own
 * function that no call put there (aarch64)? */
bool sonde__link_is_own_code(struct sonde__walker *walker, uint64_t pc, uint64_t lr);

/* Step from any frame. OTHER: that needs all registers. */
enum sonde__step sonde__walker_step(struct sonde__walker *walker);
/* The same with all registers. */
enum sonde__step sonde__walker_step_full(struct sonde__walker *walker);

static inline enum sonde__step sonde__step_end(struct sonde__walker *walker,
                                               enum sonde_end_reason end, uint64_t at)
{
    walker->end = (uint8_t)end;
    walker->end_at = at;
    return SONDE__STEP_ENDED;
}

static inline uint64_t sonde__frame_lookup_pc(const struct sonde__frame *frame)
{
    return frame->exact || frame->pc == 0 ? frame->pc : frame->pc - 1;
}

/* Drop the last look-up: find_image's answer is valid until a copy of the walker calls it again. */
static inline void sonde__walker_ask_anew(struct sonde__walker *walker)
{
    walker->place_start = 0;
    walker->place_end = 0;
    walker->image = NULL;
}

static inline void sonde__walker_locate(struct sonde__walker *walker, uint64_t pc)
{
    if (pc < walker->place_start || pc >= walker->place_end) {
        sonde__walker_locate_slow(walker, pc);
    }
}

/* The rule of a return address in code that keeps a frame record for each of its calls. */
static inline struct sonde__rule sonde__record_rule(void)
{
    return (struct sonde__rule){
        .cfa = SONDE__RULE_FP,
        .cfa_offset = 16,
        .fp_from = SONDE__FROM_CFA,
        .fp_offset = -16,
        .ra_from = SONDE__FROM_CFA,
        .ra_offset = -8,
        .flags = SONDE__RULE_RECORD,
    };
}

/* pc: where the walker was located last. Without its frame pointer the record cannot be found. */
static inline bool sonde__walker_keeps_record(const struct sonde__walker *w, uint64_t pc)
{
    return w->walk->keeps_record != NULL && !w->frame.exact && w->frame.fp_known &&
           w->walk->keeps_record(w->walk->record_ctx, w->image, pc);
}

/* The rule for the walker's frame; `scratch` may hold it. */
static inline const struct sonde__rule *sonde__walker_rule(struct sonde__walker *w,
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
    } else {
        *scratch = (struct sonde__rule){.cfa = SONDE__RULE_NONE};
    }
    if (scratch->cfa == SONDE__RULE_NONE && sonde__walker_keeps_record(w, pc)) {
        *scratch = sonde__record_rule();
    }
    return scratch;
}

/* Swift tags the saved frame pointer of an extended frame: 0001 in the top bits. */
static inline bool sonde__fp_is_tagged(uint64_t fp)
{
    return fp >> 60 == 1;
}

static inline uint64_t sonde__strip_fp_tag(uint64_t fp)
{
    return sonde__fp_is_tagged(fp) ? fp & ~((uint64_t)1 << 60) : fp;
}

/* May the caller's sp be `sp`? may_jump: the rule may lead to another stack, or not move (longjmp
 * that is on its target's stack already). Such steps are limited: a signal frame leads to an exact
 * frame, and these could alternate for ever. The innermost frame, or one that a signal interrupted,
 * may use no stack at all (a leaf of aarch64, vfork). These are limited, too. */
static inline bool sonde__step_grows(struct sonde__walker *walker, uint64_t sp, bool may_jump)
{
    const struct sonde__frame *frame = &walker->frame;
    if (sp > frame->sp) {
        return true;
    }
    if (sp == frame->sp && frame->exact && !may_jump && walker->made_left > 0) {
        walker->made_left--;
        return true;
    }
    if (may_jump && walker->jumps_left > 0) {
        walker->jumps_left--;
        return true;
    }
    return false;
}

/* May fp be saved at `at`, an address computed from fp itself? In functions that realign their
 * stack, gcc's CFI still says so when fp has been popped. But then fp is the caller's, and it
 * points above the CFA. */
static inline bool sonde__is_saved_here(uint64_t at, uint64_t cfa)
{
    return at < cfa;
}

static inline uint64_t sonde__rule_base(const struct sonde__frame *frame, unsigned from,
                                        uint64_t cfa)
{
    return from == SONDE__FROM_CFA ? cfa : from == SONDE__FROM_SP ? frame->sp : frame->fp;
}

/* Compute the CFA. False: the walk ends or restarts with all registers, as *ret_step says. */
SONDE__NO_SANITIZE static inline bool sonde__rule_apply_cfa(struct sonde__walker *walker,
                                                            const struct sonde__rule *rule,
                                                            uint64_t *ret_cfa,
                                                            enum sonde__step *ret_step)
{
    const struct sonde__frame *frame = &walker->frame;
    uint64_t offset = (uint64_t)(int64_t)rule->cfa_offset;
    uint64_t base = frame->sp;
    switch (rule->cfa) {
    case SONDE__RULE_SP:
        *ret_cfa = base + offset;
        return true;
    case SONDE__RULE_FP:
    case SONDE__RULE_FP_DEREF:
        if (!frame->fp_known) {
            *ret_step = sonde__step_end(walker, SONDE_END_NO_REGISTERS, frame->pc);
            return false;
        }
        base = frame->fp;
        if (rule->cfa == SONDE__RULE_FP) {
            *ret_cfa = base + offset;
            return true;
        }
        break;
    case SONDE__RULE_SP_DEREF:
        break;
    case SONDE__RULE_PLT:
        base += (uint64_t)((frame->pc & 15) >= (rule->flags & SONDE__RULE_PLT_THRESHOLD))
                << (rule->flags >> SONDE__RULE_PLT_SHIFT_BITS & SONDE__RULE_PLT_SHIFT_MASK);
        *ret_cfa = base + offset;
        return true;
    case SONDE__RULE_END:
        *ret_step = sonde__step_end(walker, SONDE_END_ROOT, frame->pc);
        return false;
    case SONDE__RULE_NONE:
        *ret_step = SONDE__STEP_NO_CFI;
        return false;
    default:
        *ret_step = SONDE__STEP_OTHER;
        return false;
    }
    if (!sonde__reader_word(walker->reader, base + offset, ret_cfa)) {
        *ret_step = sonde__step_end(walker, SONDE_END_UNREADABLE, base + offset);
        return false;
    }
    return true;
}

/* Step by a compact rule. */
SONDE__NO_SANITIZE static inline enum sonde__step sonde__rule_apply(struct sonde__walker *walker,
                                                                    const struct sonde__rule *rule)
{
    struct sonde__frame *frame = &walker->frame;
    enum sonde__step step = SONDE__STEP_ON;
    bool is_signal = (rule->flags & SONDE__RULE_SIGNAL) != 0;
    bool ra_in_register = rule->ra_from == SONDE__FROM_KEPT;
    uint64_t cfa = 0;
    uint64_t pc = 0;
    uint64_t fp = 0;
    walker->was_signal = is_signal;
    if (!sonde__rule_apply_cfa(walker, rule, &cfa, &step)) {
        return step;
    }
    if (ra_in_register) {
        if (!frame->lr_known) {
            return sonde__step_end(
                walker, frame->exact ? SONDE_END_NO_REGISTERS : SONDE_END_NO_PROGRESS, frame->pc);
        }
        pc = frame->lr;
    } else {
        uint64_t at =
            sonde__rule_base(frame, rule->ra_from, cfa) + (uint64_t)(int64_t)rule->ra_offset;
        if (rule->ra_from == SONDE__FROM_FP) { /* the next frame's may be there, too */
            if (!frame->fp_known) {
                return sonde__step_end(walker, SONDE_END_NO_REGISTERS, frame->pc);
            }
            if (walker->made_left-- == 0) {
                return sonde__step_end(walker, SONDE_END_NO_PROGRESS, frame->pc);
            }
        }
        if (!sonde__reader_word(walker->reader, at, &pc)) {
            return sonde__step_end(walker, SONDE_END_UNREADABLE, at);
        }
    }
    if (!sonde__step_grows(walker, cfa, is_signal)) {
        return sonde__step_end(walker, SONDE_END_NO_PROGRESS, frame->pc);
    }
    if (rule->fp_from != SONDE__FROM_KEPT) {
        uint64_t at =
            sonde__rule_base(frame, rule->fp_from, cfa) + (uint64_t)(int64_t)rule->fp_offset;
        if (rule->fp_from != SONDE__FROM_FP || sonde__is_saved_here(at, cfa)) {
            frame->fp_known = rule->fp_from != SONDE__FROM_UNDEFINED &&
                              (rule->fp_from != SONDE__FROM_FP || frame->fp_known) &&
                              sonde__reader_word(walker->reader, at, &fp);
            if (frame->fp_known && sonde__fp_is_tagged(fp)) {
                sonde__async_note(walker, at, is_signal);
            }
            frame->fp = sonde__strip_fp_tag(fp);
        }
    }
    if (pc == 0 && !is_signal && sonde__step_is_start(walker)) {
        return sonde__step_end(walker, SONDE_END_ROOT, frame->pc);
    }
    frame->pc = sonde__arch_strip_pac(walker->arch, pc);
    frame->sp = cfa;
    frame->lr_known = false; /* the call overwrote the caller's lr */
    frame->exact = is_signal;
    frame->found = ra_in_register                            ? SONDE_FOUND_LR
                   : (rule->flags & SONDE__RULE_RECORD) != 0 ? SONDE_FOUND_FP
                                                             : SONDE_FOUND_CFI;
    return SONDE__STEP_ON;
}

#endif
