// SPDX-License-Identifier: Apache-2.0
/* A decoder for the few instructions that stand in prologues: lengths, and what happens to rsp.
 * What it does not know ends the decoding, which at worst leaves a frame unproven. */
#include "arch_prologue.h"

enum { RSP = 4 };

enum operand { NONE, MODRM, MODRM_IMM8, MODRM_IMM32, IMM8, IMM32, IMM64, UNKNOWN };

struct instruction {
    const uint8_t *code; /* at the ModRM byte, or behind the opcode */
    unsigned left;
    uint8_t opcode;
    bool is_0f, is_wide, has_r, has_b;
};

static bool read_opcode(struct instruction *in)
{
    while (in->left > 0 && (*in->code == 0x66 || *in->code == 0xf2 || *in->code == 0xf3 ||
                            *in->code == 0x64 || *in->code == 0x3e)) {
        in->code++;
        in->left--;
    }
    if (in->left > 0 && (*in->code & 0xf0) == 0x40) {
        in->is_wide = (*in->code & 8) != 0;
        in->has_r = (*in->code & 4) != 0;
        in->has_b = (*in->code & 1) != 0;
        in->code++;
        in->left--;
    }
    if (in->left > 1 && *in->code == 0x0f) {
        in->is_0f = true;
        in->code++;
        in->left--;
    }
    if (in->left == 0) {
        return false;
    }
    in->opcode = *in->code++;
    in->left--;
    return true;
}

static enum operand operand_of_0f(uint8_t opcode)
{
    if ((opcode >= 0x40 && opcode <= 0x4f) || (opcode >= 0x90 && opcode <= 0x9f)) {
        return MODRM; /* cmov, set */
    }
    switch (opcode) {
    case 0x10:
    case 0x11:
    case 0x12:
    case 0x13:
    case 0x14:
    case 0x16:
    case 0x17:
    case 0x1e:
    case 0x1f:
    case 0x28:
    case 0x29:
    case 0x2a:
    case 0x54:
    case 0x57:
    case 0x5a:
    case 0x62:
    case 0x6c:
    case 0x6e:
    case 0x6f:
    case 0x7e:
    case 0x7f:
    case 0xaf:
    case 0xb6:
    case 0xb7:
    case 0xbe:
    case 0xbf:
    case 0xd6:
    case 0xef:
        return MODRM;
    case 0x70:
    case 0xc6:
        return MODRM_IMM8;
    default:
        return UNKNOWN;
    }
}

static enum operand operand_of(const struct instruction *in)
{
    uint8_t opcode = in->opcode;
    unsigned group = in->left > 0 ? *in->code >> 3 & 7 : 0;
    if (in->is_0f) {
        return operand_of_0f(opcode);
    }
    if (opcode < 0x40 && (opcode & 7) < 4) {
        return MODRM; /* add or adc sbb and sub xor cmp */
    }
    if (opcode >= 0xb8 && opcode <= 0xbf) {
        return in->is_wide ? IMM64 : IMM32;
    }
    switch (opcode) {
    case 0x63:
    case 0x84:
    case 0x85:
    case 0x86:
    case 0x87:
    case 0x88:
    case 0x89:
    case 0x8a:
    case 0x8b:
    case 0x8d:
    case 0xd1:
    case 0xd3:
        return MODRM;
    case 0x6b:
    case 0x80:
    case 0x83:
    case 0xc0:
    case 0xc1:
    case 0xc6:
        return MODRM_IMM8;
    case 0x69:
    case 0x81:
    case 0xc7:
        return MODRM_IMM32;
    case 0xf6:
        return group < 2 ? MODRM_IMM8 : MODRM;
    case 0xf7:
        return group < 2 ? MODRM_IMM32 : MODRM;
    case 0xff:
        return group < 2 || group == 6 ? MODRM : UNKNOWN; /* the others call and jump */
    case 0x6a:
        return IMM8;
    case 0x68:
        return IMM32;
    case 0x90:
    case 0x98:
    case 0x99:
        return NONE;
    case 0xa8:
        return IMM8;
    case 0xa9:
        return IMM32;
    default:
        return UNKNOWN;
    }
}

/* Of an immediate or of memory: an argument of the call that follows. */
static bool is_push(const struct instruction *in)
{
    return !in->is_0f && (in->opcode == 0x6a || in->opcode == 0x68 ||
                          (in->opcode == 0xff && in->left > 0 && (*in->code >> 3 & 7) == 6));
}

