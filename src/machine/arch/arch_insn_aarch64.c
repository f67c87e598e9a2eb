// SPDX-License-Identifier: Apache-2.0
/* Follows the instruction groups of Arm ARM C4.1, in order. */
#include "arch_insn_aarch64.h"

/* Maps conditions 0..13 to ours. An aarch64 subtraction sets carry if it does not borrow, the
 * opposite of x86-64; users of flags follow x86-64. */
static uint8_t cond_of(unsigned cond)
{
    static const uint8_t conds[16] = {
        SONDE__COND_EQUAL,          SONDE__COND_EQUAL | 1,    SONDE__COND_BELOW | 1,
        SONDE__COND_BELOW,          SONDE__COND_NEGATIVE,     SONDE__COND_NEGATIVE | 1,
        SONDE__COND_OVERFLOW,       SONDE__COND_OVERFLOW | 1, SONDE__COND_BELOW_EQUAL | 1,
        SONDE__COND_BELOW_EQUAL,    SONDE__COND_LESS | 1,     SONDE__COND_LESS,
        SONDE__COND_LESS_EQUAL | 1, SONDE__COND_LESS_EQUAL,   SONDE__COND_ALWAYS,
        SONDE__COND_ALWAYS,
    };
    return conds[cond & 15];
}

/* --- immediates --- */

/* The pattern of a logical immediate: `ones` set bits, rotated, in elements of a power of two
 * (DecodeBitMasks). */
static bool logical_mask(uint32_t word, unsigned width, uint64_t *ret_mask)
{
    unsigned n = bits_of(word, 22, 1), immr = bits_of(word, 16, 6), imms = bits_of(word, 10, 6);
    unsigned combined = n << 6 | (~imms & 63), length = 0;
    uint64_t mask;
    for (unsigned bit = 1; bit <= 6; bit++) {
        if (combined >> bit & 1) {
            length = bit;
        }
    }
    if (length == 0 || (n != 0 && width == 32)) {
        return false;
    }
    unsigned size = 1u << length, ones = (imms & (size - 1)) + 1, by = immr & (size - 1);
    if (ones == size) {
        return false;
    }
    mask = ((uint64_t)1 << ones) - 1;
    if (by != 0) {
        mask = mask >> by | mask << (size - by);
    }
    if (size < 64) {
        mask &= ((uint64_t)1 << size) - 1;
        for (; size < 64; size *= 2) {
            mask |= mask << size;
        }
    }
    *ret_mask = width == 32 ? mask & 0xffffffff : mask;
    return true;
}

static bool logical_immediate(uint32_t word, struct sonde__insn *insn)
{
    static const uint8_t ops[] = {SONDE__INSN_AND, SONDE__INSN_OR, SONDE__INSN_XOR,
                                  SONDE__INSN_AND};
    unsigned op = bits_of(word, 29, 2), to = bits_of(word, 0, 5);
    insn->op = ops[op];
    insn->sets_flags = op == 3;
    insn->dst = in_reg(op == 3 ? or_zero(to) : to);
    insn->a = in_reg(or_zero(bits_of(word, 5, 5)));
    insn->b = in_imm;
    return logical_mask(word, insn->bits, &insn->imm);
}

static bool move_wide(uint32_t word, struct sonde__insn *insn)
{
    unsigned op = bits_of(word, 29, 2), at = bits_of(word, 21, 2) * 16;
    uint64_t value = (uint64_t)bits_of(word, 5, 16) << at;
    if (op == 1 || (insn->bits == 32 && at >= 32)) {
        return false;
    }
    insn->dst = in_reg(or_zero(bits_of(word, 0, 5)));
    insn->op = op == 3 ? SONDE__INSN_INSERT : SONDE__INSN_MOVE;
    insn->bit_low = (uint8_t)at;
    insn->a = in_imm;
    insn->imm = op == 0 ? ~value : value;
    if (insn->bits == 32) {
        insn->imm &= 0xffffffff;
    }
    return true;
}

