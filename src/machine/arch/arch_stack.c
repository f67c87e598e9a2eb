// SPDX-License-Identifier: Apache-2.0
#include "arch_stack.h"

#include "arch_regs.h"
#include "arch_x86_insn.h"
#include "base_bytes.h"

/* --- x86-64 --- */

enum { X86_RBP = 5 };

static bool effect_x86(const uint8_t *code, size_t size, struct sonde__stack_effect *effect)
{
    struct sonde__x86_insn insn;
    if (!sonde__arch_x86_insn(code, size, &insn)) {
        return false;
    }
    switch (insn.kind) {
    case SONDE__X86_PUSH:
        effect->kind = SONDE__STACK_MOVED;
        effect->value = -8;
        break;
    case SONDE__X86_POP:
        effect->kind = SONDE__STACK_MOVED;
        effect->value = 8;
        effect->loses_fp = insn.reg == X86_RBP;
        break;
    case SONDE__X86_SP_ADD:
        effect->kind = SONDE__STACK_MOVED;
        effect->value = insn.value;
        break;
    case SONDE__X86_LEAVE: /* rsp = rbp, and a pop of rbp */
        effect->kind = SONDE__STACK_FROM_FP;
        effect->value = 8;
        effect->loses_fp = true;
        break;
    case SONDE__X86_SP_FROM_FP:
        effect->kind = SONDE__STACK_FROM_FP;
        effect->value = insn.value;
        break;
    case SONDE__X86_FP_FROM_SP:
        effect->kind = SONDE__STACK_TO_FP;
        effect->value = insn.value;
        break;
    case SONDE__X86_SP_LOST:
        effect->kind = SONDE__STACK_LOST;
        break;
    default:
        break;
    }
    return true;
}

/* --- aarch64 --- */

enum { SP = 31, FP = 29 };

static int32_t signed_bits(uint32_t word, unsigned low, unsigned bits)
{
    return (int32_t)(word << (32 - low - bits)) >> (32 - bits);
}

/* add, sub: 64 bits, of an immediate */
static void effect_of_sum(uint32_t word, struct sonde__stack_effect *effect)
{
    uint32_t to = word & 31, from = word >> 5 & 31;
    int32_t value = (int32_t)((word >> 10 & 0xfff) << ((word >> 22 & 1) * 12));
    value = (word >> 30 & 1) != 0 ? -value : value;
    if (to == SP) {
        effect->kind = from == SP   ? SONDE__STACK_MOVED
                       : from == FP ? SONDE__STACK_FROM_FP
                                    : SONDE__STACK_LOST;
        effect->value = value;
    } else if (to == FP) {
        effect->kind = from == SP ? SONDE__STACK_TO_FP : SONDE__STACK_KEPT;
        effect->loses_fp = from != SP;
        effect->value = value;
    }
}

/* ldp, stp and the like, in all addressing modes */
static void effect_of_pair(uint32_t word, struct sonde__stack_effect *effect)
{
    bool is_vector = (word >> 26 & 1) != 0, is_load = (word >> 22 & 1) != 0;
    bool moves = (word >> 23 & 1) != 0; /* pre- or post-index */
    unsigned size = word >> 30;         /* of one register */
    unsigned shift = is_vector ? 2 + size : size == 2 ? 3 : size == 0 ? 2 : is_load ? 2 : 4;
    if (moves && (word >> 5 & 31) == SP) {
        effect->kind = SONDE__STACK_MOVED;
        effect->value = signed_bits(word, 15, 7) * (1 << shift);
    }
    effect->loses_fp = is_load && !is_vector && ((word & 31) == FP || (word >> 10 & 31) == FP);
}

/* ldr, str of one register, in all addressing modes */
static void effect_of_single(uint32_t word, struct sonde__stack_effect *effect)
{
    bool is_vector = (word >> 26 & 1) != 0, is_load = (word >> 22 & 3) != 0;
    bool moves = (word & 0x3b200400) == 0x38000400;
    if (moves && (word >> 5 & 31) == SP) {
        effect->kind = SONDE__STACK_MOVED;
        effect->value = signed_bits(word, 12, 9);
    }
    effect->loses_fp = is_load && !is_vector && (word & 31) == FP;
}

static void effect_aarch64(uint32_t word, struct sonde__stack_effect *effect)
{
    uint32_t to = word & 31;
    if ((word & 0xbf800000) == 0x91000000) {
        effect_of_sum(word, effect);
    } else if ((word & 0x3a000000) == 0x28000000) {
        effect_of_pair(word, effect);
    } else if ((word & 0x3a000000) == 0x38000000) {
        effect_of_single(word, effect);
    } else if ((word & 0x1f800000) == 0x12000000 || (word & 0x1fe00000) == 0x0b200000) {
        /* and, orr, eor of an immediate; add, sub of an extended register: 31 is sp, unless the
         * instruction sets flags */
        bool sets_flags =
            (word & 0x1f800000) == 0x12000000 ? (word >> 29 & 3) == 3 : (word >> 29 & 1) != 0;
        effect->kind = to == SP && !sets_flags ? SONDE__STACK_LOST : SONDE__STACK_KEPT;
        effect->loses_fp = to == FP;
    } else if ((word & 0x1c000000) == 0x10000000 || (word & 0x0e000000) == 0x0a000000) {
        effect->loses_fp = to == FP; /* other data processing: 31 is zero */
    }
}

bool sonde__arch_stack_effect(unsigned arch, const uint8_t *code, size_t size,
                              struct sonde__stack_effect *ret_effect)
{
    struct sonde__stack_effect effect = {.kind = SONDE__STACK_KEPT};
    if (arch == SONDE_ARCH_X86_64) {
        if (!effect_x86(code, size, &effect)) {
            return false;
        }
    } else {
        if (size < 4) {
            return false;
        }
        effect_aarch64(sonde__base_le32(code), &effect);
    }
    *ret_effect = effect;
    return true;
}
