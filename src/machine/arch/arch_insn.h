// SPDX-License-Identifier: Apache-2.0
/* The effect of one instruction, in one form for both architectures: for code that follows values
 * through small functions (block_emulate.h), not for a disassembler.
 *
 * An instruction is dst = a OP b. An operand is a register, the instruction's one memory operand
 * (its place), or its immediate. Covers the integer instructions that compilers emit, and moves of
 * vector registers; for other vector instructions only the register that they write. Other
 * instructions are not decoded: the user has to stop there. Sources: Arm ARM (DDI 0487) C4.1; Intel
 * SDM volume 2. Context: handler. */
#ifndef SONDE_ARCH_INSN_H
#define SONDE_ARCH_INSN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum sonde__insn_op {
    SONDE__INSN_NOTHING,
    /* dst = a */
    SONDE__INSN_MOVE,
    SONDE__INSN_MOVE_SIGNED, /* of `from_bits` */
    SONDE__INSN_ADDRESS,     /* dst = address of the place */
    /* dst = a OP b; a shift of b before: `shift_by` */
    SONDE__INSN_ADD,
    SONDE__INSN_SUB,
    SONDE__INSN_AND,
    SONDE__INSN_OR,
    SONDE__INSN_XOR,
    SONDE__INSN_AND_NOT,
    SONDE__INSN_OR_NOT,
    SONDE__INSN_XOR_NOT,
    SONDE__INSN_SHL,
    SONDE__INSN_SHR,
    SONDE__INSN_SAR,
    SONDE__INSN_ROR,
    SONDE__INSN_MUL,
    SONDE__INSN_MUL_ADD, /* dst = c + a * b */
    SONDE__INSN_MUL_SUB,
    SONDE__INSN_DIVIDE, /* dst = a / b, unsigned */
    SONDE__INSN_DIVIDE_SIGNED,
    SONDE__INSN_INSERT,   /* dst = dst with 16 bits of imm at bit_low (movk); of a vector register,
                             with 64 bits of a, from an operand of `bits` 64 */
    SONDE__INSN_BITFIELD, /* aarch64 ubfm, sbfm, bfm: bit_low immr, bit_high imms */
    SONDE__INSN_SELECT,   /* dst = cond ? a : b, b changed by `variant` */
    SONDE__INSN_SET,      /* dst = cond */
    SONDE__INSN_COMPARE_IF, /* flags = cond ? of a - b : `flags` (ccmp; variant 1: of a + b) */
    SONDE__INSN_EXCHANGE,   /* dst <-> a */
    /* atomics: change the place; dst gets its old value */
    SONDE__INSN_FETCH,           /* place = place VARIANT a (an op above); MOVE: swap */
    SONDE__INSN_COMPARE_SWAP,    /* if place == a: place = b; dst = old value */
    SONDE__INSN_STORE_EXCLUSIVE, /* place = a, dst = 0 */
    /* two registers at once */
    SONDE__INSN_LOAD_PAIR,
    SONDE__INSN_STORE_PAIR,
    SONDE__INSN_PUSH,
    SONDE__INSN_POP,
    SONDE__INSN_LEAVE,
    /* control; the target is imm, or a */
    SONDE__INSN_CALL,
    SONDE__INSN_JUMP,
    SONDE__INSN_RETURN,      /* a: the register with the address (aarch64) */
    SONDE__INSN_BRANCH,      /* to imm if cond */
    SONDE__INSN_BRANCH_ZERO, /* to imm if a == 0; variant 1: if not */
    SONDE__INSN_BRANCH_BIT,  /* to imm if bit bit_low of a is 0; variant 1: if 1 */
    SONDE__INSN_SYSTEM,      /* dst = a system register */
    SONDE__INSN_VECTOR,      /* dst, a vector register, gets an unknown value */
    SONDE__INSN_STOP,        /* a trap, a system call */
};

enum sonde__insn_operand {
    SONDE__OPERAND_NONE,
    SONDE__OPERAND_REG,
    SONDE__OPERAND_MEM,
    SONDE__OPERAND_IMM,
};

/* Registers: aarch64 0..30 x0..x30, then these; x86-64 by machine encoding: 0 rax, 1 rcx, 2 rdx, 3
 * rbx, 4 rsp, 5 rbp, 6 rsi, 7 rdi, 8.. r8.. */
#define SONDE__INSN_SP           31u /* aarch64 */
#define SONDE__INSN_ZR           32u /* aarch64: reads 0 */
#define SONDE__INSN_HIGH         40u /* x86-64: bits 8 to 15 of register n - 40 */
#define SONDE__INSN_VECTOR_FIRST 64u
#define SONDE__INSN_NO_REG       0xffu

/* Conditions, as in x86-64's jcc encoding; bit 0 negates. */
enum sonde__insn_cond {
    SONDE__COND_OVERFLOW = 0,
    SONDE__COND_BELOW = 2, /* unsigned < */
    SONDE__COND_EQUAL = 4,
    SONDE__COND_BELOW_EQUAL = 6,
    SONDE__COND_NEGATIVE = 8,
    SONDE__COND_PARITY = 10,
    SONDE__COND_LESS = 12, /* signed < */
    SONDE__COND_LESS_EQUAL = 14,
    SONDE__COND_ALWAYS = 16,
};

enum sonde__insn_shift { /* shift of b, or extension of an index */
                         SONDE__SHIFT_LEFT,
                         SONDE__SHIFT_RIGHT,
                         SONDE__SHIFT_RIGHT_SIGNED,
                         SONDE__SHIFT_ROTATE,
                         SONDE__SHIFT_EXTEND, /* extend_bits, extend_signed; then left */
};

struct sonde__insn_value {
    uint8_t kind; /* enum sonde__insn_operand */
    uint8_t reg;
};

struct sonde__insn {
    uint8_t length;
    uint8_t op;        /* enum sonde__insn_op */
    uint8_t bits;      /* 8..128: operand size; 32: a register's upper half becomes 0 */
    uint8_t from_bits; /* MOVE_SIGNED, LOAD_PAIR: size of what is read */
    struct sonde__insn_value dst, a, b;
    uint8_t c;    /* third source of MUL_ADD; second register of a pair, EXCHANGE */
    uint8_t cond; /* enum sonde__insn_cond; bit 0 negates */
    uint8_t variant;
    bool sets_flags;         /* a comparison if dst is NONE */
    bool keeps_carry;        /* inc, dec */
    uint8_t shift, shift_by; /* of b */
    uint8_t extend_bits;
    bool extend_signed;
    uint8_t bit_low, bit_high;
    uint8_t flags; /* of COMPARE_IF: negative, zero, carry, overflow from bit 3 down */
    uint64_t imm;  /* a target is absolute */
    /* the place: base + (index extended) << index_shift + offset; without base: at offset */
    uint8_t base, index, index_shift, index_bits;
    bool index_signed;
    uint8_t segment;   /* x86-64: 0x64, 0x65: relative to the thread; else 0 */
    uint8_t writeback; /* aarch64: 1 base = place (before), 2 base += offset2 (after) */
    int64_t offset, offset2;
};

/* Decode the instruction at `pc` from `size` bytes of code. False: unknown or truncated. */
bool sonde__arch_insn(unsigned arch, uint64_t pc, const uint8_t *code, size_t size,
                      struct sonde__insn *ret_insn);

/* One decoder per architecture. */
bool sonde__arch_insn_aarch64(uint64_t pc, uint32_t word, struct sonde__insn *insn);
bool sonde__arch_insn_x86(uint64_t pc, const uint8_t *code, size_t size, struct sonde__insn *insn);

#endif