static bool with_immediate(uint64_t pc, uint32_t word, struct sonde__insn *insn)
{
    unsigned to = bits_of(word, 0, 5), from = bits_of(word, 5, 5);
    bool sets_flags = bits_of(word, 29, 1) != 0;
    switch (bits_of(word, 23, 3)) {
    case 0:
    case 1: { /* adr, adrp */
        int64_t offset = signed_bits(word, 5, 19) * 4 + (int64_t)bits_of(word, 29, 2);
        bool is_page = word >> 31 != 0;
        insn->op = SONDE__INSN_MOVE;
        insn->bits = 64;
        insn->dst = in_reg(or_zero(to));
        insn->a = in_imm;
        insn->imm =
            is_page ? (pc & ~(uint64_t)0xfff) + (uint64_t)(offset * 4096) : pc + (uint64_t)offset;
        return true;
    }
    case 2: /* add, sub */
        insn->op = bits_of(word, 30, 1) ? SONDE__INSN_SUB : SONDE__INSN_ADD;
        insn->sets_flags = sets_flags;
        insn->dst = in_reg(sets_flags ? or_zero(to) : to);
        insn->a = in_reg(from);
        insn->b = in_imm;
        insn->imm = (uint64_t)bits_of(word, 10, 12) << (bits_of(word, 22, 1) ? 12 : 0);
        return true;
    case 4:
        return logical_immediate(word, insn);
    case 5:
        return move_wide(word, insn);
    case 6: /* sbfm, bfm, ubfm */
        insn->op = SONDE__INSN_BITFIELD;
        insn->variant = (uint8_t)bits_of(word, 29, 2);
        insn->dst = in_reg(or_zero(to));
        insn->a = in_reg(or_zero(from));
        insn->bit_low = (uint8_t)bits_of(word, 16, 6);
        insn->bit_high = (uint8_t)bits_of(word, 10, 6);
        return insn->variant != 3 && bits_of(word, 22, 1) == word >> 31 &&
               (insn->bits == 64 || (insn->bit_low < 32 && insn->bit_high < 32));
    default:
        return false;
    }
}

/* --- branches, system --- */

static bool by_register(uint32_t word, struct sonde__insn *insn)
{
    unsigned way = bits_of(word, 21, 4) & 7;
    bool is_signed = bits_of(word, 11, 1) != 0; /* authenticated */
    unsigned reg = bits_of(word, 5, 5);
    static const uint8_t ops[] = {SONDE__INSN_JUMP, SONDE__INSN_CALL, SONDE__INSN_RETURN};
    if (way > 2 || bits_of(word, 16, 5) != 31) {
        return false;
    }
    insn->op = ops[way];
    insn->a = in_reg(way == 2 && is_signed ? 30 : or_zero(reg));
    return true;
}

static bool system(uint32_t word, struct sonde__insn *insn)
{
    if ((word & 0xfffff01f) == 0xd503201f || (word & 0xfffff000) == 0xd5033000) {
        return true; /* hints (nop, bti, paciasp, autiasp, xpaclri), barriers */
    }
    if ((word & 0xfff00000) == 0xd5300000) { /* mrs */
        insn->op = SONDE__INSN_SYSTEM;
        insn->dst = in_reg(or_zero(bits_of(word, 0, 5)));
        return true;
    }
    return false;
}

static bool branches(uint64_t pc, uint32_t word, struct sonde__insn *insn)
{
    insn->a = in_imm;
    if ((word & 0x7c000000) == 0x14000000) {
        insn->op = word >> 31 ? SONDE__INSN_CALL : SONDE__INSN_JUMP;
        insn->imm = pc + (uint64_t)(signed_bits(word, 0, 26) * 4);
        return true;
    }
    if ((word & 0xff000000) == 0x54000000) {
        insn->op = SONDE__INSN_BRANCH;
        insn->cond = cond_of(bits_of(word, 0, 4));
        insn->imm = pc + (uint64_t)(signed_bits(word, 5, 19) * 4);
        return true;
    }
    if ((word & 0x7e000000) == 0x34000000) {
        insn->op = SONDE__INSN_BRANCH_ZERO;
        insn->variant = (uint8_t)bits_of(word, 24, 1);
        insn->a = in_reg(or_zero(bits_of(word, 0, 5)));
        insn->imm = pc + (uint64_t)(signed_bits(word, 5, 19) * 4);
        return true;
    }
    if ((word & 0x7e000000) == 0x36000000) {
        insn->op = SONDE__INSN_BRANCH_BIT;
        insn->bits = 64;
        insn->variant = (uint8_t)bits_of(word, 24, 1);
        insn->a = in_reg(or_zero(bits_of(word, 0, 5)));
        insn->bit_low = (uint8_t)(bits_of(word, 19, 5) | word >> 31 << 5);
        insn->imm = pc + (uint64_t)(signed_bits(word, 5, 14) * 4);
        return true;
    }
    insn->bits = 64;
    if ((word & 0xfe000000) == 0xd6000000) {
        return by_register(word, insn);
    }
    if ((word & 0xffc00000) == 0xd5000000) {
        insn->a.kind = SONDE__OPERAND_NONE;
        return system(word, insn);
    }
    insn->op = SONDE__INSN_STOP;
    return (word & 0xff000000) == 0xd4000000; /* svc, brk, hlt */
}

