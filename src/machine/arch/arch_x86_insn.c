// SPDX-License-Identifier: Apache-2.0
#include "arch_x86_insn.h"

enum { RSP = 4, RBP = 5 };

/* Arithmetic on rsp by an immediate. */
static void classify_group(const struct sonde__x86_form *f, struct sonde__x86_insn *insn)
{
    unsigned group = sonde__x86_group(f);
    if (group == 7) {
        return; /* cmp */
    }
    insn->kind = group == 0 || group == 5 ? SONDE__X86_SP_ADD : SONDE__X86_SP_LOST;
    insn->value = group == 5 ? -(int32_t)f->immediate : (int32_t)f->immediate;
    if (!sonde__x86_is_wide(f) || (int32_t)f->immediate == INT32_MIN) {
        insn->kind = SONDE__X86_SP_LOST;
    }
}

/* lea disp(base), reg where reg is rsp or rbp. */
static void classify_lea(const struct sonde__x86_form *f, unsigned reg,
                         struct sonde__x86_insn *insn)
{
    unsigned mod = f->modrm >> 6, rm = sonde__x86_rm(f);
    bool from_sp = mod != 3 && rm == 4 && f->sib == 0x24;
    bool from_fp = (mod == 1 || mod == 2) && rm == 5;
    insn->value = f->displacement;
    if (reg == RSP) {
        insn->kind = !sonde__x86_is_wide(f) ? SONDE__X86_SP_LOST
                     : from_sp              ? SONDE__X86_SP_ADD
                     : from_fp              ? SONDE__X86_SP_FROM_FP
                                            : SONDE__X86_SP_LOST;
    } else if (from_sp && sonde__x86_is_wide(f)) {
        insn->kind = SONDE__X86_FP_FROM_SP;
    }
}

/* mov and arithmetic between registers where one of them is rsp or rbp. */
static void classify_move(const struct sonde__x86_form *f, struct sonde__x86_insn *insn)
{
    bool is_store = (f->opcode & 2) == 0; /* register to operand */
    bool is_mov = f->opcode == 0x89 || f->opcode == 0x8b;
    unsigned rm = sonde__x86_rm(f), reg = sonde__x86_reg(f);
    unsigned to = is_store ? rm : reg, from = is_store ? reg : rm;
    if (f->modrm >> 6 != 3) {
        if (!is_store && to == RSP) {
            insn->kind = SONDE__X86_SP_LOST;
        }
        return;
    }
    if (to == RSP) {
        insn->kind = is_mov && from == RBP && sonde__x86_is_wide(f) ? SONDE__X86_SP_FROM_FP
                                                                    : SONDE__X86_SP_LOST;
    } else if (to == RBP && from == RSP && is_mov && sonde__x86_is_wide(f)) {
        insn->kind = SONDE__X86_FP_FROM_SP;
    }
}

/* Opcode 0xff, by ModRM's middle bits: inc, dec, call, call far, jmp, jmp far, push. */
static void classify_ff(const struct sonde__x86_form *f, bool is_rsp, struct sonde__x86_insn *insn)
{
    static const uint8_t kinds[8] = {
        SONDE__X86_OTHER,         SONDE__X86_OTHER,         SONDE__X86_CALL_INDIRECT,
        SONDE__X86_CALL_INDIRECT, SONDE__X86_JUMP_INDIRECT, SONDE__X86_JUMP_INDIRECT,
        SONDE__X86_PUSH,          SONDE__X86_OTHER,
    };
    unsigned group = sonde__x86_group(f);
    insn->kind = group < 2 && is_rsp ? SONDE__X86_SP_LOST : kinds[group];
    if ((group == 2 || group == 4) && (f->modrm & 0xc7) == 5) {
        insn->reg = SONDE__X86_REG_NEXT;
        insn->value = f->displacement;
    }
}

/* The kind of a control flow opcode. */
static unsigned control_of(uint8_t op)
{
    switch (op) {
    case 0xc2:
    case 0xc3:
    case 0xca:
    case 0xcb:
    case 0xcf:
        return SONDE__X86_RETURN;
    case 0xcc:
    case 0xf4:
        return SONDE__X86_STOP;
    case 0xe0:
    case 0xe1:
    case 0xe2:
    case 0xe3:
        return SONDE__X86_BRANCH;
    case 0xe8:
        return SONDE__X86_CALL;
    case 0xe9:
    case 0xeb:
        return SONDE__X86_JUMP;
    default:
        return op >= 0x70 && op <= 0x7f ? SONDE__X86_BRANCH : SONDE__X86_OTHER;
    }
}

