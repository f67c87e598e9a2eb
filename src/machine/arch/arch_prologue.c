// SPDX-License-Identifier: Apache-2.0
#include "arch_prologue.h"

#include "arch_x86_insn.h"

bool sonde__arch_x86_64_frame_bytes(const uint8_t *code, unsigned size, uint64_t *ret_bytes)
{
    struct sonde__x86_insn insn;
    int64_t bytes = 0;
    for (; sonde__arch_x86_insn(code, size, &insn); code += insn.length, size -= insn.length) {
        if (insn.kind == SONDE__X86_PUSH) {
            bytes += 8;
        } else if (insn.kind == SONDE__X86_SP_ADD) {
            bytes -= insn.value;
        } else if (insn.kind == SONDE__X86_SP_LOST) {
            return false;
        } else if (insn.kind != SONDE__X86_OTHER) {
            break;
        }
    }
    *ret_bytes = (uint64_t)bytes;
    return bytes >= 0;
}

bool sonde__arch_x86_64_pushed_bytes(const uint8_t *code, unsigned size, uint64_t *ret_bytes)
{
    struct sonde__x86_insn insn;
    int64_t bytes = 0;
    for (; size > 0; code += insn.length, size -= insn.length) {
        if (!sonde__arch_x86_insn(code, size, &insn)) {
            return false;
        }
        if (insn.kind == SONDE__X86_PUSH) {
            bytes += 8;
        } else if (insn.kind == SONDE__X86_SP_ADD) {
            bytes -= insn.value;
        } else if (insn.kind != SONDE__X86_OTHER) {
            return false;
        }
    }
    *ret_bytes = (uint64_t)bytes;
    return bytes >= 0;
}