/* --- registers --- */

static bool logical_register(uint32_t word, struct sonde__insn *insn)
{
    static const uint8_t ops[] = {
        SONDE__INSN_AND, SONDE__INSN_AND_NOT, SONDE__INSN_OR,  SONDE__INSN_OR_NOT,
        SONDE__INSN_XOR, SONDE__INSN_XOR_NOT, SONDE__INSN_AND, SONDE__INSN_AND_NOT,
    };
    unsigned op = bits_of(word, 29, 2);
    insn->op = ops[op * 2 + bits_of(word, 21, 1)];
    insn->sets_flags = op == 3;
    insn->shift = (uint8_t)bits_of(word, 22, 2);
    insn->shift_by = (uint8_t)bits_of(word, 10, 6);
    insn->dst = in_reg(or_zero(bits_of(word, 0, 5)));
    insn->a = in_reg(or_zero(bits_of(word, 5, 5)));
    insn->b = in_reg(or_zero(bits_of(word, 16, 5)));
    return insn->shift_by < insn->bits;
}

static bool sum_register(uint32_t word, struct sonde__insn *insn)
{
    bool is_extended = bits_of(word, 21, 1) != 0;
    unsigned to = bits_of(word, 0, 5), from = bits_of(word, 5, 5);
    insn->op = bits_of(word, 30, 1) ? SONDE__INSN_SUB : SONDE__INSN_ADD;
    insn->sets_flags = bits_of(word, 29, 1) != 0;
    insn->dst = in_reg(is_extended && !insn->sets_flags ? to : or_zero(to));
    insn->a = in_reg(is_extended ? from : or_zero(from));
    insn->b = in_reg(or_zero(bits_of(word, 16, 5)));
    if (is_extended) {
        unsigned extend = bits_of(word, 13, 3);
        insn->shift = SONDE__SHIFT_EXTEND;
        insn->shift_by = (uint8_t)bits_of(word, 10, 3);
        insn->extend_bits = (uint8_t)(8u << (extend & 3));
        insn->extend_signed = extend >= 4;
        return insn->shift_by <= 4 && bits_of(word, 22, 2) == 0;
    }
    insn->shift = (uint8_t)bits_of(word, 22, 2);
    insn->shift_by = (uint8_t)bits_of(word, 10, 6);
    return insn->shift != 3 && insn->shift_by < insn->bits;
}

static bool two_sources(uint32_t word, struct sonde__insn *insn)
{
    insn->dst = in_reg(or_zero(bits_of(word, 0, 5)));
    insn->a = in_reg(or_zero(bits_of(word, 5, 5)));
    insn->b = in_reg(or_zero(bits_of(word, 16, 5)));
    switch (bits_of(word, 10, 6)) {
    case 2:
        insn->op = SONDE__INSN_DIVIDE;
        return true;
    case 3:
        insn->op = SONDE__INSN_DIVIDE_SIGNED;
        return true;
    case 8:
        insn->op = SONDE__INSN_SHL;
        return true;
    case 9:
        insn->op = SONDE__INSN_SHR;
        return true;
    case 10:
        insn->op = SONDE__INSN_SAR;
        return true;
    case 11:
        insn->op = SONDE__INSN_ROR;
        return true;
    default:
        return false;
    }
}

/* Of the instructions with one source, only those that sign, check and strip pointers; they change
 * no value here. */
static bool one_source(uint32_t word)
{
    return bits_of(word, 16, 5) == 1 && word >> 31 != 0 && bits_of(word, 10, 6) <= 17;
}

static bool select_and_compare(uint32_t word, struct sonde__insn *insn)
{
    insn->cond = cond_of(bits_of(word, 12, 4));
    insn->a = in_reg(or_zero(bits_of(word, 5, 5)));
    if (bits_of(word, 21, 3) == 4) { /* csel, csinc, csinv, csneg */
        insn->op = SONDE__INSN_SELECT;
        insn->variant = (uint8_t)(bits_of(word, 30, 1) << 1 | bits_of(word, 10, 1));
        insn->dst = in_reg(or_zero(bits_of(word, 0, 5)));
        insn->b = in_reg(or_zero(bits_of(word, 16, 5)));
        return bits_of(word, 11, 1) == 0 && bits_of(word, 29, 1) == 0;
    }
    insn->op = SONDE__INSN_COMPARE_IF;
    insn->variant = bits_of(word, 30, 1) == 0;
    insn->flags = (uint8_t)bits_of(word, 0, 4);
    if (bits_of(word, 11, 1)) {
        insn->b = in_imm;
        insn->imm = bits_of(word, 16, 5);
    } else {
        insn->b = in_reg(or_zero(bits_of(word, 16, 5)));
    }
    return bits_of(word, 21, 3) == 2 && bits_of(word, 29, 1) == 1;
}

