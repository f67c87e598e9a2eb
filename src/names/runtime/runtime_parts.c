// SPDX-License-Identifier: Apache-2.0
/* The code of the interpreter's loop.
 *
 * GCC moves code that it takes for cold out of a function. Where an interpreter was built with a
 * profile, that may be most of the loop: in Debian's 3.14 the symbol covers 1,184 bytes, and 84 KB
 * are elsewhere, without a symbol in a stripped file. Each part has an FDE of its own. A function
 * jumps into the middle of no other function: what the loop jumps into, and what jumps back into
 * the loop, is a part of it. (A linkage table is jumped into, too, but does not jump back.) */
#include "arch_flow.h"
#include "image_cfi.h"
#include "runtime_private.h"

enum { PART_MAX = 1 << 20, LONGEST = 16 };

/* Bytes of code that are decoded for one loop: a hostile image has many jumps, each into the middle
 * of a large function. Without the rest, frames stand beside the stack. */
#define WORK_MAX (8ull << 20)

struct loop {
    struct sonde__runtime *runtime;
    const struct sonde__elf *elf;
    struct sonde__cfi cfi;
    uint64_t start, end, bias;
    uint64_t work_left;
    bool is_entered; /* a jump goes into the middle of it */
};

/* Call `each` with the targets of direct jumps in [start, end) until it returns false. */
static void each_jump(struct loop *loop, uint64_t start, uint64_t end,
                      bool (*each)(struct loop *loop, uint64_t target))
{
    struct sonde__flow flow;
    for (uint64_t at = start; at < end && end - start <= PART_MAX; at += flow.length) {
        size_t size = end - at < LONGEST ? (size_t)(end - at) : LONGEST;
        const uint8_t *code = sonde__elf_at_vaddr(loop->elf, at, size);
        if (code == NULL || !sonde__arch_flow(loop->elf->arch, at, code, size, &flow) ||
            loop->work_left < flow.length) {
            return;
        }
        loop->work_left -= flow.length;
        bool is_jump = flow.kind == SONDE__FLOW_JUMP || flow.kind == SONDE__FLOW_BRANCH;
        if (is_jump && !each(loop, flow.target)) {
            return;
        }
    }
}

static bool enters_loop(struct loop *loop, uint64_t target)
{
    loop->is_entered |= target > loop->start && target < loop->end;
    return !loop->is_entered;
}

static bool add_part(struct loop *loop, uint64_t target)
{
    struct sonde__runtime *r = loop->runtime;
    uint64_t start = 0, end = 0;
    if (sonde__runtime_is_loop(r, target + loop->bias) ||
        !sonde__cfi_fde_bounds(&loop->cfi, loop->elf->arch, target, &start, &end) ||
        start == target) {
        return true;
    }
    loop->is_entered = false;
    each_jump(loop, start, end, enters_loop);
    if (loop->is_entered) {
        r->loops[r->loop_count++] =
            (struct sonde__runtime_range){start + loop->bias, end + loop->bias};
    }
    return r->loop_count < SONDE__RUNTIME_LOOPS;
}

void sonde__runtime_add_loop(struct sonde__runtime *runtime, const struct sonde__elf *elf,
                             uint64_t start, uint64_t end, uint64_t bias)
{
    struct loop loop = {.runtime = runtime,
                        .elf = elf,
                        .start = start,
                        .end = end,
                        .bias = bias,
                        .work_left = WORK_MAX};
    runtime->loops[runtime->loop_count++] = (struct sonde__runtime_range){start + bias, end + bias};
    if (sonde__elf_cfi(elf, &loop.cfi)) {
        each_jump(&loop, start, end, add_part);
    }
}
