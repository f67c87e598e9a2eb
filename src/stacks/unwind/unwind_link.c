// SPDX-License-Identifier: Apache-2.0
/* Finds the caller of the innermost frame in code without call frame information, by the link
 * register (aarch64).
 *
 * A linkage stub never changes lr. Other code without a record (start-up code) may have made
 * calls: then lr points into the function itself. So lr is the return address in two cases: it
 * follows a call and points into code that has a record, which this function has not; or that
 * call went to a place at most REACH before the pc, and lr is not within REACH behind that
 * place. The function may have pushed a little already: the walk takes the distance from which
 * call frame information leads to the thread's entry. */
#include "arch_plt.h"
#include "unwind_step.h"

/* Assumed maximum length of a function without a record (bytes). */
#define REACH 4096

/* Most bytes that the function may have pushed: a frame record and a pair of registers. */
#define PUSHED_MAX 32

static enum sonde__stub_place stub_place(const struct sonde__walker *walker)
{
    uint8_t code[SONDE__STUB_BYTES];
    return sonde__walker_read(walker, walker->frame.pc - SONDE__STUB_BEFORE, code, sizeof code)
               ? sonde__arch_aarch64_stub_place(code)
               : SONDE__STUB_NONE;
}

/* Has the code at `pc` call frame information? lr may be a leftover and point into an image that
 * is going away: look it up as doubtful, and prefer the image's table. */
static bool has_record(struct sonde__walker *walker, uint64_t pc)
{
    bool is_doubtful = walker->is_doubtful;
    uint64_t start = 0, end = 0;
    sonde__walker_ask_anew(walker);
    walker->is_doubtful = true;
    sonde__walker_locate(walker, pc);
    walker->is_doubtful = is_doubtful;
    const struct sonde__image *image = walker->image;
    if (image == NULL) {
        return false;
    }
    if (image->rules != NULL &&
        sonde__table_find(image->rules, pc - image->bias)->cfa != SONDE__RULE_NONE) {
        return true;
    }
    return sonde__cfi_fde_bounds(&image->cfi, walker->arch, pc - image->bias, &start, &end);
}

/* Is lr the return address of the walker's function? */
static bool is_live(struct sonde__walker *walker, uint64_t pc, uint64_t lr)
{
    uint8_t code[4];
    uint64_t target = 0;
    if (!sonde__walker_read(walker, lr - sizeof code, code, sizeof code) ||
        !sonde__arch_is_call_before(walker->arch, lr, code, sizeof code, &target)) {
        return false;
    }
    bool is_behind = lr > target && lr - target <= REACH;
    return has_record(walker, lr - 1) ||
           (target != 0 && target <= pc && pc - target <= REACH && !is_behind);
}

static void stand_at(struct sonde__walker *walker, uint64_t lr, uint64_t pushed_bytes)
{
    struct sonde__frame *frame = &walker->frame;
    frame->pc = lr;
    frame->sp += pushed_bytes;
    frame->lr_known = false;
    frame->exact = false;
    frame->found = SONDE_FOUND_LR;
}

bool sonde__step_by_link(struct sonde__walker *walker)
{
    uint64_t pc = walker->frame.pc;
    uint64_t lr = sonde__arch_strip_pac(walker->arch, walker->frame.lr);
    if (walker->arch != SONDE_ARCH_AARCH64 || !walker->frame.exact || !walker->frame.lr_known) {
        return false;
    }
    enum sonde__stub_place place = stub_place(walker);
    if (place != SONDE__STUB_NONE) {
        stand_at(walker, lr, place == SONDE__STUB_PUSHED ? 16 : 0);
        return true;
    }
    bool live = is_live(walker, pc, lr);
    sonde__walker_ask_anew(walker);
    if (!live) {
        return false;
    }
    for (uint64_t pushed_bytes = 0; pushed_bytes <= PUSHED_MAX; pushed_bytes += 16) {
        struct sonde__walker trial = *walker;
        stand_at(&trial, lr, pushed_bytes);
        /* or so far that the work is used up: a wrong place leads nowhere */
        if (sonde__walker_reaches_root(&trial) || trial.sweep_left == 0) {
            stand_at(walker, lr, pushed_bytes);
            return true;
        }
    }
    stand_at(walker, lr, 0);
    return true;
}
