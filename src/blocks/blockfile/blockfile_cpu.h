// SPDX-License-Identifier: Apache-2.0
/* The values of registers as far as they follow from the code alone: addresses, numbers, constants
 * in memory, places on the stack. Everything else is unknown. Context: any thread. */
#ifndef SONDE_BLOCKFILE_CPU_H
#define SONDE_BLOCKFILE_CPU_H

#include "arch_insn.h"
#include "blockfile_inside.h"

enum { BLOCKFILE_REGS = SONDE__INSN_ZR + 1, BLOCKFILE_VECTORS = 32 };

struct blockfile_vector {
    struct blockfile_value low, high; /* 8 bytes each */
};

struct blockfile_cpu {
    struct blockfile_slots *slots;
    uint64_t site; /* vaddr that stores are noted with */
    struct blockfile_value r[BLOCKFILE_REGS];
    struct blockfile_vector v[BLOCKFILE_VECTORS];
};

/* A function begins: only the stack and frame pointers are known, as places. */
void blockfile_cpu_reset(struct blockfile_cpu *cpu);
/* A call: the registers that it does not preserve become unknown. */
void blockfile_cpu_call(struct blockfile_cpu *cpu);
/* A register of either kind, numbered as in arch_insn.h, becomes unknown. */
void blockfile_cpu_lose(struct blockfile_cpu *cpu, unsigned reg);
/* Run one instruction. Jumps and branches do nothing. */
void blockfile_cpu_step(struct blockfile_cpu *cpu, const struct sonde__insn *insn);

#endif
