// SPDX-License-Identifier: Apache-2.0
/* Finds the caller of a frame in code without call frame information, on x86-64: code of an image
 * (musl's libc has four records for 400 KB of code) or of a JIT compiler.
 *
 * A word on the stack is the return address of this frame if three things hold: a call ends right
 * before the address, the code of the called function leads to this pc, and that code has moved sp
 * by exactly the distance between the word and sp (unwind_sweep.h). So both sides of the call
 * agree. The scan guesses nothing and needs no frame pointer. An indirect call does not name the
 * function. Then the scan tries every place behind the end of another function as the entry, and
 * the distance decides. Without such a proof there is no rule.
 *
 * JIT code lies among data and old code, so the return address of an indirect call from there
 * counts only if call frame information leads from the caller to the thread's entry. JIT code may
 * also run in the frame of an interpreter that jumped to it (LuaJIT). Then the call went to code of
 * an image whose record describes that frame from its first instruction on (unwind_standing.h), and
 * what the JIT code has pushed is added.
 *
 * If the code sets up a frame pointer, and the register still holds it, no scan is needed: the
 * frame record has the return address (V8, Go). */
#include "unwind_scan.h"
#include "unwind_standing.h"

#include "arch_sigframe.h"
#include "arch_x86_insn.h"

enum {
    SCAN_BYTES = 65536,      /* of stack; few functions have larger frames */
    INDIRECT_MAX = 8,        /* limit of indirect calls tried */
    ENTRY_BACK_BYTES = 2048, /* how far before the pc entries are searched for */
    READ_BYTES = 256,
    NEAR_MAX = 8,    /* limit of entries tried first */
    STUB_BYTES = 16, /* of a PLT entry */
};

uint64_t sonde__scan_through_word(const struct sonde__walker *walker, uint64_t pc,
                                  const uint8_t *code)
{
    struct sonde__x86_insn insn;
    uint64_t value = 0;
    if (sonde__arch_x86_insn(code + 2, 6, &insn) && insn.length == 6 &&
        insn.kind == SONDE__X86_CALL_INDIRECT && insn.reg == SONDE__X86_REG_NEXT &&
        sonde__walker_read(walker, pc + (uint64_t)(int64_t)insn.value, &value, sizeof value)) {
        return value;
    }
    return 0;
}

bool sonde__walker_is_return_address(struct sonde__walker *walker, struct sonde__walker *looker,
                                     uint64_t pc, uint64_t *ret_target)
{
    uint8_t code[16];
    uint64_t target = 0;
    unsigned size = 8;
    sonde__walker_locate(looker, pc - 1);
    if (looker->image == NULL && pc - looker->place_start < size) {
        size = (unsigned)(pc - looker->place_start); /* memory before the code may be unmapped */
    }
    sonde__walker_spend(walker, SONDE__WORK_WORD);
    if (!looker->is_executable || !sonde__walker_read(walker, pc - size, code, size)) {
        return false;
    }
    sonde__walker_spend(walker, SONDE__WORK_CODE);
    if (sonde__arch_is_call_before(walker->arch, pc, code, size, &target)) {
        bool is_known = target != 0 || size < 8 || walker->arch != SONDE_ARCH_X86_64;
        *ret_target = is_known ? target : sonde__scan_through_word(walker, pc, code);
        return true;
    }
    *ret_target = 0;
    return sonde__walker_read(walker, pc, code, sizeof code) &&
           sonde__arch_is_sigreturn(walker->arch, code);
}

struct scan {
    struct sonde__walker *walker;
    struct sonde__walker looker; /* for look-ups, so that the walker keeps its place */
    struct call {
        uint64_t slot;  /* of its return address */
        uint64_t frame; /* bytes of the interpreter's frame below the slot; 0: no interpreter */
        struct sonde__rule rule; /* of that frame */
    } calls[INDIRECT_MAX];       /* indirect calls, and calls of interpreters */
    unsigned call_count;
    bool is_jit;
    uint64_t code_start; /* no entries below this address */
};

bool sonde__scan_slot(const struct sonde__frame *frame, const struct sonde__sweep *sweep,
                      uint64_t *ret_slot)
{
    if (sweep->depth >= 0) {
        *ret_slot = frame->sp + (uint64_t)sweep->depth;
        return true;
    }
    *ret_slot = frame->fp + (uint64_t)sweep->fp_base;
    return sweep->fp_base >= 0 && frame->fp_known;
}