/* Bytes of ModRM, SIB and displacement; 0: they are cut. */
static unsigned modrm_bytes(const struct instruction *in)
{
    unsigned size = 1, mod, rm;
    if (in->left == 0) {
        return 0;
    }
    mod = *in->code >> 6;
    rm = *in->code & 7;
    if (mod != 3 && rm == 4) {
        if (in->left < 2) {
            return 0;
        }
        size = (mod == 0 && (in->code[1] & 7) == 5) ? 6 : 2;
    } else if (mod == 0 && rm == 5) {
        size = 5;
    }
    return size + (mod == 1 ? 1 : mod == 2 ? 4 : 0);
}

static int64_t immediate(const uint8_t *at, unsigned size)
{
    uint32_t value = 0;
    if (size == 1) {
        return (int8_t)at[0];
    }
    for (unsigned i = 4; i > 0; i--) {
        value = value << 8 | at[i - 1];
    }
    return (int32_t)value;
}

/* Does an instruction with a ModRM byte write rsp? Then by how many bytes it moves down. */
static bool moves_rsp(const struct instruction *in, unsigned modrm, unsigned immediate_size,
                      int64_t *bytes, bool *ret_is_known)
{
    bool is_rm = *in->code >> 6 == 3 && (*in->code & 7) == RSP && !in->has_b;
    bool is_reg = (*in->code >> 3 & 7) == RSP && !in->has_r;
    unsigned group = *in->code >> 3 & 7;
    *ret_is_known = true;
    if (in->is_0f) {
        return false;
    }
    if ((in->opcode == 0x81 || in->opcode == 0x83) && is_rm) {
        int64_t value = immediate(in->code + modrm, immediate_size);
        *bytes += group == 5 ? value : group == 0 ? -value : 0;
        *ret_is_known = group == 5 || group == 0 || group == 7; /* sub, add, cmp */
        return true;
    }
    if (in->opcode == 0x8d && is_reg) { /* lea disp(%rsp), %rsp */
        bool is_plain = in->left >= modrm && (*in->code & 0xc7) != 0x04 && modrm >= 3 &&
                        (*in->code & 7) == RSP && in->code[1] == 0x24;
        *ret_is_known = is_plain;
        *bytes -= is_plain ? immediate(in->code + 2, modrm - 2) : 0;
        return true;
    }
    bool is_store = in->opcode == 0x89 || (in->opcode < 0x38 && (in->opcode & 3) == 1);
    bool is_load =
        in->opcode == 0x8b || in->opcode == 0x63 || (in->opcode < 0x38 && (in->opcode & 3) == 3);
    *ret_is_known = !(is_store && is_rm) && !(is_load && is_reg);
    return !*ret_is_known;
}

bool sonde__arch_x86_64_frame_bytes(const uint8_t *code, unsigned size, uint64_t *ret_bytes)
{
    static const uint8_t immediates[] = {
        [MODRM_IMM8] = 1, [MODRM_IMM32] = 4, [IMM8] = 1, [IMM32] = 4, [IMM64] = 8};
    int64_t bytes = 0;
    while (size > 0) {
        struct instruction in = {.code = code, .left = size};
        bool is_known = true;
        if (!read_opcode(&in)) {
            break;
        }
        if (!in.is_0f && in.opcode >= 0x50 && in.opcode <= 0x57) {
            bytes += 8; /* push */
        } else {
            enum operand operand = operand_of(&in);
            bool has_modrm = operand == MODRM || operand == MODRM_IMM8 || operand == MODRM_IMM32;
            unsigned modrm = has_modrm ? modrm_bytes(&in) : 0;
            unsigned extra = operand < UNKNOWN ? immediates[operand] : 0;
            if (is_push(&in)) {
                bytes += 8;
            }
            if (operand == UNKNOWN || (has_modrm && modrm == 0) || modrm + extra > in.left) {
                break;
            }
            if (has_modrm && moves_rsp(&in, modrm, extra, &bytes, &is_known) && !is_known) {
                return false;
            }
            in.code += modrm + extra;
        }
        size -= (unsigned)(in.code - code);
        code = in.code;
    }
    *ret_bytes = (uint64_t)bytes;
    return bytes >= 0;
}
