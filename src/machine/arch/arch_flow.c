// SPDX-License-Identifier: Apache-2.0
#include "arch_flow.h"

#include "arch_regs.h"
#include "arch_x86_insn.h"
#include "base_bytes.h"

/* --- x86-64 --- */

/* notrack jmp: 3e [rex] ff /4 */
static bool is_notrack(const uint8_t *code, unsigned length)
{
    unsigned at = 1 + (length > 1 && (code[1] & 0xf0) == 0x40 ? 1u : 0u);
    return code[0] == 0x3e && at < length && code[at] == 0xff;
}

/* The target register of an indirect jump: [3e] [rex] ff with a register operand. */
static uint8_t jump_register(const uint8_t *code, unsigned length)
{
    uint8_t rex = length > 2 && (code[length - 3] & 0xf0) == 0x40 ? code[length - 3] : 0;
    return length >= 2 && code[length - 2] == 0xff && code[length - 1] >> 6 == 3
               ? (uint8_t)((code[length - 1] & 7u) + (rex & 1u) * 8)
               : SONDE__FLOW_NO_REG;
}

/* add r64, r64: rex.w 01 /r or rex.w 03 /r */
static uint8_t sum_register(const uint8_t *code, unsigned length)
{
    if (length != 3 || (code[0] & 0xf8) != 0x48 || code[2] >> 6 != 3) {
        return SONDE__FLOW_NO_REG;
    }
    if (code[1] == 0x01) {
        return (uint8_t)((code[2] & 7u) + (code[0] & 1u) * 8);
    }
    return code[1] == 0x03 ? (uint8_t)((code[2] >> 3 & 7u) + (code[0] >> 2 & 1u) * 8)
                           : SONDE__FLOW_NO_REG;
}

static void note_x86_stack(const struct sonde__x86_insn *insn, struct sonde__flow *flow)
{
    switch (insn->kind) {
    case SONDE__X86_PUSH:
        flow->takes_stack = true;
        break;
    case SONDE__X86_POP:
    case SONDE__X86_LEAVE:
    case SONDE__X86_SP_FROM_FP:
        flow->gives_stack = true;
        break;
    case SONDE__X86_SP_ADD:
        flow->gives_stack = insn->value > 0;
        flow->takes_stack = insn->value < 0;
        break;
    case SONDE__X86_SP_LOST: /* may move it either way; report it as up */
        flow->gives_stack = true;
        break;
    default:
        break;
    }
}

static uint8_t x86_kind(const struct sonde__x86_insn *insn, const uint8_t *code)
{
    bool is_slot = insn->reg == SONDE__X86_REG_NEXT;
    switch (insn->kind) {
    case SONDE__X86_CALL:
        return SONDE__FLOW_CALL;
    case SONDE__X86_CALL_INDIRECT:
        return is_slot ? SONDE__FLOW_CALL_SLOT : SONDE__FLOW_CALL_INDIRECT;
    case SONDE__X86_JUMP:
        return SONDE__FLOW_JUMP;
    case SONDE__X86_JUMP_INDIRECT:
        return is_notrack(code, insn->length) ? SONDE__FLOW_JUMP_TABLE
               : is_slot                      ? SONDE__FLOW_JUMP_SLOT
                                              : SONDE__FLOW_JUMP_INDIRECT;
    case SONDE__X86_BRANCH:
        return SONDE__FLOW_BRANCH;
    case SONDE__X86_RETURN:
        return SONDE__FLOW_RETURN;
    case SONDE__X86_STOP:
        return SONDE__FLOW_STOP;
    default:
        return SONDE__FLOW_ON;
    }
}

static bool flow_x86(uint64_t pc, const uint8_t *code, size_t size, struct sonde__flow *flow)
{
    struct sonde__x86_insn insn;
    if (!sonde__arch_x86_insn(code, size, &insn)) {
        return false;
    }
    flow->length = insn.length;
    flow->kind = x86_kind(&insn, code);
    flow->target = pc + insn.length + (uint64_t)(int64_t)insn.value;
    if (flow->kind == SONDE__FLOW_JUMP_INDIRECT || flow->kind == SONDE__FLOW_JUMP_TABLE) {
        flow->reg = jump_register(code, insn.length);
    } else if (flow->kind == SONDE__FLOW_ON) {
        flow->sum_reg = sum_register(code, insn.length);
        flow->keeps_result = insn.length == 2 && code[0] == 0x89 && code[1] == 0xc7;
        note_x86_stack(&insn, flow);
    }
    return true;
}

/* --- aarch64 --- */