void sonde__scan_step_out(struct sonde__walker *walker, const struct sonde__sweep *sweep,
                          uint64_t slot, uint64_t pc)
{
    struct sonde__frame *frame = &walker->frame;
    walker->scan_rule = (struct sonde__scans_rule){
        .entry = sweep->entry,
        .at = (uint32_t)(sweep->depth >= 0 ? sweep->depth : sweep->fp_base),
        .by_fp = sweep->depth < 0,
        .fp_saved = sweep->fp_saved >= 0  ? (int32_t)sweep->fp_saved
                    : sweep->fp_base >= 0 ? SONDE__SCANS_FP_LOST
                                          : SONDE__SCANS_FP_KEPT,
    };
    if (sweep->fp_saved >= 0) {
        frame->fp_known =
            sonde__reader_word(walker->reader, slot - (uint64_t)sweep->fp_saved, &frame->fp);
        frame->fp = sonde__strip_fp_tag(frame->fp); /* the tag of Swift's async frames */
    } else if (sweep->fp_base >= 0) {
        frame->fp_known = false;
    }
    frame->pc = pc;
    frame->sp = slot + 8;
    frame->exact = false;
    frame->lr_known = false;
    frame->found = SONDE_FOUND_INFERRED;
}

uint64_t sonde__scan_entry(const struct sonde__walker *walker, uint64_t target)
{
    return walker->frame.pc - target < STUB_BYTES ? target
                                                  : sonde__walker_through_stub(walker, target);
}

static void add_call(struct scan *scan, uint64_t slot, const struct sonde__rule *rule,
                     uint32_t pushed)
{
    if (scan->call_count < INDIRECT_MAX) {
        struct call *call = &scan->calls[scan->call_count++];
        call->slot = slot;
        call->frame = 0;
        if (rule != NULL) {
            call->frame = (uint64_t)rule->cfa_offset - 8 + pushed;
            call->rule = *rule;
        }
    }
}

/* Add the return address of an interpreter, for each amount that it may have pushed. */
static void add_standing(struct scan *scan, uint64_t slot, uint64_t function)
{
    struct sonde__standing standing;
    if (sonde__standing_find(scan->walker, &scan->looker, function, &standing)) {
        for (uint32_t i = 0; i < standing.pushed_count; i++) {
            add_call(scan, slot, &standing.rule, standing.pushed[i]);
        }
    }
}

static bool try_slot(struct scan *scan, uint64_t slot, uint64_t pc)
{
    struct sonde__walker *walker = scan->walker;
    struct sonde__sweep sweep;
    uint64_t target = 0, expected = 0;
    enum sonde__sweep_result result = SONDE__SWEEP_OPEN;
    if (!sonde__walker_is_return_address(walker, &scan->looker, pc, &target)) {
        return false;
    }
    if (target != 0) {
        result = sonde__sweep_to(walker, sonde__scan_entry(walker, target), true, &sweep);
    }
    if (result == SONDE__SWEEP_FOUND && sonde__scan_slot(&walker->frame, &sweep, &expected) &&
        expected == slot) {
        sonde__scan_step_out(walker, &sweep, slot, pc);
        return true;
    }
    /* before a call sp % 16 == 0, so a return address's slot is not (psABI AMD64 §3.2.2) */
    if ((slot & 15) != 8) {
        return false;
    }
    if (result == SONDE__SWEEP_OPEN) {
        add_call(scan, slot, NULL, 0);
    }
    if (scan->is_jit && target != 0) {
        add_standing(scan, slot, sonde__scan_entry(walker, target));
    }
    return false;
}

/* May a function begin behind these bytes: a return, a jump, a halt or padding? */
static bool is_behind_end(const uint8_t *before)
{
    return before[7] == 0xc3 || before[7] == 0xf4 || before[7] == 0xcc || before[7] == 0x90 ||
           before[7] == 0x00 || before[3] == 0xe9 || before[6] == 0xeb ||
           (before[6] == 0xff && (before[7] & 0xf8) == 0xe0) ||
           (before[6] == 0x0f && before[7] == 0x0b) || before[3] == 0xe8;
}

/* An entry whose code puts the return address where a call has left one. */
struct match {
    struct sonde__sweep sweep;
    const struct call *call; /* null: nothing yet */
    bool is_aligned, is_ambiguous;
};