static bool with_registers(uint32_t word, struct sonde__insn *insn)
{
    if (bits_of(word, 28, 1) == 0) {
        return bits_of(word, 24, 1) ? sum_register(word, insn) : logical_register(word, insn);
    }
    switch (bits_of(word, 21, 4)) {
    case 2:
    case 4:
        return select_and_compare(word, insn);
    case 6:
        return bits_of(word, 30, 1) ? one_source(word) : two_sources(word, insn);
    case 8: /* madd, msub */
        insn->op = bits_of(word, 15, 1) ? SONDE__INSN_MUL_SUB : SONDE__INSN_MUL_ADD;
        insn->dst = in_reg(or_zero(bits_of(word, 0, 5)));
        insn->a = in_reg(or_zero(bits_of(word, 5, 5)));
        insn->b = in_reg(or_zero(bits_of(word, 16, 5)));
        insn->c = or_zero(bits_of(word, 10, 5));
        return bits_of(word, 29, 2) == 0;
    default:
        return false;
    }
}

/* --- vectors --- */

static bool vectors(uint32_t word, struct sonde__insn *insn)
{
    unsigned to = bits_of(word, 0, 5), from = bits_of(word, 5, 5);
    insn->dst = in_reg(SONDE__INSN_VECTOR_FIRST + to);
    if ((word & 0xfffffc00) == 0x9e670000 || (word & 0xfffffc00) == 0x9e660000) { /* fmov */
        bool is_out = (word & 0x00010000) == 0;
        insn->op = SONDE__INSN_MOVE;
        insn->dst = in_reg(is_out ? or_zero(to) : SONDE__INSN_VECTOR_FIRST + to);
        insn->a = in_reg(is_out ? SONDE__INSN_VECTOR_FIRST + from : or_zero(from));
        insn->bits = 64;
        return true;
    }
    if ((word & 0xbfffffe0) == 0x2f00e400) { /* movi d or v.2d, #0 */
        insn->op = SONDE__INSN_MOVE;
        insn->bits = 128;
        insn->a = in_imm;
        return true;
    }
    if ((word & 0xffe0fc00) == 0x4ea01c00 && from == bits_of(word, 16, 5)) { /* mov v.16b */
        insn->op = SONDE__INSN_MOVE;
        insn->bits = 128;
        insn->a = in_reg(SONDE__INSN_VECTOR_FIRST + from);
        return true;
    }
    if ((word & 0xffeffc00) == 0x4e081c00) { /* mov v.d[0 or 1], x */
        insn->op = SONDE__INSN_INSERT;
        insn->bits = 64;
        insn->bit_low = bits_of(word, 20, 1) ? 64 : 0;
        insn->a = in_reg(or_zero(from));
        return true;
    }
    insn->op = SONDE__INSN_VECTOR;
    /* floating point with one or two sources, immediates: only a vector register changes */
    if ((word & 0xff207c00) == 0x1e204000 || (word & 0xff200c00) == 0x1e200800 ||
        (word & 0xff201fe0) == 0x1e201000) {
        return true;
    }
    /* modified immediates; three same */
    return (word & 0x9ff80400) == 0x0f000400 || (word & 0x9f200400) == 0x0e200400;
}

bool sonde__arch_insn_aarch64(uint64_t pc, uint32_t word, struct sonde__insn *insn)
{
    unsigned group = bits_of(word, 25, 4);
    insn->bits = word >> 31 ? 64 : 32;
    switch (group) {
    case 8:
    case 9:
        return with_immediate(pc, word, insn);
    case 10:
    case 11:
        return branches(pc, word, insn);
    case 4:
    case 6:
    case 12:
    case 14:
        insn->bits = 64;
        return sonde__aarch64_load_or_store(pc, word, insn);
    case 5:
    case 13:
        return with_registers(word, insn);
    case 7:
    case 15:
        return vectors(word, insn);
    default:
        insn->op = SONDE__INSN_STOP; /* udf */
        return (word & 0xffff0000) == 0;
    }
}
