// SPDX-License-Identifier: Apache-2.0
/* Follows the opcode maps of Intel SDM volume 2, appendix A, for what compilers emit in small
 * functions. Operands are decoded; unknown instructions are refused. */
#include "arch_insn.h"
#include "arch_x86_form.h"

static struct sonde__insn_value in_reg(unsigned reg)
{
    return (struct sonde__insn_value){SONDE__OPERAND_REG, (uint8_t)reg};
}

static const struct sonde__insn_value in_imm = {SONDE__OPERAND_IMM, 0};
static const struct sonde__insn_value in_place = {SONDE__OPERAND_MEM, 0};

/* A general register of `bits`; of 8 bits and without REX, registers 4 to 7 are ah, ch, dh and
 * bh. */
static struct sonde__insn_value general(const struct sonde__x86_form *f, unsigned reg,
                                        unsigned bits)
{
    if (bits == 8 && f->rex == 0 && reg >= 4 && reg < 8) {
        return in_reg(SONDE__INSN_HIGH + reg - 4);
    }
    return in_reg(reg);
}

/* The operand of ModRM's low bits: a register, or the place in memory, which this sets. */
static struct sonde__insn_value operand(const struct sonde__x86_form *f, struct sonde__insn *insn,
                                        unsigned bits, bool is_vector)
{
    unsigned mod = f->modrm >> 6, low = f->modrm & 7, high = f->rex & 1 ? 8 : 0;
    if (mod == 3) {
        return is_vector ? in_reg(SONDE__INSN_VECTOR_FIRST + low + high)
                         : general(f, low + high, bits);
    }
    if (low == 4) {
        unsigned index = (f->sib >> 3 & 7u) + (f->rex & 2 ? 8 : 0);
        low = f->sib & 7;
        if (index != 4) {
            insn->index = (uint8_t)index;
            insn->index_shift = f->sib >> 6;
        }
    }
    insn->base = low == 5 && mod == 0 ? SONDE__INSN_NO_REG : (uint8_t)(low + high);
    insn->offset = f->displacement;
    return in_place;
}

static unsigned width(const struct sonde__x86_form *f, bool is_byte)
{
    return is_byte ? 8 : sonde__x86_is_wide(f) ? 64 : f->is_16 ? 16 : 32;
}

/* add, or, adc, sbb, and, sub, xor, cmp. False: adc and sbb. */
static bool arithmetic(unsigned op, struct sonde__insn *insn)
{
    static const uint8_t ops[8] = {SONDE__INSN_ADD,  SONDE__INSN_OR,  SONDE__INSN_STOP,
                                   SONDE__INSN_STOP, SONDE__INSN_AND, SONDE__INSN_SUB,
                                   SONDE__INSN_XOR,  SONDE__INSN_SUB};
    insn->op = ops[op];
    insn->sets_flags = true;
    insn->a = insn->dst;
    if (op == 7) {
        insn->dst.kind = SONDE__OPERAND_NONE;
    }
    return insn->op != SONDE__INSN_STOP;
}

static bool arithmetic_forms(const struct sonde__x86_form *f, uint8_t op, struct sonde__insn *insn)
{
    unsigned form = op & 7, bits = width(f, (form & 1) == 0);
    insn->bits = (uint8_t)bits;
    if (form >= 4) { /* al or eax, immediate */
        insn->dst = in_reg(0);
        insn->b = in_imm;
        insn->imm = (uint64_t)f->immediate;
    } else {
        struct sonde__insn_value place = operand(f, insn, bits, false);
        struct sonde__insn_value reg = general(f, sonde__x86_reg(f), bits);
        insn->dst = form < 2 ? place : reg;
        insn->b = form < 2 ? reg : place;
    }
    return form < 6 && arithmetic(op >> 3, insn);
}

/* 80, 81, 83: arithmetic with an immediate. */
static bool group_one(const struct sonde__x86_form *f, uint8_t op, struct sonde__insn *insn)
{
    unsigned bits = width(f, op == 0x80);
    insn->bits = (uint8_t)bits;
    insn->dst = operand(f, insn, bits, false);
    insn->b = in_imm;
    insn->imm = (uint64_t)f->immediate;
    return arithmetic(sonde__x86_group(f), insn);
}

