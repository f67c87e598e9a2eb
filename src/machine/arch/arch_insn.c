// SPDX-License-Identifier: Apache-2.0
#include "arch_insn.h"

#include "arch_regs.h"
#include "base_bytes.h"

bool sonde__arch_insn(unsigned arch, uint64_t pc, const uint8_t *code, size_t size,
                      struct sonde__insn *ret_insn)
{
    struct sonde__insn insn = {.bits = 64,
                               .cond = SONDE__COND_ALWAYS,
                               .c = SONDE__INSN_NO_REG,
                               .base = SONDE__INSN_NO_REG,
                               .index = SONDE__INSN_NO_REG,
                               .index_bits = 64};
    bool is_known;
    if (arch == SONDE_ARCH_X86_64) {
        is_known = sonde__arch_insn_x86(pc, code, size, &insn);
    } else {
        uint32_t word;
        if (size < 4 || (pc & 3) != 0) {
            return false;
        }
        word = sonde__base_le32(code);
        insn.length = 4;
        is_known = sonde__arch_insn_aarch64(pc, word, &insn);
    }
    if (is_known) {
        *ret_insn = insn;
    }
    return is_known;
}