static int64_t signed_field(uint32_t word, unsigned low, unsigned bits)
{
    return (int64_t)((uint64_t)word << (64 - low - bits)) >> (64 - bits);
}

static bool is_sp(uint32_t reg)
{
    return reg == SONDE__AARCH64_SP;
}

/* Instructions that write sp: add and sub of an immediate, mov from another register, and loads and
 * stores with pre- or post-index. */
static void note_aarch64_stack(uint32_t word, struct sonde__flow *flow)
{
    uint32_t to = word & 31, base = word >> 5 & 31;
    bool is_pair = (word & 0x3a800000) == 0x28800000;     /* ldp, stp with post- or pre-index */
    bool is_single = (word & 0x3b200400) == 0x38000400;   /* ldr, str with post- or pre-index */
    if ((word & 0xff800000) == 0x91000000 && is_sp(to)) { /* add sp, xn, #; mov sp, xn */
        flow->gives_stack = true;
    } else if ((word & 0xff800000) == 0xd1000000 && is_sp(to)) { /* sub sp, xn, # */
        flow->gives_stack = !is_sp(base);
        flow->takes_stack = is_sp(base);
    } else if (is_sp(to) && (word & 0x7f200000) == 0x0b200000) { /* add sp, xn, xm, ext */
        flow->gives_stack = true;
    } else if (is_pair && is_sp(base)) {
        flow->gives_stack = signed_field(word, 15, 7) > 0;
        flow->takes_stack = !flow->gives_stack;
    } else if (is_single && is_sp(base)) {
        flow->gives_stack = signed_field(word, 12, 9) > 0;
        flow->takes_stack = !flow->gives_stack;
    }
}

static uint64_t aarch64_target(uint64_t pc, uint32_t word, unsigned low, unsigned bits)
{
    return pc + (uint64_t)(signed_field(word, low, bits) * 4);
}

static bool flow_aarch64(uint64_t pc, const uint8_t *code, size_t size, struct sonde__flow *flow)
{
    uint32_t word;
    if (size < 4 || (pc & 3) != 0) {
        return false;
    }
    word = sonde__base_le32(code);
    flow->length = 4;
    if ((word & 0x7c000000) == 0x14000000) { /* b, bl */
        flow->kind = word >> 31 != 0 ? SONDE__FLOW_CALL : SONDE__FLOW_JUMP;
        flow->target = aarch64_target(pc, word, 0, 26);
    } else if ((word & 0xff000000) == 0x54000000 || (word & 0x7e000000) == 0x34000000) {
        flow->kind = SONDE__FLOW_BRANCH; /* b.cond, bc.cond; cbz, cbnz */
        flow->target = aarch64_target(pc, word, 5, 19);
    } else if ((word & 0x7e000000) == 0x36000000) {
        flow->kind = SONDE__FLOW_BRANCH; /* tbz, tbnz */
        flow->target = aarch64_target(pc, word, 5, 14);
    } else if ((word & 0xfe000000) == 0xd6000000) { /* by register */
        unsigned op = word >> 21 & 15;
        unsigned way = op & 7; /* 0 br, 1 blr, 2 ret, 4 eret */
        flow->kind = way == 0   ? SONDE__FLOW_JUMP_INDIRECT
                     : way == 1 ? SONDE__FLOW_CALL_INDIRECT
                                : SONDE__FLOW_RETURN;
        flow->reg = way == 0 ? (uint8_t)(word >> 5 & 31) : SONDE__FLOW_NO_REG;
    } else if ((word & 0xffe0001f) == 0xd4200000 || (word & 0xffff0000) == 0) {
        flow->kind = SONDE__FLOW_STOP; /* brk; udf */
    } else {
        /* add xd, xn, xm, shifted or extended; keeps_result needs no move: x0 is both result and
         * first argument */
        if ((word & 0xff000000) == 0x8b000000 && (word & 31) != SONDE__AARCH64_SP) {
            flow->sum_reg = (uint8_t)(word & 31);
        }
        note_aarch64_stack(word, flow);
    }
    return true;
}

bool sonde__arch_flow(unsigned arch, uint64_t pc, const uint8_t *code, size_t size,
                      struct sonde__flow *ret_flow)
{
    struct sonde__flow flow = {
        .kind = SONDE__FLOW_ON, .reg = SONDE__FLOW_NO_REG, .sum_reg = SONDE__FLOW_NO_REG};
    bool is_known = arch == SONDE_ARCH_X86_64 ? flow_x86(pc, code, size, &flow)
                                              : flow_aarch64(pc, code, size, &flow);
    if (is_known) {
        *ret_flow = flow;
    }
    return is_known;
}