static bool shifts(const struct sonde__x86_form *f, uint8_t op, struct sonde__insn *insn)
{
    static const uint8_t ops[8] = {SONDE__INSN_STOP, SONDE__INSN_ROR, SONDE__INSN_STOP,
                                   SONDE__INSN_STOP, SONDE__INSN_SHL, SONDE__INSN_SHR,
                                   SONDE__INSN_SHL,  SONDE__INSN_SAR};
    unsigned bits = width(f, (op & 1) == 0);
    insn->bits = (uint8_t)bits;
    insn->dst = insn->a = operand(f, insn, bits, false);
    insn->op = ops[sonde__x86_group(f)];
    insn->sets_flags = true;
    if (op >= 0xd2) {
        insn->b = in_reg(1); /* cl */
    } else {
        insn->b = in_imm;
        insn->imm = op >= 0xd0 ? 1 : (uint8_t)f->immediate;
    }
    return insn->op != SONDE__INSN_STOP;
}

/* f6, f7: test, not, neg, mul, imul, div, idiv. */
static bool group_three(const struct sonde__x86_form *f, uint8_t op, struct sonde__insn *insn)
{
    unsigned bits = width(f, op == 0xf6), group;
    insn->bits = (uint8_t)bits;
    insn->dst = insn->a = operand(f, insn, bits, false);
    group = sonde__x86_group(f);
    insn->b = in_imm;
    switch (group) {
    case 0:
    case 1:
        insn->op = SONDE__INSN_AND;
        insn->sets_flags = true;
        insn->dst.kind = SONDE__OPERAND_NONE;
        insn->imm = (uint64_t)f->immediate;
        return true;
    case 2: /* not */
        insn->op = SONDE__INSN_XOR;
        insn->imm = UINT64_MAX;
        return true;
    case 3: /* neg: 0 - a */
        insn->op = SONDE__INSN_SUB;
        insn->sets_flags = true;
        insn->b = insn->dst;
        insn->a = in_imm;
        return true;
    default:
        return false;
    }
}

/* fe, ff: inc, dec, call, jmp, push. */
static bool group_five(const struct sonde__x86_form *f, uint8_t op, struct sonde__insn *insn)
{
    unsigned bits = width(f, op == 0xfe), group;
    struct sonde__insn_value value = operand(f, insn, bits, false);
    insn->bits = (uint8_t)bits;
    group = sonde__x86_group(f);
    if (group < 2) {
        insn->op = group == 0 ? SONDE__INSN_ADD : SONDE__INSN_SUB;
        insn->sets_flags = insn->keeps_carry = true;
        insn->dst = insn->a = value;
        insn->b = in_imm;
        insn->imm = 1;
        return true;
    }
    insn->op = group == 2 ? SONDE__INSN_CALL : group == 4 ? SONDE__INSN_JUMP : SONDE__INSN_PUSH;
    insn->a = value;
    insn->bits = 64;
    return op == 0xff && (group == 2 || group == 4 || group == 6);
}

static bool stack(const struct sonde__x86_form *f, uint8_t op, struct sonde__insn *insn)
{
    unsigned reg = sonde__x86_opcode_reg(f);
    insn->op = op < 0x58 ? SONDE__INSN_PUSH : SONDE__INSN_POP;
    if (op < 0x58) {
        insn->a = in_reg(reg);
    } else {
        insn->dst = in_reg(reg);
    }
    return !f->is_16;
}

static bool moves(const struct sonde__x86_form *f, uint8_t op, struct sonde__insn *insn)
{
    unsigned bits = width(f, (op & 1) == 0);
    struct sonde__insn_value place = operand(f, insn, bits, false);
    insn->bits = (uint8_t)bits;
    insn->op = SONDE__INSN_MOVE;
    if (op >= 0xc6) {
        insn->dst = place;
        insn->a = in_imm;
        insn->imm = (uint64_t)f->immediate;
        return sonde__x86_group(f) == 0;
    }
    struct sonde__insn_value reg = general(f, sonde__x86_reg(f), bits);
    insn->dst = op < 0x8a ? place : reg;
    insn->a = op < 0x8a ? reg : place;
    return true;
}