static void try_entry(const struct scan *scan, uint64_t entry, struct match *match)
{
    struct sonde__walker *walker = scan->walker;
    struct sonde__sweep sweep;
    uint64_t slot = 0;
    bool is_aligned = (entry & 15) == 0 || scan->is_jit;
    const struct call *call = NULL;
    if ((match->call != NULL && match->is_aligned && !is_aligned) ||
        sonde__sweep_to(walker, entry, false, &sweep) != SONDE__SWEEP_FOUND ||
        !sonde__scan_slot(&walker->frame, &sweep, &slot)) {
        return;
    }
    for (unsigned i = 0; i < scan->call_count; i++) {
        if (scan->calls[i].slot == slot + scan->calls[i].frame) {
            match->is_ambiguous |= call != NULL && call->slot != scan->calls[i].slot;
            call = &scan->calls[i];
        }
    }
    if (call == NULL) {
        return;
    }
    if (match->call == NULL || (is_aligned && !match->is_aligned)) {
        *match = (struct match){sweep, call, is_aligned, match->is_ambiguous};
    } else if (match->call->slot != call->slot) {
        match->is_ambiguous = true;
    }
}

/* Read [first - 8, first + READ_BYTES); bytes below the code are 0. */
static bool read_entries(const struct scan *scan, uint64_t first, uint8_t *ret_bytes)
{
    uint64_t from = first - 8;
    size_t missing = from < scan->code_start ? (size_t)(scan->code_start - from) : 0;
    for (size_t i = 0; i < missing; i++) {
        ret_bytes[i] = 0;
    }
    return sonde__walker_read(scan->walker, from + missing, ret_bytes + missing,
                              READ_BYTES + 8 - missing);
}

/* Does the code from `entry` put the return address where that of a direct call to the entry is?
 * Then step to that caller. */
static bool is_called_at(struct scan *scan, uint64_t entry)
{
    struct sonde__walker *walker = scan->walker;
    struct sonde__sweep sweep;
    uint64_t slot = 0, pc = 0, target = 0;
    if (sonde__sweep_to(walker, entry, false, &sweep) != SONDE__SWEEP_FOUND ||
        !sonde__scan_slot(&walker->frame, &sweep, &slot) ||
        !sonde__reader_word(walker->reader, slot, &pc) || pc <= 4096 ||
        !sonde__walker_is_return_address(walker, &scan->looker, pc, &target) || target == 0 ||
        sonde__scan_entry(walker, target) != entry) {
        return false;
    }
    sonde__scan_step_out(walker, &sweep, slot, pc);
    return true;
}

/* Try the nearest places before the pc at which the function may begin. In nearly all cases both
 * sides of the call agree about one of them. That avoids the search of the stack, where each
 * leftover of an earlier call costs as much as one of these. */
static bool try_near_entries(struct scan *scan)
{
    uint64_t end = scan->walker->frame.pc;
    uint8_t bytes[READ_BYTES + 8];
    unsigned tried = 0;
    for (uint64_t back = 0; back < ENTRY_BACK_BYTES && tried < NEAR_MAX; back += READ_BYTES) {
        uint64_t first = end - back - READ_BYTES;
        if (first + READ_BYTES <= scan->code_start || !read_entries(scan, first, bytes)) {
            return false;
        }
        for (unsigned i = READ_BYTES; i-- > 0 && tried < NEAR_MAX;) {
            uint64_t entry = first + i;
            if ((entry & 15) == 0 && entry >= scan->code_start && bytes[i + 8] != 0 &&
                is_behind_end(bytes + i)) {
                tried++;
                sonde__walker_spend(scan->walker, SONDE__WORK_ENTRY);
                if (is_called_at(scan, entry)) {
                    return true;
                }
            }
        }
    }
    return false;
}

/* Step to the caller of the interpreter in whose frame JIT code runs. */
static bool step_out_of_frame(struct sonde__walker *walker, const struct call *call)
{
    walker->frame.sp = call->slot + 8 - (uint64_t)(int64_t)call->rule.cfa_offset;
    walker->frame.exact = false;
    if (sonde__rule_apply(walker, &call->rule) != SONDE__STEP_ON) {
        return false;
    }
    walker->frame.found = SONDE_FOUND_INFERRED;
    return true;
}

static bool take_match(struct sonde__walker *walker, const struct match *match)
{
    uint64_t word = 0;
    if (match->call->frame != 0) {
        return step_out_of_frame(walker, match->call);
    }
    if (!sonde__reader_word(walker->reader, match->call->slot, &word)) {
        return false;
    }
    sonde__scan_step_out(walker, &match->sweep, match->call->slot, word);
    return true;
}

