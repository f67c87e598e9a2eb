// SPDX-License-Identifier: Apache-2.0
/* The caller of a frame in an image without call frame information for it (musl's libc has four
 * records for 400 KB of code), on x86-64.
 *
 * A word on the stack is the return address of this frame if a call ends right before where it
 * points, that call goes to a function whose code leads to this pc, and that code has moved the
 * stack by exactly the distance between the word and sp (unwind_sweep.h). So both sides of the call
 * say the same: nothing is guessed, and no frame pointer is needed. A call by pointer does not name
 * the function; then every place behind the end of another function is tried as its entry, and the
 * distance decides. Without such a proof the answer is that there is no rule.
 *
 * The outermost frames: the program's entry, which the ELF header names, and a call whose return
 * goes straight into the exit system call (the first function of a thread). */
#include "image_elf_format.h"
#include "unwind_step.h"
#include "unwind_sweep.h"

#include "arch_sigframe.h"
#include "arch_x86_insn.h"

enum {
    SCAN_BYTES = 65536,      /* of stack; a function that holds more than a path or two is rare */
    INDIRECT_MAX = 8,        /* calls by pointer that are tried */
    ENTRY_BACK_BYTES = 2048, /* how far before the pc an entry is sought */
    ENTRY_CODE_BYTES = 64,   /* of the program's _start */
    READ_BYTES = 256,
    STUB_BYTES = 16, /* of the procedure linkage table */
};

static uint64_t little(const uint8_t *at)
{
    uint64_t value = 0;
    for (unsigned i = 8; i > 0; i--) {
        value = value << 8 | at[i - 1];
    }
    return value;
}

/* e_entry, by the ELF header in the image's memory. */
static bool is_in_start(const struct sonde__walker *walker, uint64_t pc)
{
    static const uint8_t magic[] = {0x7f, 'E', 'L', 'F', 2, 1};
    uint8_t header[32];
    const struct sonde__image *image = walker->image;
    if (!sonde__walker_read(walker, image->start, header, sizeof header)) {
        return false;
    }
    for (unsigned i = 0; i < sizeof magic; i++) {
        if (header[i] != magic[i]) {
            return false;
        }
    }
    /* e_entry at 24 (gABI 4.1, Elf64_Ehdr) */
    return pc - 1 - (little(header + 24) + image->bias) < ENTRY_CODE_BYTES;
}

/* Does the code at `pc` do nothing but set registers and end the thread? exit is 60, exit_group
 * 231. */
static bool is_thread_end(const struct sonde__walker *walker, uint64_t pc)
{
    uint8_t code[32];
    struct sonde__x86_insn insn;
    bool is_exit = false;
    size_t at = 0;
    if (!sonde__walker_read(walker, pc, code, sizeof code)) {
        return false;
    }
    for (unsigned i = 0; i < 5 && sonde__arch_x86_insn(code + at, sizeof code - at, &insn); i++) {
        uint8_t op = code[at];
        if (insn.kind == SONDE__X86_SYSCALL) {
            return is_exit;
        }
        if (insn.kind != SONDE__X86_OTHER ||
            (op != 0xb0 && op != 0xb8 && op != 0x31 && op != 0x89 && op != 0x48)) {
            return false; /* mov and xor of registers only */
        }
        is_exit |= (op == 0xb0 || op == 0xb8) && (code[at + 1] == 60 || code[at + 1] == 231);
        at += insn.length;
    }
    return false;
}

/* The function that `call *word(%rip)` in front of pc reaches (-fno-plt), or 0. */
static uint64_t through_word(const struct sonde__walker *walker, uint64_t pc, const uint8_t *code)
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

/* Does a call end at `pc`? *ret_target: the function that it reaches, 0: any. The trampoline of
 * signals is reached by no call: the kernel puts its address on the handler's stack. */
static bool is_return_address(struct sonde__walker *walker, struct sonde__walker *looker,
                              uint64_t pc, uint64_t *ret_target)
{
    uint8_t code[16];
    uint64_t target = 0;
    sonde__walker_locate(looker, pc - 1);
    if (!looker->is_executable || !sonde__walker_read(walker, pc - 8, code, 8)) {
        return false;
    }
    if (sonde__arch_is_call_before(walker->arch, pc, code, 8, &target)) {
        *ret_target = target != 0 ? target : through_word(walker, pc, code);
        return true;
    }
    *ret_target = 0;
    return sonde__walker_read(walker, pc, code, sizeof code) &&
           sonde__arch_is_sigreturn(walker->arch, code);
}