/* Multiplication by an immediate, tests and exchanges. */
static bool two_operands(const struct sonde__x86_form *f, uint8_t op, struct sonde__insn *insn)
{
    bool is_byte = op == 0x84 || op == 0x86 || op == 0xa8;
    unsigned bits = width(f, is_byte);
    insn->bits = (uint8_t)bits;
    insn->sets_flags = op != 0x86 && op != 0x87;
    switch (op) {
    case 0x69:
    case 0x6b:
        insn->op = SONDE__INSN_MUL;
        insn->a = operand(f, insn, bits, false);
        insn->dst = in_reg(sonde__x86_reg(f));
        insn->b = in_imm;
        insn->imm = (uint64_t)f->immediate;
        return true;
    case 0x84:
    case 0x85:
        insn->op = SONDE__INSN_AND;
        insn->a = operand(f, insn, bits, false);
        insn->b = general(f, sonde__x86_reg(f), bits);
        return true;
    case 0x86:
    case 0x87:
        insn->op = SONDE__INSN_EXCHANGE;
        insn->dst = operand(f, insn, bits, false);
        insn->a = general(f, sonde__x86_reg(f), bits);
        return true;
    case 0xa8:
    case 0xa9:
        insn->op = SONDE__INSN_AND;
        insn->a = in_reg(0);
        insn->b = in_imm;
        insn->imm = (uint64_t)f->immediate;
        return true;
    default:
        return false;
    }
}

/* One-byte opcodes except control flow and groups. */
static bool operands(const struct sonde__x86_form *f, uint8_t op, struct sonde__insn *insn)
{
    switch (op) {
    case 0x63: /* movsxd */
        insn->op = SONDE__INSN_MOVE_SIGNED;
        insn->bits = (uint8_t)width(f, false);
        insn->from_bits = 32;
        insn->a = operand(f, insn, 32, false);
        insn->dst = in_reg(sonde__x86_reg(f));
        return true;
    case 0x68:
    case 0x6a:
        insn->op = SONDE__INSN_PUSH;
        insn->a = in_imm;
        insn->imm = (uint64_t)f->immediate;
        return !f->is_16;
    case 0x8d:
        insn->op = SONDE__INSN_ADDRESS;
        insn->bits = (uint8_t)width(f, false);
        insn->a = operand(f, insn, insn->bits, false);
        insn->dst = in_reg(sonde__x86_reg(f));
        return insn->a.kind == SONDE__OPERAND_MEM;
    case 0x8f:
        insn->op = SONDE__INSN_POP;
        insn->dst = operand(f, insn, 64, false);
        return insn->dst.kind == SONDE__OPERAND_REG && sonde__x86_group(f) == 0;
    case 0x98: /* cltq, cwtl */
        insn->op = SONDE__INSN_MOVE_SIGNED;
        insn->bits = (uint8_t)width(f, false);
        insn->from_bits = insn->bits / 2;
        insn->dst = insn->a = in_reg(0);
        return true;
    default:
        return two_operands(f, op, insn);
    }
}

/* Control flow to a relative target. */
static bool control(const struct sonde__x86_form *f, enum sonde__insn_op op, uint8_t cond,
                    struct sonde__insn *insn)
{
    insn->op = (uint8_t)op;
    insn->cond = cond;
    insn->a = in_imm;
    insn->imm = (uint64_t)f->immediate;
    return true;
}

static bool move_immediate(const struct sonde__x86_form *f, uint8_t op, struct sonde__insn *insn)
{
    unsigned bits = width(f, op < 0xb8);
    insn->op = SONDE__INSN_MOVE;
    insn->bits = (uint8_t)bits;
    insn->dst = general(f, sonde__x86_opcode_reg(f), bits);
    insn->a = in_imm;
    insn->imm = (uint64_t)f->immediate;
    return true;
}

static bool one_byte(const struct sonde__x86_form *f, uint8_t op, struct sonde__insn *insn)
{
    if (op < 0x40) {
        return arithmetic_forms(f, op, insn);
    }
    if (op >= 0x50 && op < 0x60) {
        return stack(f, op, insn);
    }
    if (op >= 0x70 && op < 0x80) {
        return control(f, SONDE__INSN_BRANCH, op & 15, insn);
    }
    if (op >= 0xb0 && op < 0xc0) {
        return move_immediate(f, op, insn);
    }
    switch (op) {
    case 0x80:
    case 0x81:
    case 0x83:
        return group_one(f, op, insn);
    case 0x88:
    case 0x89:
    case 0x8a:
    case 0x8b:
    case 0xc6:
    case 0xc7:
        return moves(f, op, insn);
    case 0x90:
        return (f->rex & 1) == 0;
    case 0xc0:
    case 0xc1:
    case 0xd0:
    case 0xd1:
    case 0xd2:
    case 0xd3:
        return shifts(f, op, insn);
    case 0xc3: /* c2 (callee pops arguments) is not used in 64-bit code */
        insn->op = SONDE__INSN_RETURN;
        return true;
    case 0xc9:
        insn->op = SONDE__INSN_LEAVE;
        return true;
    case 0xcc:
    case 0xf4:
        insn->op = SONDE__INSN_STOP;
        return true;
    case 0xe8:
        return control(f, SONDE__INSN_CALL, 0, insn);
    case 0xe9:
        return control(f, SONDE__INSN_JUMP, 0, insn);
    case 0xeb:
        return control(f, SONDE__INSN_JUMP, SONDE__COND_ALWAYS, insn);
    case 0xf6:
    case 0xf7:
        return group_three(f, op, insn);
    case 0xfe:
    case 0xff:
        return group_five(f, op, insn);
    default:
        return operands(f, op, insn);
    }
}

