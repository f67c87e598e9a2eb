// SPDX-License-Identifier: Apache-2.0
#include "arch_ahead.h"
#include "arch_x86_insn.h"

enum { RBP = 5 };

enum sonde__ahead_kind sonde__arch_ahead_x86(struct sonde__ahead *ahead, const uint8_t *code,
                                             size_t size)
{
    struct sonde__x86_insn insn;
    if (!sonde__arch_x86_insn(code, size, &insn)) {
        return SONDE__AHEAD_UNKNOWN;
    }
    uint64_t next = ahead->pc + insn.length;
    switch (insn.kind) {
    case SONDE__X86_OTHER:
    case SONDE__X86_SYSCALL:
        break;
    case SONDE__X86_PUSH:
        ahead->depth -= 8;
        break;
    case SONDE__X86_POP:
        if (insn.reg == RBP) {
            ahead->pops_fp = true;
            ahead->fp_at = ahead->depth;
        }
        ahead->depth += 8;
        break;
    case SONDE__X86_SP_ADD:
        ahead->depth += insn.value;
        break;
    case SONDE__X86_FP_FROM_SP:
        ahead->depth += insn.value;
        return SONDE__AHEAD_SETUP;
    case SONDE__X86_RETURN:
        return SONDE__AHEAD_RETURN;
    case SONDE__X86_CALL:
    case SONDE__X86_CALL_INDIRECT:
        return SONDE__AHEAD_CALL;
    case SONDE__X86_JUMP:
        return sonde__ahead_jump(ahead, next + (uint64_t)(int64_t)insn.value);
    case SONDE__X86_BRANCH:
        return sonde__ahead_branch(ahead, next + (uint64_t)(int64_t)insn.value, next);
    default:
        return SONDE__AHEAD_UNKNOWN;
    }
    ahead->pc = next;
    return SONDE__AHEAD_MORE;
}