/* No call names the function: try each place before the pc as its entry, against the indirect
 * calls. Most compilers align functions, so an aligned entry is preferred. Entries of the same
 * kind that lead to different callers are no answer. */
static bool try_entries(const struct scan *scan)
{
    struct sonde__walker *walker = scan->walker;
    struct sonde__frame before = walker->frame;
    uint64_t end = before.pc + before.exact; /* the function may be about to begin */
    uint8_t bytes[READ_BYTES + 8];
    struct match match = {.call = NULL};
    for (uint64_t back = 0; back < ENTRY_BACK_BYTES; back += READ_BYTES) {
        uint64_t first = end - back - READ_BYTES; /* candidates first ... first + READ_BYTES - 1 */
        if (first + READ_BYTES <= scan->code_start || !read_entries(scan, first, bytes)) {
            break;
        }
        for (unsigned i = READ_BYTES; i-- > 0;) {
            /* no function begins with padding */
            if (first + i >= scan->code_start && bytes[i + 8] != 0 && is_behind_end(bytes + i)) {
                try_entry(scan, first + i, &match);
            }
        }
    }
    if (match.call == NULL || match.is_ambiguous || walker->sweep_left == 0) {
        return false;
    }
    if (!take_match(walker, &match) || (scan->is_jit && !sonde__walker_reaches_root(walker))) {
        walker->frame = before;
        return false;
    }
    return true;
}

/* Does the frame pointer hold what the code put there? True if the nearest code before the pc
 * that sets up a frame pointer leads to the pc, and the register has the value that it got
 * there. *ret_by_sp: sp confirms it. */
static bool is_record_proven(const struct scan *scan, bool *ret_by_sp)
{
    struct sonde__walker *walker = scan->walker;
    const struct sonde__frame *frame = &walker->frame;
    struct sonde__sweep sweep;
    uint8_t bytes[READ_BYTES + 8];
    for (uint64_t back = 0; back < ENTRY_BACK_BYTES; back += READ_BYTES) {
        uint64_t first = frame->pc - back - READ_BYTES;
        if (first + READ_BYTES <= scan->code_start || !read_entries(scan, first, bytes)) {
            return false;
        }
        for (unsigned i = READ_BYTES + 4; i-- > 0;) { /* push %rbp; mov %rsp,%rbp in both forms */
            const uint8_t *code = bytes + i;
            bool is_setup =
                code[0] == 0x55 && code[1] == 0x48 &&
                ((code[2] == 0x89 && code[3] == 0xe5) || (code[2] == 0x8b && code[3] == 0xec));
            if (is_setup) {
                bool is_inside =
                    sonde__sweep_to(walker, first + i - 8, false, &sweep) == SONDE__SWEEP_FOUND;
                *ret_by_sp = is_inside && sweep.depth >= 0;
                return is_inside && sweep.fp_base == 8 && frame->fp >= frame->sp &&
                       (!*ret_by_sp || frame->sp + (uint64_t)sweep.depth == frame->fp + 8);
            }
        }
    }
    return false;
}

/* The code that sets up the frame pointer may belong to the function before: if that ends with a
 * call that never returns, the pass runs on into this function. If sp does not confirm the
 * record, a direct call to the function that both sides agree about counts more. True: the
 * walker is at that caller, which is not the record's. */
static bool is_refuted(struct scan *scan)
{
    struct sonde__frame *frame = &scan->walker->frame;
    const struct sonde__frame before = *frame;
    if (!try_near_entries(scan)) {
        return false;
    }
    if (frame->sp == before.fp + 16) {
        *frame = before;
        scan->walker->scan_rule.entry = 0;
        return false;
    }
    return true;
}

/* Find where the code at the walker's pc begins. False: there is no code. */
static bool find_code_start(struct scan *scan)
{
    struct sonde__walker *looker = &scan->looker;
    sonde__walker_locate(looker, sonde__frame_lookup_pc(&scan->walker->frame));
    scan->code_start = looker->place_start;
    return looker->is_executable;
}

/* The end of the search for the caller of JIT code. If the frame pointer leads to a record with
 * a return address in code, the caller is not beyond that record: it is this function's, or that
 * of a function further out. */