struct scan {
    struct sonde__walker *walker;
    struct sonde__walker looker;     /* looks images up without moving the walker's own place */
    uint64_t indirect[INDIRECT_MAX]; /* slots */
    unsigned indirect_count;
};

/* Where the code says that the return address lies. */
static bool slot_of(const struct sonde__frame *frame, const struct sonde__sweep *sweep,
                    uint64_t *ret_slot)
{
    if (sweep->depth >= 0) {
        *ret_slot = frame->sp + (uint64_t)sweep->depth;
        return true;
    }
    *ret_slot = frame->fp + (uint64_t)sweep->fp_base;
    return sweep->fp_base >= 0 && frame->fp_known;
}

/* Stand at the caller. */
static void step_out(struct sonde__walker *walker, const struct sonde__sweep *sweep, uint64_t slot,
                     uint64_t pc)
{
    struct sonde__frame *frame = &walker->frame;
    if (sweep->fp_saved >= 0) {
        frame->fp_known =
            sonde__reader_word(walker->reader, slot - (uint64_t)sweep->fp_saved, &frame->fp);
        frame->fp = sonde__strip_fp_tag(frame->fp); /* of Swift's async frames */
    } else if (sweep->fp_base >= 0) {
        frame->fp_known = false;
    }
    frame->pc = pc;
    frame->sp = slot + 8;
    frame->exact = false;
    frame->lr_known = false;
    frame->found = SONDE_FOUND_INFERRED;
}

/* Where to look for the pc in what a call to `target` runs: in the linkage stub itself, where the
 * pc is in it, else behind it. */
static uint64_t entry_of(const struct sonde__walker *walker, uint64_t target)
{
    return walker->frame.pc - target < STUB_BYTES ? target
                                                  : sonde__walker_through_stub(walker, target);
}

/* Try the word at `slot` as the return address. */
static bool try_slot(struct scan *scan, uint64_t slot, uint64_t pc)
{
    struct sonde__walker *walker = scan->walker;
    struct sonde__sweep sweep;
    uint64_t target = 0, expected = 0;
    enum sonde__sweep_result result = SONDE__SWEEP_OPEN;
    if (!is_return_address(walker, &scan->looker, pc, &target)) {
        return false;
    }
    if (target != 0) {
        result = sonde__sweep_to(walker, entry_of(walker, target), walker->frame.pc, true, &sweep);
    }
    if (result == SONDE__SWEEP_FOUND && slot_of(&walker->frame, &sweep, &expected) &&
        expected == slot) {
        step_out(walker, &sweep, slot, pc);
        return true;
    }
    /* a compiler aligns the stack at a call, so that the return address does not stand at 16 bytes
     * (psABI AMD64 §3.2.2) */
    if (result == SONDE__SWEEP_OPEN && (slot & 15) == 8 && scan->indirect_count < INDIRECT_MAX) {
        scan->indirect[scan->indirect_count++] = slot;
    }
    return false;
}

/* May a function begin behind these bytes? Behind a return, a jump, a stop or padding. */
static bool is_behind_end(const uint8_t *before)
{
    return before[7] == 0xc3 || before[7] == 0xf4 || before[7] == 0xcc || before[7] == 0x90 ||
           before[7] == 0x00 || before[3] == 0xe9 || before[6] == 0xeb ||
           (before[6] == 0xff && (before[7] & 0xf8) == 0xe0) ||
           (before[6] == 0x0f && before[7] == 0x0b) || before[3] == 0xe8;
}

/* What an entry gives, when its code puts the return address where a call by pointer left one. */
struct match {
    struct sonde__sweep sweep;
    uint64_t slot;
    bool is_aligned, is_there, is_ambiguous;
};

static void try_entry(const struct scan *scan, uint64_t entry, struct match *match)
{
    struct sonde__walker *walker = scan->walker;
    struct sonde__sweep sweep;
    uint64_t slot = 0;
    bool is_aligned = (entry & 15) == 0, is_call = false;
    if ((match->is_there && match->is_aligned && !is_aligned) ||
        sonde__sweep_to(walker, entry, walker->frame.pc, false, &sweep) != SONDE__SWEEP_FOUND ||
        !slot_of(&walker->frame, &sweep, &slot)) {
        return;
    }
    for (unsigned i = 0; i < scan->indirect_count; i++) {
        is_call |= scan->indirect[i] == slot;
    }
    if (!is_call) {
        return;
    }
    if (!match->is_there || (is_aligned && !match->is_aligned)) {
        *match = (struct match){sweep, slot, is_aligned, true, false};
    } else if (match->slot != slot) {
        match->is_ambiguous = true;
    }
}

