// SPDX-License-Identifier: Apache-2.0
/* One x86-64 instruction: its length, its control flow, its effect on the stack pointer.
 * Instructions that affect neither are OTHER. Context: handler. */
#ifndef SONDE_ARCH_X86_INSN_H
#define SONDE_ARCH_X86_INSN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "arch_x86_form.h"

enum sonde__x86_kind {
    SONDE__X86_OTHER,
    SONDE__X86_PUSH,          /* rsp -= 8; reg: which register, or SONDE__X86_NO_REG */
    SONDE__X86_POP,           /* rsp += 8; reg as for PUSH */
    SONDE__X86_SP_ADD,        /* rsp += value */
    SONDE__X86_SP_FROM_FP,    /* rsp = rbp + value */
    SONDE__X86_LEAVE,         /* rsp = rbp, then pop rbp */
    SONDE__X86_FP_FROM_SP,    /* rbp = rsp + value */
    SONDE__X86_SP_LOST,       /* rsp = something else (alignment, alloca, another stack) */
    SONDE__X86_CALL,          /* to the next instruction + value */
    SONDE__X86_CALL_INDIRECT, /* by register or memory; reg NEXT: by the word at the next
                                  instruction + value */
    SONDE__X86_JUMP,          /* to the next instruction + value */
    SONDE__X86_JUMP_INDIRECT, /* as CALL_INDIRECT */
    SONDE__X86_BRANCH,        /* conditional: to the next instruction + value */
    SONDE__X86_RETURN,
    SONDE__X86_STOP, /* hlt, ud2, int3: execution ends */
    SONDE__X86_SYSCALL,
};

#define SONDE__X86_NO_REG   0xff
#define SONDE__X86_REG_NEXT 0xfe /* rip */

struct sonde__x86_insn {
    uint8_t length; /* 1..15 */
    uint8_t kind;   /* enum sonde__x86_kind */
    uint8_t reg;
    uint8_t relative_at; /* offset of the 4-byte rip-relative displacement of a memory operand; 0:
                            none */
    int32_t value;
};

/* Decode the instruction in `size` bytes of code. False: invalid in 64-bit mode, or truncated. */
bool sonde__arch_x86_insn(const uint8_t *code, size_t size, struct sonde__x86_insn *ret_insn);

#endif