static uint64_t scan_end(const struct scan *scan, uint64_t first)
{
    struct sonde__walker *walker = scan->walker;
    const struct sonde__frame *frame = &walker->frame;
    struct sonde__walker looker = scan->looker;
    uint64_t fp = 0, pc = 0;
    bool is_record = scan->is_jit && frame->fp_known && frame->fp >= first &&
                     frame->fp - first < SCAN_BYTES && (frame->fp & 7) == 0 &&
                     sonde__reader_word(walker->reader, frame->fp, &fp) && fp > frame->fp &&
                     sonde__reader_word(walker->reader, frame->fp + 8, &pc) && pc > 4096 &&
                     sonde__walker_is_code(&looker, pc - 1);
    return is_record ? frame->fp + 16 : first + SCAN_BYTES;
}

enum sonde__step sonde__scan_stack(struct sonde__walker *walker)
{
    struct sonde__frame *frame = &walker->frame;
    struct scan scan;
    uint64_t first = (frame->sp + 7) & ~(uint64_t)7;
    scan.is_jit = walker->image == NULL;
    scan.walker = walker;
    scan.looker = *walker;
    scan.looker.is_doubtful = true;
    scan.looker.place_start = scan.looker.place_end = 0;
    scan.call_count = 0;
    scan.code_start = 0;
    sonde__walker_spend(walker, SONDE__WORK_SCAN);
    bool is_by_sp = true;
    if (scan.is_jit && !find_code_start(&scan)) {
        return SONDE__STEP_OTHER;
    }
    if (frame->fp_known && is_record_proven(&scan, &is_by_sp)) {
        return !is_by_sp && is_refuted(&scan) ? SONDE__STEP_ON : SONDE__STEP_OTHER;
    }
    if (try_near_entries(&scan)) {
        return SONDE__STEP_ON;
    }
    uint64_t end = scan_end(&scan, first);
    for (uint64_t slot = first; slot < end && walker->sweep_left > 0; slot += 8) {
        uint64_t word = 0;
        if (!sonde__reader_word(walker->reader, slot, &word)) {
            break;
        }
        if (word > 4096 && try_slot(&scan, slot, word)) {
            return SONDE__STEP_ON;
        }
    }
    return scan.call_count > 0 && try_entries(&scan) ? SONDE__STEP_ON : SONDE__STEP_OTHER;
}

static bool step_by_code(struct sonde__walker *walker, uint64_t function)
{
    struct sonde__walker looker = *walker;
    struct sonde__sweep sweep;
    uint64_t slot = 0, pc = 0, target = 0;
    if (sonde__sweep_to(walker, function, false, &sweep) != SONDE__SWEEP_FOUND || sweep.depth < 0 ||
        !sonde__scan_slot(&walker->frame, &sweep, &slot) ||
        !sonde__reader_word(walker->reader, slot, &pc)) {
        return false;
    }
    looker.is_doubtful = true;
    looker.place_start = looker.place_end = 0;
    if (pc == 0 || !sonde__walker_is_return_address(walker, &looker, pc, &target)) {
        return false;
    }
    if (target != 0 && target != function) {
        struct sonde__sweep of_call;
        /* a linkage stub, or a tail call on the way, maybe by a pointer */
        enum sonde__sweep_result result =
            sonde__sweep_to(walker, sonde__scan_entry(walker, target), true, &of_call);
        if (result == SONDE__SWEEP_ELSEWHERE ||
            (result == SONDE__SWEEP_FOUND && of_call.depth != sweep.depth)) {
            return false;
        }
    }
    sonde__scan_step_out(walker, &sweep, slot, pc);
    return true;
}

bool sonde__scan_is_elsewhere(const struct sonde__walker *walker, uint64_t function, uint64_t sp)
{
    struct sonde__walker looker = *walker;
    struct sonde__sweep sweep;
    sonde__walker_ask_anew(&looker);
    bool is_known = sonde__sweep_to(&looker, function, false, &sweep) == SONDE__SWEEP_FOUND &&
                    sweep.depth >= 0 && sweep.fp_base >= 0;
    return is_known && looker.frame.sp + (uint64_t)sweep.depth + 8 != sp;
}

bool sonde__step_by_code(struct sonde__walker *walker, uint64_t function)
{
    if (walker->arch != SONDE_ARCH_X86_64) {
        return false;
    }
    bool is_there = step_by_code(walker, function);
    sonde__walker_ask_anew(walker);
    return is_there;
}
