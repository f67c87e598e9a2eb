// SPDX-License-Identifier: Apache-2.0
/* Control flow after an instruction, for both architectures: enough to find the calls and jumps of
 * a function.
 *
 * Sources: as arch_x86_insn.h; Arm ARM (DDI 0487) C4.1, "Branches, exception generating and system
 * instructions"; psABI AMD64 1.0 §13.1 (only jumps through tables have notrack). Context:
 * handler. */
#ifndef SONDE_ARCH_FLOW_H
#define SONDE_ARCH_FLOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum sonde__flow_kind {
    SONDE__FLOW_ON, /* to the next instruction */
    SONDE__FLOW_CALL,
    SONDE__FLOW_CALL_SLOT,     /* through the word at `target` */
    SONDE__FLOW_CALL_INDIRECT, /* through a register or another word */
    SONDE__FLOW_JUMP,
    SONDE__FLOW_JUMP_SLOT,
    SONDE__FLOW_JUMP_INDIRECT,
    SONDE__FLOW_JUMP_TABLE, /* indirect; marked as a jump through a table of the function */
    SONDE__FLOW_BRANCH,     /* to `target` or the next instruction */
    SONDE__FLOW_RETURN,
    SONDE__FLOW_STOP, /* a trap: execution ends */
};

#define SONDE__FLOW_NO_REG 0xff

struct sonde__flow {
    uint8_t length;
    uint8_t kind;      /* enum sonde__flow_kind */
    uint8_t reg;       /* JUMP_INDIRECT: the register with the target; else NO_REG */
    uint8_t sum_reg;   /* destination of an addition of two registers, or NO_REG */
    bool gives_stack;  /* moves the stack pointer up: a pop, an epilogue's add */
    bool takes_stack;  /* moves it down */
    bool keeps_result; /* passes a call's result as the first argument (mov %eax, %edi) */
    uint64_t target;   /* vaddr; CALL, JUMP, BRANCH: of the target; *_SLOT: of the word */
};

/* Decode the instruction at `pc` from `size` bytes of code. False: invalid or truncated. */
bool sonde__arch_flow(unsigned arch, uint64_t pc, const uint8_t *code, size_t size,
                      struct sonde__flow *ret_flow);

#endif