/* Moves of vector registers from or to the ModRM operand. */
static bool vector_move(const struct sonde__x86_form *f, unsigned bits, bool is_store,
                        struct sonde__insn *insn)
{
    struct sonde__insn_value other = operand(f, insn, bits, true);
    struct sonde__insn_value reg = in_reg(SONDE__INSN_VECTOR_FIRST + sonde__x86_reg(f));
    insn->op = SONDE__INSN_MOVE;
    insn->bits = (uint8_t)bits;
    insn->dst = is_store ? other : reg;
    insn->a = is_store ? reg : other;
    if (bits < 128 && other.kind == SONDE__OPERAND_REG && !(f->is_repeat_f3 && bits == 64)) {
        insn->op = SONDE__INSN_VECTOR; /* movss between registers keeps the rest */
    }
    return true;
}

static bool vector_zero(const struct sonde__x86_form *f, struct sonde__insn *insn)
{
    struct sonde__insn_value other = operand(f, insn, 128, true);
    insn->bits = 128;
    insn->dst = in_reg(SONDE__INSN_VECTOR_FIRST + sonde__x86_reg(f));
    insn->op = SONDE__INSN_VECTOR;
    if (other.kind == SONDE__OPERAND_REG && other.reg == insn->dst.reg) {
        insn->op = SONDE__INSN_MOVE;
        insn->a = in_imm;
    }
    return true;
}

static bool vectors(const struct sonde__x86_form *f, uint8_t op, struct sonde__insn *insn)
{
    bool is_wide = sonde__x86_is_wide(f);
    unsigned scalar = f->is_repeat_f3 ? 32 : f->is_repeat_f2 ? 64 : 128;
    switch (op) {
    case 0x10:
    case 0x11:
        return vector_move(f, scalar, op == 0x11, insn);
    case 0x13: /* movlps to memory */
        return scalar == 128 && vector_move(f, 64, true, insn);
    case 0x16: /* movlhps, movhps */
    case 0x6c: /* punpcklqdq */
        insn->op = SONDE__INSN_INSERT;
        insn->bits = 64;
        insn->bit_low = 64;
        insn->dst = in_reg(SONDE__INSN_VECTOR_FIRST + sonde__x86_reg(f));
        insn->a = operand(f, insn, 64, true);
        return op == 0x16 ? scalar == 128 : f->is_16;
    case 0x28:
    case 0x29:
        return scalar == 128 && vector_move(f, 128, op == 0x29, insn);
    case 0x57:
    case 0xef:
        return vector_zero(f, insn);
    case 0x6f:
    case 0x7f:
        return (f->is_16 || f->is_repeat_f3) && vector_move(f, 128, op == 0x7f, insn);
    case 0x7e:
        if (f->is_repeat_f3) {
            return vector_move(f, 64, false, insn);
        }
        /* fall through */
    case 0x6e: {
        unsigned bits = is_wide ? 64 : 32;
        struct sonde__insn_value other = operand(f, insn, bits, false);
        struct sonde__insn_value reg = in_reg(SONDE__INSN_VECTOR_FIRST + sonde__x86_reg(f));
        insn->op = SONDE__INSN_MOVE;
        insn->bits = (uint8_t)bits;
        insn->dst = op == 0x6e ? reg : other;
        insn->a = op == 0x6e ? other : reg;
        return f->is_16;
    }
    case 0xd6:
        return f->is_16 && vector_move(f, 64, true, insn);
    default:
        return false;
    }
}

