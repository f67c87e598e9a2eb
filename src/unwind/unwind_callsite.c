// SPDX-License-Identifier: Apache-2.0
/* The caller of the innermost frame where its call frame information is missing (start-up code, the
 * instructions around clone's system call) or proves wrong (libc's assembler for long numbers
 * pushes without saying so), by the call itself (x86-64).
 *
 * The return address stands at sp, or above what the function has pushed. A word there counts when
 * it follows a direct call to this very function: leftovers of earlier calls in so few words would
 * have to be of a call to the same function. Where the function's record ends in front of the pc,
 * the call must go to what it describes; where there is none, unwind_scan.c reads the code. Any
 * other call (an indirect one, or one of a function that jumped here) is believed there only next
 * to sp, where the ABI's alignment of the stack puts a return address, and when call frame
 * information leads on to the thread's entry. */
#include "unwind_step.h"

/* Words looked at: what assembler saves, and a little more. */
#define WORDS_MAX 16

/* A function without a record is not longer than that, as far as we guess (bytes). */
#define REACH 4096

/* Registers that a prologue pushes, at most. */
#define PUSHES_MAX 8

struct site {
    struct sonde__walker *walker;
    uint64_t function; /* its first instruction; 0: no record says */
};

/* May a direct call to `target` have entered the function that the frame is in? */
static bool is_entry(const struct site *site, uint64_t target)
{
    struct sonde__walker *walker = site->walker;
    uint64_t pc = walker->frame.pc;
    uint64_t start = 0;
    uint64_t end = 0;
    if (site->function != 0) {
        return target == site->function;
    }
    sonde__walker_ask_anew(walker);
    sonde__walker_locate(walker, pc);
    if (target > pc || pc - target > REACH || target < walker->place_start) {
        return false;
    }
    /* the record of the same function, which ends right in front of the pc */
    return walker->image != NULL &&
           sonde__cfi_fde_bounds(&walker->image->cfi, walker->arch, target - walker->image->bias,
                                 &start, &end) &&
           pc - walker->image->bias - end < 64;
}

/* Which of the function's pushes saves the frame pointer, from 1; 0: none does. */
static unsigned push_of_fp(const struct sonde__walker *walker, uint64_t function)
{
    uint8_t code[16];
    unsigned at = 0;
    if (!sonde__walker_read(walker, function, code, sizeof code)) {
        return 0;
    }
    if (code[0] == 0xf3 && code[1] == 0x0f && code[2] == 0x1e && code[3] == 0xfa) { /* endbr64 */
        at = 4;
    }
    for (unsigned push = 1; push <= PUSHES_MAX && at + 1 < sizeof code; push++) {
        if (code[at] == 0x55) {
            return push;
        }
        at += code[at] == 0x41; /* r8 to r15 */
        if ((code[at] & 0xf8) != 0x50) {
            return 0;
        }
        at++;
    }
    return 0;
}

/* Stand at the caller, whose return address is word `index` from sp. function: 0 when not known */
static void stand_at(struct sonde__walker *walker, uint64_t pc, unsigned index, uint64_t function)
{
    struct sonde__frame *frame = &walker->frame;
    unsigned push = index > 0 && function != 0 ? push_of_fp(walker, function) : 0;
    uint64_t at = frame->sp + 8 * ((uint64_t)index - push);
    if (push > 0 && push <= index) { /* not popped yet */
        frame->fp_known = sonde__reader_word(walker->reader, at, &frame->fp);
        frame->fp = sonde__strip_fp_tag(frame->fp);
    }
    frame->pc = pc;
    frame->sp += 8 * (uint64_t)index + 8;
    frame->exact = false;
    frame->found = SONDE_FOUND_INFERRED;
}

/* Is word `index` the return address? Then the walker stands at the caller. */
static bool try_word(const struct site *site, unsigned index)
{
    struct sonde__walker *walker = site->walker;
    struct sonde__walker trial = *walker;
    uint8_t code[8];
    uint64_t pc = 0;
    uint64_t target = 0;
    uint64_t slot = walker->frame.sp + 8 * (uint64_t)index;
    sonde__walker_ask_anew(&trial);
    if (!sonde__reader_word(walker->reader, slot, &pc)) {
        return false;
    }
    sonde__walker_locate(&trial, pc - 1);
    if (!trial.is_executable || !sonde__walker_read(walker, pc - sizeof code, code, sizeof code) ||
        !sonde__arch_is_call_before(walker->arch, pc, code, sizeof code, &target)) {
        return false;
    }
    bool is_named = target != 0 && is_entry(site, target);
    if (target != 0 && !is_named) {
        target = sonde__walker_through_stub(walker, target);
        is_named = is_entry(site, target);
    }
    if (!is_named && (site->function != 0 || index > 1 || (slot & 15) != 8)) {
        return false;
    }
    stand_at(&trial, pc, index, is_named ? target : 0);
    if (!is_named && !sonde__walker_reaches_root(&trial)) {
        return false;
    }
    *walker = trial;
    return true;
}

bool sonde__step_by_call(struct sonde__walker *walker)
{
    struct site site = {.walker = walker};
    uint64_t start = 0;
    uint64_t end = 0;
    uint64_t pc = walker->frame.pc;
    if (walker->arch != SONDE__ARCH_X86_64 || !walker->frame.exact || walker->is_proof) {
        return false;
    }
    sonde__walker_locate(walker, pc);
    if (walker->image != NULL && sonde__cfi_fde_bounds(&walker->image->cfi, walker->arch,
                                                       pc - walker->image->bias, &start, &end)) {
        site.function = start + walker->image->bias;
    }
    bool found = false;
    for (unsigned index = 0; index < WORDS_MAX && !found; index++) {
        found = try_word(&site, index);
    }
    sonde__walker_ask_anew(walker);
    return found;
}
