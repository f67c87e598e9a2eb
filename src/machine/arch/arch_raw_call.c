// SPDX-License-Identifier: Apache-2.0
#include "arch_raw_call.h"

#include "arch_regs.h"
#include "arch_x86_insn.h"
#include "base_bytes.h"
#include "base_mem.h"

/* --- x86-64 --- */

enum { REX_B = 1, REX_R = 4, REX = 0x40 };

static bool is_prefix(uint8_t byte)
{
    static const uint8_t prefixes[] = {0x26, 0x2e, 0x36, 0x3e, 0x64, 0x65,
                                       0x66, 0x67, 0xf0, 0xf2, 0xf3};
    for (unsigned i = 0; i < sizeof prefixes; i++) {
        if (byte == prefixes[i]) {
            return true;
        }
    }
    return false;
}

/* May a one-byte opcode with ModRM write the register field's register, or the other operand? */
static bool writes_reg(uint8_t opcode)
{
    return (opcode < 0x40 && (opcode & 6) == 2) || opcode == 0x63 || opcode == 0x69 ||
           opcode == 0x6b || (opcode & 0xfc) == 0x84 || opcode == 0x8a || opcode == 0x8b ||
           opcode == 0x8d;
}

static bool writes_other(uint8_t opcode)
{
    return (opcode < 0x40 && (opcode & 6) == 0) || (opcode & 0xfc) == 0x80 || opcode == 0x86 ||
           opcode == 0x87 || opcode == 0x88 || opcode == 0x89 || opcode == 0x8c || opcode == 0x8f ||
           opcode == 0xc0 || opcode == 0xc1 || opcode == 0xc6 || opcode == 0xc7 ||
           (opcode & 0xfc) == 0xd0 || opcode >= 0xf6;
}

/* Track eax over an instruction that is neither a call nor a jump. */
static void follow_x86(struct sonde__raw_call *state, const uint8_t *code, uint8_t length)
{
    uint8_t at = 0, rex = 0;
    bool is_narrow = false; /* 16 bits: keeps the upper half */
    for (; at < length && is_prefix(code[at]); at++) {
        is_narrow |= code[at] == 0x66;
    }
    if (at < length && (code[at] & 0xf0) == REX) {
        rex = code[at++];
    }
    if (at >= length) {
        return;
    }
    uint8_t opcode = code[at++], operands = at < length ? code[at] : 0;
    bool reg_is_a = (operands >> 3 & 7) == 0 && (rex & REX_R) == 0;
    bool other_is_a = operands >> 6 == 3 && (operands & 7) == 0 && (rex & REX_B) == 0;
    if (opcode == 0xb8 && (rex & REX_B) == 0 && !is_narrow && length - at >= 4) {
        *state = (struct sonde__raw_call){true, sonde__base_le32(code + at)};
    } else if (opcode == 0xc7 && other_is_a && !is_narrow && length - at == 5) {
        *state = (struct sonde__raw_call){true, sonde__base_le32(code + at + 1)};
    } else if ((opcode == 0x31 || opcode == 0x33) && reg_is_a && other_is_a && !is_narrow) {
        *state = (struct sonde__raw_call){true, 0};
    } else if (opcode == 0x0f || opcode == 0x62 || opcode == 0xc4 || opcode == 0xc5) {
        /* opcodes of two bytes or more. Common ones that do not write eax: long nop, endbr64, moves
         * of vector registers. Others are taken to write it. */
        if (!(opcode == 0x0f && (operands == 0x1e || operands == 0x1f || operands == 0x28 ||
                                 operands == 0x29 || operands == 0x10 || operands == 0x11 ||
                                 operands == 0x6f || operands == 0x7f || operands == 0xef))) {
            state->is_known = false;
        }
    } else if ((writes_reg(opcode) && reg_is_a) || (writes_other(opcode) && other_is_a) ||
               (opcode < 0x40 && (opcode & 6) == 4) /* eax, immediate */ ||
               (opcode == 0x58 && (rex & REX_B) == 0) ||
               (opcode >= 0x90 && opcode <= 0x99 && opcode != 0x90) ||
               (opcode >= 0xa0 && opcode <= 0xaf && opcode != 0xa8 && opcode != 0xa9) ||
               (opcode == 0xb0 && (rex & REX_B) == 0) || opcode == 0xb4 ||
               (opcode == 0xb8 && (rex & REX_B) == 0) || (opcode >= 0xe4 && opcode <= 0xed) ||
               (opcode >= 0xf6 && opcode <= 0xf7) /* may multiply */) {
        state->is_known = false;
    }
}

static bool step_x86(struct sonde__raw_call *state, const uint8_t *code, size_t size,
                     uint8_t *ret_length, struct sonde__raw_call *ret_call)
{
    struct sonde__x86_insn insn;
    if (!sonde__arch_x86_insn(code, size, &insn)) {
        *ret_length = 0;
        state->is_known = false;
        return false;
    }
    *ret_length = insn.length;
    switch (insn.kind) {
    case SONDE__X86_SYSCALL:
        *ret_call = *state;
        state->is_known = false; /* the result */
        return true;
    case SONDE__X86_OTHER:
    case SONDE__X86_POP:
        follow_x86(state, code, insn.length);
        return false;
    case SONDE__X86_CALL:
    case SONDE__X86_CALL_INDIRECT:
    case SONDE__X86_JUMP:
    case SONDE__X86_JUMP_INDIRECT:
    case SONDE__X86_RETURN:
    case SONDE__X86_STOP:
        state->is_known = false;
        return false;
    default:
        return false;
    }
}

/* --- aarch64 --- */

enum { SVC_0 = 0xd4000001, NUMBER_REG = 8 };

static bool step_aarch64(struct sonde__raw_call *state, const uint8_t *code, size_t size,
                         uint8_t *ret_length, struct sonde__raw_call *ret_call)
{
    if (size < 4) {
        *ret_length = 0;
        return false;
    }
    uint32_t word = sonde__base_le32(code);
    *ret_length = 4;
    if (word == SVC_0) {
        *ret_call = *state; /* the kernel preserves x8 */
        return true;
    }
    if ((word & 0x7fe0001fu) == (0x52800000u | NUMBER_REG)) { /* movz w8 or x8, no shift */
        *state = (struct sonde__raw_call){true, word >> 5 & 0xffff};
    } else if ((word & 0x7c000000u) == 0x14000000u || /* b, bl */
               (word & 0xfe000000u) == 0xd6000000u || /* br, blr, ret */
               (word & 0x1f) == NUMBER_REG ||         /* most instructions that write it */
               (word >> 10 & 0x1f) == NUMBER_REG ||   /* the second of a pair */
               ((word & 0x3b200c00u) == 0x38000400u && (word >> 5 & 0x1f) == NUMBER_REG)) {
        state->is_known = false;
    }
    return false;
}

bool sonde__arch_raw_call(struct sonde__raw_call *state, unsigned arch, const uint8_t *code,
                          size_t size, uint8_t *ret_length, struct sonde__raw_call *ret_call)
{
    return arch == SONDE_ARCH_X86_64 ? step_x86(state, code, size, ret_length, ret_call)
                                     : step_aarch64(state, code, size, ret_length, ret_call);
}
