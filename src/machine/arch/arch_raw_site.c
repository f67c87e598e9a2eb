// SPDX-License-Identifier: Apache-2.0
#include "arch_raw_site.h"

#include "arch_regs.h"
#include "arch_x86_insn.h"
#include "base_mem.h"

enum { CALL_BYTES = 2, KEPT = 8 };

struct step {
    size_t at;
    struct sonde__x86_insn insn;
};

/* Get the last instructions before the call, the nearest last, and their number. False: decoding
 * did not arrive at a system call there. */
static bool follow(const uint8_t *code, size_t size, size_t call_at, struct step *last,
                   unsigned *ret_count)
{
    size_t at = 0;
    unsigned count = 0;
    while (at < call_at) {
        struct step step = {.at = at};
        if (!sonde__arch_x86_insn(code + at, size - at, &step.insn)) {
            return false;
        }
        if (count == KEPT) {
            sonde__base_mem_move(last, last + 1, (KEPT - 1) * sizeof *last);
            count--;
        }
        last[count++] = step;
        at += step.insn.length;
    }
    *ret_count = count;
    return at == call_at && size - at >= CALL_BYTES && code[at] == 0x0f && code[at + 1] == 0x05;
}

static bool is_target(uint64_t targets, size_t call_at, size_t at)
{
    int64_t bit = (int64_t)at - (int64_t)call_at + SONDE__RAW_REACH;
    return bit < 0 || bit >= 64 || (targets >> bit & 1) != 0;
}

/* Does the instruction have the same effect at another address? */
static bool can_move(const uint8_t *code, const struct sonde__x86_insn *insn)
{
    switch (insn->kind) {
    case SONDE__X86_CALL:
    case SONDE__X86_CALL_INDIRECT:
    case SONDE__X86_JUMP:
    case SONDE__X86_JUMP_INDIRECT:
    case SONDE__X86_BRANCH:
    case SONDE__X86_RETURN:
    case SONDE__X86_STOP:
    case SONDE__X86_SYSCALL:
        return false;
    default:
        return code[0] != 0xc7 || code[1] != 0xf8; /* xbegin: another branch */
    }
}

/* Is it padding (checked after a return)? */
static bool is_filling(const uint8_t *code, const struct sonde__x86_insn *insn)
{
    uint8_t at = 0;
    while (at < insn->length && (code[at] == 0x66 || code[at] == 0x2e)) {
        at++;
    }
    return (at + 1 == insn->length && (code[at] == 0x90 || code[at] == 0xcc)) ||
           (at + 1 < insn->length && code[at] == 0x0f && code[at + 1] == 0x1f);
}

static enum sonde__raw_result plan_behind(const uint8_t *code, size_t size, size_t call_at,
                                          uint64_t targets, struct sonde__raw_plan *plan)
{
    size_t at = call_at + CALL_BYTES;
    bool has_returned = false;
    while (at - plan->start < SONDE__RAW_JUMP) {
        struct sonde__x86_insn insn;
        if (!sonde__arch_x86_insn(code + at, size - at, &insn)) {
            return SONDE__RAW_CODE;
        }
        if (is_target(targets, call_at, at)) {
            return SONDE__RAW_BRANCHES;
        }
        if (has_returned ? !is_filling(code + at, &insn)
                         : insn.kind != SONDE__X86_RETURN && !can_move(code + at, &insn)) {
            return SONDE__RAW_FIXED;
        }
        has_returned |= insn.kind == SONDE__X86_RETURN;
        at += insn.length;
    }
    plan->size = (uint32_t)(at - plan->start);
    return SONDE__RAW_PATCHED;
}

/* Does a branch target a byte inside the jump? That may be the middle of an instruction (after its
 * lock prefix). */
static bool is_split(uint64_t targets, size_t call_at, size_t start)
{
    for (size_t i = 1; i < SONDE__RAW_JUMP; i++) {
        if (is_target(targets, call_at, start + i)) {
            return true;
        }
    }
    return false;
}