/* No call names the function: try the places before the pc as its entry against the calls by
 * pointer. Compilers align functions, some do not: an aligned one counts more. All that count must
 * say the same. */
static bool try_entries(const struct scan *scan)
{
    struct sonde__walker *walker = scan->walker;
    uint64_t pc = walker->frame.pc, word = 0;
    uint8_t bytes[READ_BYTES + 8];
    struct match match = {.is_there = false};
    for (uint64_t back = 0; back < ENTRY_BACK_BYTES; back += READ_BYTES) {
        uint64_t first = pc - back - READ_BYTES; /* candidates first ... first + READ_BYTES - 1 */
        if (!sonde__walker_read(walker, first - 8, bytes, sizeof bytes)) {
            break;
        }
        for (unsigned i = READ_BYTES; i-- > 0;) {
            if (is_behind_end(bytes + i)) {
                try_entry(scan, first + i, &match);
            }
        }
    }
    if (!match.is_there || match.is_ambiguous || walker->sweep_left == 0 ||
        !sonde__reader_word(walker->reader, match.slot, &word)) {
        return false;
    }
    step_out(walker, &match.sweep, match.slot, word);
    return true;
}

static enum sonde__step scan_stack(struct sonde__walker *walker)
{
    struct sonde__frame *frame = &walker->frame;
    struct scan scan;
    uint64_t first = (frame->sp + 7) & ~(uint64_t)7;
    if (!frame->exact && (is_in_start(walker, frame->pc) || is_thread_end(walker, frame->pc))) {
        return sonde__step_end(walker, SONDE_END_ROOT, frame->pc);
    }
    scan.walker = walker;
    scan.looker = *walker;
    scan.looker.is_doubtful = true;
    scan.looker.place_start = scan.looker.place_end = 0;
    scan.indirect_count = 0;
    for (uint64_t slot = first; slot - first < SCAN_BYTES && walker->sweep_left > 0; slot += 8) {
        uint64_t word = 0;
        if (!sonde__reader_word(walker->reader, slot, &word)) {
            break;
        }
        if (word > 4096 && try_slot(&scan, slot, word)) {
            return SONDE__STEP_ON;
        }
    }
    return scan.indirect_count > 0 && try_entries(&scan) ? SONDE__STEP_ON : SONDE__STEP_OTHER;
}

/* Looking up the places that words point to leaves another image where the walker's own may stand
 * (the image of a question to the loader has one place): both ways out of here ask anew. */
enum sonde__step sonde__step_scan(struct sonde__walker *walker)
{
    if (walker->arch != SONDE__ARCH_X86_64 || walker->image == NULL) {
        return SONDE__STEP_OTHER;
    }
    enum sonde__step step = scan_stack(walker);
    sonde__walker_ask_anew(walker);
    return step;
}

static bool step_by_code(struct sonde__walker *walker, uint64_t function)
{
    struct sonde__walker looker = *walker;
    struct sonde__sweep sweep;
    uint64_t slot = 0, pc = 0, target = 0;
    if (sonde__sweep_to(walker, function, walker->frame.pc, false, &sweep) != SONDE__SWEEP_FOUND ||
        sweep.depth < 0 || !slot_of(&walker->frame, &sweep, &slot) ||
        !sonde__reader_word(walker->reader, slot, &pc)) {
        return false;
    }
    looker.is_doubtful = true;
    looker.place_start = looker.place_end = 0;
    if (pc == 0 || !is_return_address(walker, &looker, pc, &target)) {
        return false;
    }
    if (target != 0 && target != function) {
        struct sonde__sweep of_call;
        /* a linkage stub, or a tail call on the way */
        if (sonde__sweep_to(walker, entry_of(walker, target), walker->frame.pc, true, &of_call) !=
                SONDE__SWEEP_FOUND ||
            of_call.depth != sweep.depth) {
            return false;
        }
    }
    step_out(walker, &sweep, slot, pc);
    return true;
}

bool sonde__step_by_code(struct sonde__walker *walker, uint64_t function)
{
    if (walker->arch != SONDE__ARCH_X86_64) {
        return false;
    }
    bool is_there = step_by_code(walker, function);
    sonde__walker_ask_anew(walker);
    return is_there;
}
