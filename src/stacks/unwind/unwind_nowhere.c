// SPDX-License-Identifier: Apache-2.0
/* Steps from a pc that is not code: after a call or jump through a null, wild or stale pointer, or
 * a return to an overwritten address.
 *
 * After a call, nothing has run since: the return address is the word at sp (x86-64) or in lr
 * (aarch64), and the other registers are the caller's. After a jump in place of a return (a tail
 * call), the same word leads to the caller's caller. After a return to an overwritten address there
 * is no such word. So the word counts only if a call ends where it points. The frame pointer is no
 * help: it is the caller's own, and a step by it would skip the caller. Context: handler. */
#include "unwind_step.h"

/* Nothing is mapped below it (vm.mmap_min_addr), on either architecture. */
enum { FIRST_PAGE_BYTES = 4096 };

/* x86-64's page of old system calls (vsyscall), executable in each map. The kernel acts for a
 * call there and runs none of its bytes: the return address stays at sp. */
static const uint64_t VSYSCALL_START = 0xffffffffff600000, VSYSCALL_BYTES = 4096;

bool sonde__step_is_nowhere(struct sonde__walker *walker)
{
    const struct sonde__walk *walk = walker->walk;
    uint64_t pc = sonde__frame_lookup_pc(&walker->frame);
    uint64_t start = 0, end = 0;
    if (pc < FIRST_PAGE_BYTES ||
        (walker->arch == SONDE_ARCH_X86_64 && pc - VSYSCALL_START < VSYSCALL_BYTES)) {
        return true;
    }
    sonde__walker_locate(walker, pc);
    const struct sonde__image *image = walker->image;
    if (image == NULL ? walker->is_executable : image->is_permanent) {
        return false;
    }
    if (walk->find_code == NULL) {
        return image == NULL &&
               (walk->may_be_code == NULL || !walk->may_be_code(walk->code_ctx, pc));
    }
    /* an image in the loader's list has data, too; an empty range: unknown */
    return !walk->find_code(walk->code_ctx, pc, &start, &end) && start < end;
}

bool sonde__walker_is_behind_call(struct sonde__walker *walker, uint64_t pc)
{
    struct sonde__walker looker = *walker;
    uint64_t target = 0;
    looker.is_doubtful = true; /* it may be a leftover */
    sonde__walker_ask_anew(&looker);
    bool is_call = pc > 8 && sonde__walker_is_return_address(walker, &looker, pc, &target);
    sonde__walker_ask_anew(walker); /* the look-up may have replaced the walker's image */
    return is_call;
}

enum sonde__step sonde__step_from_nowhere(struct sonde__walker *walker)
{
    struct sonde__frame *frame = &walker->frame;
    bool is_x86 = walker->arch == SONDE_ARCH_X86_64;
    uint64_t pc = 0;
    bool is_there = frame->exact &&
                    (is_x86 ? sonde__reader_word(walker->reader, frame->sp, &pc) : frame->lr_known);
    pc = is_x86 ? pc : sonde__arch_strip_pac(walker->arch, frame->lr);
    if (!is_there || pc == frame->pc || !sonde__walker_is_behind_call(walker, pc)) {
        return sonde__step_end(walker, SONDE_END_NO_CODE, frame->pc);
    }
    frame->pc = pc;
    frame->sp += is_x86 ? 8 : 0;
    frame->lr_known = false;
    frame->exact = false;
    frame->found = is_x86 ? SONDE_FOUND_INFERRED : SONDE_FOUND_LR;
    return SONDE__STEP_ON;
}
