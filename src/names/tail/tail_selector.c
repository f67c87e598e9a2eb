// SPDX-License-Identifier: Apache-2.0
#include "tail_selector.h"

#include <stdbool.h>

#include <sonde/arch.h>

#include "arch_flow.h"
#include "arch_plt.h"
#include "base_bytes.h"

/* Instructions that are searched before the message. */
enum { BACK_MAX = 24, X86_BYTES_MAX = 15, RSI = 6 };

static bool is_set(const uint8_t *map, uint32_t at)
{
    return (map[at >> 3] >> (at & 7) & 1) != 0;
}

/* Go back one instruction of the same run. False: the run begins here. */
static bool go_back_one(const struct tail_flow *f, uint32_t *at, struct sonde__flow *ret_flow)
{
    uint32_t before = *at;
    if (is_set(f->targets, *at)) {
        return false;
    }
    do {
        if (before == 0 || *at - before == X86_BYTES_MAX) {
            return false;
        }
        before--;
    } while (!is_set(f->starts, before));
    if (!sonde__arch_flow(f->arch, f->vaddr + before, f->code + before, *at - before, ret_flow) ||
        before + ret_flow->length != *at) {
        return false;
    }
    *at = before;
    return true;
}

/* Go back to an instruction that may change registers: over branches that were not taken. False:
 * the run begins before. */
static bool go_back(const struct tail_flow *f, uint32_t *at)
{
    struct sonde__flow flow;
    unsigned branches = 0;
    while (go_back_one(f, at, &flow)) {
        if (flow.kind != SONDE__FLOW_BRANCH) {
            return flow.kind == SONDE__FLOW_ON;
        }
        if (++branches == BACK_MAX) {
            return false;
        }
    }
    return false;
}

/* --- AArch64 --- */

/* The word that the load at `at` reads: an adrp before it gives the page. */
static uint64_t word_of(const struct tail_flow *f, uint32_t at)
{
    uint32_t load = sonde__base_le32(f->code + at);
    unsigned reg = load >> 5 & 31;
    for (unsigned i = 0; i < BACK_MAX && go_back(f, &at); i++) {
        uint32_t word = sonde__base_le32(f->code + at);
        if ((word & 0x9f00001f) == (0x90000000 | reg)) {
            return sonde__arch_aarch64_cell(word, load, f->vaddr + at, reg, 1);
        }
        if ((word & 31) == reg) {
            return 0; /* it may change the register */
        }
    }
    return 0;
}

/* adrp xN, page; ... ldr x1, [xN, offset], or ldr x1, place. Each instruction that has register 1
 * where most have their result ends the search. */
static uint64_t selector_aarch64(const struct tail_flow *f, uint32_t at)
{
    for (unsigned i = 0; i < BACK_MAX && go_back(f, &at); i++) {
        uint32_t word = sonde__base_le32(f->code + at);
        if ((word & 0xffc0001f) == 0xf9400001) {
            return word_of(f, at);
        }
        if ((word & 0xff00001f) == 0x58000001) {
            int64_t words = (int64_t)(word >> 5 & 0x7ffff);
            words = (words ^ 0x40000) - 0x40000;
            return f->vaddr + at + (uint64_t)(words * 4);
        }
        bool is_pair = (word & 0x3a000000) == 0x28000000;
        if ((word & 31) == 1 || (is_pair && (word >> 10 & 31) == 1)) {
            return 0;
        }
    }
    return 0;
}

/* --- x86-64 --- */

/* Does an instruction of a common form leave rsi as it is? False: it changes it, or is another. */
static bool keeps_rsi(const uint8_t *code)
{
    uint8_t rex = (code[0] & 0xf0) == 0x40 ? *code++ : 0;
    uint8_t op = code[0], modrm = code[1];
    unsigned reg = (modrm >> 3 & 7) | (rex & 4u) << 1, rm = (modrm & 7) | (rex & 1u) << 3;
    unsigned low = (op & 7) | (rex & 1u) << 3;
    switch (op) {
    case 0x01: /* add, sub, xor, cmp, test, mov to a register or memory */
    case 0x29:
    case 0x31:
    case 0x39:
    case 0x85:
    case 0x89:
    case 0x81: /* with a constant */
    case 0x83:
    case 0xc7:
    case 0xff: /* inc */
        return modrm >> 6 != 3 || rm != RSI;
    case 0x63: /* movslq, mov, lea to a register */
    case 0x8b:
    case 0x8d:
        return reg != RSI;
    default: /* push, pop, mov of a constant */
        return ((op & 0xf0) == 0x50 || (op & 0xf8) == 0xb8) && low != RSI;
    }
}

/* mov place(%rip), %rsi */
static uint64_t selector_x86_64(const struct tail_flow *f, uint32_t at)
{
    for (unsigned i = 0; i < BACK_MAX && go_back(f, &at); i++) {
        const uint8_t *code = f->code + at;
        if (code[0] == 0x48 && code[1] == 0x8b && code[2] == 0x35) {
            int32_t offset = (int32_t)sonde__base_le32(code + 3);
            return f->vaddr + at + 7 + (uint64_t)(int64_t)offset;
        }
        if (!keeps_rsi(code)) {
            return 0;
        }
    }
    return 0;
}

uint64_t tail_selector(const struct tail_flow *flow, uint32_t at)
{
    return flow->arch == SONDE_ARCH_AARCH64 ? selector_aarch64(flow, at)
                                            : selector_x86_64(flow, at);
}