static void classify_push_pop(const struct sonde__x86_form *f, struct sonde__x86_insn *insn)
{
    insn->kind = f->opcode < 0x58 ? SONDE__X86_PUSH : SONDE__X86_POP;
    insn->reg = (uint8_t)sonde__x86_opcode_reg(f);
    if (f->is_16 || (insn->kind == SONDE__X86_POP && insn->reg == RSP)) {
        insn->kind = SONDE__X86_SP_LOST;
    }
}

/* One-byte opcodes that move rsp or rbp. */
static void classify_stack(const struct sonde__x86_form *f, struct sonde__x86_insn *insn)
{
    uint8_t op = f->opcode;
    bool is_rsp = f->modrm >> 6 == 3 && sonde__x86_rm(f) == RSP;
    bool is_lost = false;
    switch (op) {
    case 0x68:
    case 0x6a:
    case 0x9c:
        insn->kind = SONDE__X86_PUSH;
        break;
    case 0x9d:
        insn->kind = SONDE__X86_POP;
        break;
    case 0x8f:
        insn->kind = SONDE__X86_POP;
        is_lost = is_rsp;
        break;
    case 0x81:
    case 0x83:
        if (is_rsp) {
            classify_group(f, insn);
        }
        break;
    case 0x63:
    case 0x89:
    case 0x8b:
        classify_move(f, insn);
        break;
    case 0x87: /* xchg */
        is_lost = is_rsp || sonde__x86_reg(f) == RSP;
        break;
    case 0x94:
    case 0xbc:
        is_lost = sonde__x86_opcode_reg(f) == RSP;
        break;
    case 0x8d:
        if (sonde__x86_reg(f) == RSP || sonde__x86_reg(f) == RBP) {
            classify_lea(f, sonde__x86_reg(f), insn);
        }
        break;
    case 0xc7:
        is_lost = is_rsp;
        break;
    case 0xc8: /* enter */
        is_lost = true;
        break;
    case 0xc9:
        insn->kind = SONDE__X86_LEAVE;
        break;
    case 0xff:
        classify_ff(f, is_rsp, insn);
        break;
    default:
        break;
    }
    if (is_lost) {
        insn->kind = SONDE__X86_SP_LOST;
    }
}

static void classify_one(const struct sonde__x86_form *f, struct sonde__x86_insn *insn)
{
    uint8_t op = f->opcode;
    bool is_arithmetic = op < 0x38 && ((op & 7) == 1 || (op & 7) == 3); /* of full registers */
    insn->kind = (uint8_t)control_of(op);
    if (insn->kind != SONDE__X86_OTHER) {
        insn->value = insn->kind == SONDE__X86_RETURN || insn->kind == SONDE__X86_STOP
                          ? 0
                          : (int32_t)f->immediate;
    } else if (op >= 0x50 && op <= 0x5f) {
        classify_push_pop(f, insn);
    } else if (is_arithmetic) {
        classify_move(f, insn);
    } else {
        classify_stack(f, insn);
    }
}

static void classify_0f(const struct sonde__x86_form *f, struct sonde__x86_insn *insn)
{
    uint8_t op = f->opcode;
    if (op >= 0x80 && op <= 0x8f) {
        insn->kind = SONDE__X86_BRANCH;
        insn->value = (int32_t)f->immediate;
    } else if (op == 0x05) {
        insn->kind = SONDE__X86_SYSCALL;
    } else if (op == 0x0b || op == 0xb9 || op == 0xff) {
        insn->kind = SONDE__X86_STOP; /* ud2, ud1, ud0 */
    } else if (op == 0xa0 || op == 0xa8) {
        insn->kind = SONDE__X86_PUSH;
    } else if (op == 0xa1 || op == 0xa9) {
        insn->kind = SONDE__X86_POP;
    } else if (op >= 0x40 && op <= 0x4f && sonde__x86_reg(f) == RSP) {
        insn->kind = SONDE__X86_SP_LOST; /* cmov */
    }
}

bool sonde__arch_x86_insn(const uint8_t *code, size_t size, struct sonde__x86_insn *ret_insn)
{
    struct sonde__x86_form f;
    struct sonde__x86_insn insn = {.kind = SONDE__X86_OTHER, .reg = SONDE__X86_NO_REG};
    if (!sonde__arch_x86_form(code, size, &f)) {
        return false;
    }
    insn.length = f.length;
    insn.relative_at = f.relative_at;
    if (!f.is_vex && f.map == 0) {
        classify_one(&f, &insn);
    } else if (!f.is_vex && f.map == 1) {
        classify_0f(&f, &insn);
    }
    *ret_insn = insn;
    return true;
}