/* cmpxchg and xadd */
static bool atomics(const struct sonde__x86_form *f, uint8_t op, struct sonde__insn *insn)
{
    unsigned bits = width(f, (op & 1) == 0);
    struct sonde__insn_value place = operand(f, insn, bits, false);
    struct sonde__insn_value reg = general(f, sonde__x86_reg(f), bits);
    insn->bits = (uint8_t)bits;
    insn->sets_flags = true;
    if (op < 0xc0) { /* cmpxchg: compares with rax, which gets the old value */
        insn->op = SONDE__INSN_COMPARE_SWAP;
        insn->dst = insn->a = in_reg(0);
        insn->b = reg;
    } else {
        insn->op = SONDE__INSN_FETCH;
        insn->variant = SONDE__INSN_ADD;
        insn->dst = insn->a = reg;
    }
    return place.kind == SONDE__OPERAND_MEM;
}

/* movzx and movsx */
static bool extensions(const struct sonde__x86_form *f, uint8_t op, struct sonde__insn *insn)
{
    unsigned from = (op & 1) == 0 ? 8 : 16;
    insn->a = operand(f, insn, from, false);
    insn->bits = (uint8_t)width(f, false);
    insn->dst = in_reg(sonde__x86_reg(f));
    insn->op = SONDE__INSN_MOVE_SIGNED;
    insn->variant = op < 0xb8; /* zero extension */
    insn->from_bits = (uint8_t)from;
    return true;
}

/* Conditional: branches, set, cmov. */
static bool conditional(const struct sonde__x86_form *f, uint8_t op, struct sonde__insn *insn)
{
    if (op >= 0x80 && op < 0x90) {
        return control(f, SONDE__INSN_BRANCH, op & 15, insn);
    }
    insn->cond = op & 15;
    if (op >= 0x90) {
        insn->op = SONDE__INSN_SET;
        insn->bits = 8;
        insn->dst = operand(f, insn, 8, false);
        return true;
    }
    insn->op = SONDE__INSN_SELECT;
    insn->bits = (uint8_t)width(f, false);
    insn->a = operand(f, insn, insn->bits, false);
    insn->dst = insn->b = in_reg(sonde__x86_reg(f));
    return true;
}

static bool two_byte(const struct sonde__x86_form *f, uint8_t op, struct sonde__insn *insn)
{
    if ((op >= 0x40 && op < 0x50) || (op >= 0x80 && op < 0xa0)) {
        return conditional(f, op, insn);
    }
    switch (op) {
    case 0x05:
    case 0x0b:
        insn->op = SONDE__INSN_STOP;
        return true;
    case 0x0d: /* prefetch */
    case 0x18:
    case 0x19:
    case 0x1a:
    case 0x1b:
    case 0x1c:
    case 0x1d:
    case 0x1e: /* endbr64 */
    case 0x1f: /* nop */
        return true;
    case 0xaf:
        insn->op = SONDE__INSN_MUL;
        insn->bits = (uint8_t)width(f, false);
        insn->sets_flags = true;
        insn->b = operand(f, insn, insn->bits, false);
        insn->dst = insn->a = in_reg(sonde__x86_reg(f));
        return true;
    case 0xb0:
    case 0xb1:
    case 0xc0:
    case 0xc1:
        return atomics(f, op, insn);
    case 0xb6:
    case 0xb7:
    case 0xbe:
    case 0xbf:
        return extensions(f, op, insn);
    default:
        return vectors(f, op, insn);
    }
}

bool sonde__arch_insn_x86(uint64_t pc, const uint8_t *code, size_t size, struct sonde__insn *insn)
{
    struct sonde__x86_form f;
    if (!sonde__arch_x86_form(code, size, &f) || f.is_vex || f.map > 1) {
        return false;
    }
    insn->length = f.length;
    insn->segment = f.segment;
    if (!(f.map == 1 ? two_byte : one_byte)(&f, f.opcode, insn)) {
        return false;
    }
    bool is_jump = insn->op == SONDE__INSN_CALL || insn->op == SONDE__INSN_JUMP;
    bool is_direct =
        insn->a.kind == SONDE__OPERAND_IMM && (is_jump || insn->op == SONDE__INSN_BRANCH);
    if (f.is_address_32 && !(is_jump && is_direct)) {
        return false; /* in direct calls and jumps the prefix is padding by linkers */
    }
    if (is_direct) {
        insn->imm += pc + insn->length;
    } else if (f.relative_at != 0 && insn->op != SONDE__INSN_NOTHING) {
        insn->offset = (int64_t)((uint64_t)insn->offset + pc + insn->length);
    }
    if (insn->bits == 32 && insn->b.kind == SONDE__OPERAND_IMM) {
        insn->imm &= 0xffffffff;
    }
    return true;
}