enum sonde__raw_result sonde__arch_raw_plan(unsigned arch, const uint8_t *code, size_t size,
                                            size_t call_at, uint64_t targets, bool is_certain,
                                            struct sonde__raw_plan *ret_plan)
{
    struct step last[KEPT] = {{0}};
    unsigned count = 0;
    if (arch != SONDE_ARCH_X86_64 || call_at > UINT32_MAX / 2 ||
        !follow(code, size, call_at, last, &count)) {
        return SONDE__RAW_CODE;
    }
    struct sonde__raw_plan plan = {.start = (uint32_t)call_at};
    while (call_at - plan.start < SONDE__RAW_JUMP && count > 0 &&
           !is_target(targets, call_at, plan.start) &&
           can_move(code + last[count - 1].at, &last[count - 1].insn)) {
        plan.start = (uint32_t)last[--count].at;
    }
    plan.is_before = call_at - plan.start >= SONDE__RAW_JUMP;
    plan.size = (uint32_t)call_at - plan.start;
    if (!plan.is_before) {
        enum sonde__raw_result result = plan_behind(code, size, call_at, targets, &plan);
        if (result != SONDE__RAW_PATCHED) {
            return result;
        }
    }
    if (is_split(targets, call_at, plan.start)) {
        return SONDE__RAW_BRANCHES;
    }
    if (!is_certain && !(plan.is_before && last[count].insn.length >= SONDE__RAW_JUMP)) {
        return SONDE__RAW_UNKNOWN_TARGETS; /* safe only if one instruction is long enough: no other
                                              is moved */
    }
    *ret_plan = plan;
    return SONDE__RAW_PATCHED;
}

struct out {
    uint8_t *bytes;
    uint64_t at; /* the address of bytes */
    uint32_t used;
    bool failed;
};

static void put_bytes(struct out *out, uint64_t value, unsigned bytes)
{
    for (unsigned i = 0; i < bytes; i++) {
        if (out->used == SONDE__RAW_BYTES) {
            out->failed = true;
            return;
        }
        out->bytes[out->used++] = (uint8_t)(value >> (8 * i));
    }
}

/* Write the 4-byte distance to `target` for an instruction that ends `more` bytes after them. */
static void put_relative(struct out *out, uint64_t target, unsigned more)
{
    int64_t distance = (int64_t)(target - (out->at + out->used + 4 + more));
    out->failed |= distance != (int32_t)distance;
    put_bytes(out, (uint32_t)distance, 4);
}

/* Copy the instructions from `from` to `to`, with relative operands adjusted. */
static void put_moved(struct out *out, const uint8_t *code, uint64_t function, size_t from,
                      size_t to)
{
    while (from < to) {
        struct sonde__x86_insn insn;
        if (!sonde__arch_x86_insn(code + from, to - from, &insn)) {
            out->failed = true;
            return;
        }
        for (uint8_t i = 0; i < insn.length; i++) {
            if (insn.relative_at != 0 && i == insn.relative_at) {
                uint32_t value = (uint32_t)code[from + i] | (uint32_t)code[from + i + 1] << 8 |
                                 (uint32_t)code[from + i + 2] << 16 |
                                 (uint32_t)code[from + i + 3] << 24;
                uint64_t next = function + from + insn.length;
                put_relative(out, next + (uint64_t)(int64_t)(int32_t)value, insn.length - i - 4u);
                i += 3;
            } else {
                put_bytes(out, code[from + i], 1);
            }
        }
        from += insn.length;
    }
}

bool sonde__arch_raw_make(const struct sonde__raw_plan *plan, const uint8_t *code, size_t call_at,
                          uint64_t function, uint64_t at, uint64_t stub,
                          uint8_t ret_made[SONDE__RAW_BYTES], uint8_t ret_jump[SONDE__RAW_JUMP])
{
    struct out out = {.bytes = ret_made, .at = at};
    size_t end = plan->start + plan->size, before = plan->is_before ? end : call_at;
    sonde__base_mem_set(ret_made, 0xcc, SONDE__RAW_BYTES);
    put_bytes(&out, function + call_at + CALL_BYTES, 8);
    put_bytes(&out, 0, 8); /* resume: set below */
    put_bytes(&out, stub, 8);
    put_moved(&out, code, function, plan->start, before);
    put_bytes(&out, 0x0d8d48, 3); /* lea words(%rip), %rcx */
    put_relative(&out, at, 0);
    put_bytes(&out, 0x25ff, 2); /* jmp *words.stub(%rip) */
    put_relative(&out, at + offsetof(struct sonde__raw_words, stub), 0);
    struct out resume = {.bytes = ret_made, .at = at, .used = 8};
    put_bytes(&resume, plan->is_before ? function + end : at + out.used, 8);
    if (!plan->is_before) {
        put_moved(&out, code, function, before, end);
        put_bytes(&out, 0xe9, 1);
        put_relative(&out, function + end, 0);
    }
    struct out jump = {.bytes = ret_jump, .at = function + plan->start};
    put_bytes(&jump, 0xe9, 1);
    put_relative(&jump, at + sizeof(struct sonde__raw_words), 0);
    return !out.failed && !jump.failed;
}
