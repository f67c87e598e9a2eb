// SPDX-License-Identifier: Apache-2.0
/* The parts of one instruction of x86-64: prefixes, opcode, ModRM, SIB, displacement, immediate.
 * arch_x86_insn.h (control flow, stack pointer) and arch_insn.h (values) interpret them.
 *
 * The length of every instruction that compilers and assemblers emit is known.
 * Source: Intel SDM volume 2, §2.1 (formats), §2.3 (VEX), §2.7 (EVEX), appendix A (opcode maps).
 * Context: handler. */
#ifndef SONDE_ARCH_X86_FORM_H
#define SONDE_ARCH_X86_FORM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SONDE__X86_INSN_BYTES_MAX 15

struct sonde__x86_form {
    uint8_t length; /* 1..15 */
    uint8_t map;    /* 0: one byte, 1: 0f, 2: 0f38, 3: 0f3a; 5, 6: of EVEX only */
    uint8_t opcode;
    uint8_t rex;         /* 0: none, and for VEX and EVEX */
    uint8_t segment;     /* 0x64, 0x65: fs, gs; else 0 */
    uint8_t modrm, sib;  /* 0: none */
    uint8_t relative_at; /* offset of the 4-byte rip-relative displacement of a memory operand; 0:
                            none */
    bool is_vex, is_16, is_address_32, is_repeat_f2, is_repeat_f3;
    int32_t displacement;
    int64_t immediate; /* with its sign */
};

/* Decode the instruction in `size` bytes of code. False: invalid in 64-bit mode, or truncated;
 * *ret_form is undefined then. */
bool sonde__arch_x86_form(const uint8_t *code, size_t size, struct sonde__x86_form *ret_form);

/* REX.W: 64 bits. */
static inline bool sonde__x86_is_wide(const struct sonde__x86_form *f)
{
    return (f->rex & 8) != 0;
}

/* ModRM's middle bits as a part of the opcode. */
static inline unsigned sonde__x86_group(const struct sonde__x86_form *f)
{
    return f->modrm >> 3 & 7u;
}

/* ModRM's middle bits and REX.R: a register. */
static inline unsigned sonde__x86_reg(const struct sonde__x86_form *f)
{
    return sonde__x86_group(f) + ((f->rex & 4) != 0 ? 8 : 0);
}

/* ModRM's low bits and REX.B: a register, unless ModRM names memory. */
static inline unsigned sonde__x86_rm(const struct sonde__x86_form *f)
{
    return (f->modrm & 7u) + ((f->rex & 1) != 0 ? 8 : 0);
}

/* The opcode's low bits and REX.B: a register. */
static inline unsigned sonde__x86_opcode_reg(const struct sonde__x86_form *f)
{
    return (f->opcode & 7u) + ((f->rex & 1) != 0 ? 8 : 0);
}

#endif
