// SPDX-License-Identifier: Apache-2.0
/* Private to arch_insn_aarch64*.c, the aarch64 decoder. */
#ifndef SONDE_ARCH_INSN_AARCH64_H
#define SONDE_ARCH_INSN_AARCH64_H

#include "arch_insn.h"

static inline uint32_t bits_of(uint32_t word, unsigned low, unsigned count)
{
    return word >> low & (((uint32_t)1 << count) - 1);
}

static inline int64_t signed_bits(uint32_t word, unsigned low, unsigned count)
{
    return (int64_t)((uint64_t)word << (64 - low - count)) >> (64 - count);
}

static inline uint8_t or_zero(uint32_t reg)
{
    return (uint8_t)(reg == 31 ? SONDE__INSN_ZR : reg);
}

static inline struct sonde__insn_value in_reg(unsigned reg)
{
    return (struct sonde__insn_value){SONDE__OPERAND_REG, (uint8_t)reg};
}

static const struct sonde__insn_value in_imm = {SONDE__OPERAND_IMM, 0};
static const struct sonde__insn_value in_place = {SONDE__OPERAND_MEM, 0};

/* Decodes loads and stores; insn->bits is 64. */
bool sonde__aarch64_load_or_store(uint64_t pc, uint32_t word, struct sonde__insn *insn);

#endif
