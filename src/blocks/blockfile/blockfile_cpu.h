// SPDX-License-Identifier: Apache-2.0
/* Register values that follow from the code alone: addresses, numbers, constants in memory, places
 * on the stack. All others are unknown. Context: any thread. */
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
    uint64_t site; /* vaddr recorded with stores */
    struct blockfile_value r[BLOCKFILE_REGS];
    struct blockfile_vector v[BLOCKFILE_VECTORS];
};

/* Start of a function: only the stack and frame pointers are known, as places. */
void blockfile_cpu_reset(struct blockfile_cpu *cpu);
/* A call makes the registers unknown that it does not preserve. */
void blockfile_cpu_call(struct blockfile_cpu *cpu);
/* Make a register unknown; numbers are those of arch_insn.h. */
void blockfile_cpu_lose(struct blockfile_cpu *cpu, unsigned reg);
/* Execute one instruction. Jumps and branches have no effect. */
void blockfile_cpu_step(struct blockfile_cpu *cpu, const struct sonde__insn *insn);

#endif
