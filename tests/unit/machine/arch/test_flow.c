// SPDX-License-Identifier: Apache-2.0
/* Where control goes, for instructions as GNU as encodes them. */
#include <string.h>

#include "arch_flow.h"
#include "arch_regs.h"
#include "test.h"

struct sample {
    const char *text;
    uint8_t code[8];
    uint8_t size;
    uint8_t kind;
    uint64_t target; /* 0: not looked at */
    uint8_t reg, sum_reg;
    int8_t stack; /* 1: given back, -1: taken, 0: as it was */
};

#define PC  0x1000
#define NO  SONDE__FLOW_NO_REG
#define ON  SONDE__FLOW_ON
#define IND SONDE__FLOW_JUMP_INDIRECT

static const struct sample x86[] = {
    {"call .+0x105", {0xe8, 0x00, 0x01, 0, 0}, 5, SONDE__FLOW_CALL, PC + 0x105, NO, NO, 0},
    {"jmp .+0x105", {0xe9, 0x00, 0x01, 0, 0}, 5, SONDE__FLOW_JUMP, PC + 0x105, NO, NO, 0},
    {"jmp .-2", {0xeb, 0xfc}, 2, SONDE__FLOW_JUMP, PC - 2, NO, NO, 0},
    {"je .+0x106", {0x0f, 0x84, 0, 1, 0, 0}, 6, SONDE__FLOW_BRANCH, PC + 0x106, NO, NO, 0},
    {"call *8(%rip)", {0xff, 0x15, 8, 0, 0, 0}, 6, SONDE__FLOW_CALL_SLOT, PC + 14, NO, NO, 0},
    {"jmp *8(%rip)", {0xff, 0x25, 8, 0, 0, 0}, 6, SONDE__FLOW_JUMP_SLOT, PC + 14, NO, NO, 0},
    {"call *%rax", {0xff, 0xd0}, 2, SONDE__FLOW_CALL_INDIRECT, 0, NO, NO, 0},
    {"jmp *%rdx", {0xff, 0xe2}, 2, IND, 0, 2, NO, 0},
    {"jmp *%r11", {0x41, 0xff, 0xe3}, 3, IND, 0, 11, NO, 0},
    {"jmp *16(%rax)", {0xff, 0x60, 0x10}, 3, IND, 0, NO, NO, 0},
    {"notrack jmp *%rax", {0x3e, 0xff, 0xe0}, 3, SONDE__FLOW_JUMP_TABLE, 0, 0, NO, 0},
    {"notrack jmp *%r8", {0x3e, 0x41, 0xff, 0xe0}, 4, SONDE__FLOW_JUMP_TABLE, 0, 8, NO, 0},
    {"add %rdx, %rax", {0x48, 0x01, 0xd0}, 3, ON, 0, NO, 0, 0},
    {"add %rax, %r9", {0x49, 0x01, 0xc1}, 3, ON, 0, NO, 9, 0},
    {"add %r9, %rax by 03", {0x49, 0x03, 0xc1}, 3, ON, 0, NO, 0, 0},
    {"pop %rbx", {0x5b}, 1, ON, 0, NO, NO, 1},
    {"push %rbx", {0x53}, 1, ON, 0, NO, NO, -1},
    {"add $8, %rsp", {0x48, 0x83, 0xc4, 0x08}, 4, ON, 0, NO, NO, 1},
    {"sub $8, %rsp", {0x48, 0x83, 0xec, 0x08}, 4, ON, 0, NO, NO, -1},
    {"leave", {0xc9}, 1, ON, 0, NO, NO, 1},
    {"ret", {0xc3}, 1, SONDE__FLOW_RETURN, 0, NO, NO, 0},
    {"ud2", {0x0f, 0x0b}, 2, SONDE__FLOW_STOP, 0, NO, NO, 0},
};

static const struct sample aarch64[] = {
    {"bl .+0x100", {0x40, 0, 0, 0x94}, 4, SONDE__FLOW_CALL, PC + 0x100, NO, NO, 0},
    {"b .-4", {0xff, 0xff, 0xff, 0x17}, 4, SONDE__FLOW_JUMP, PC - 4, NO, NO, 0},
    {"b.eq .+8", {0x40, 0, 0, 0x54}, 4, SONDE__FLOW_BRANCH, PC + 8, NO, NO, 0},
    {"cbnz x1, .-8", {0xc1, 0xff, 0xff, 0xb5}, 4, SONDE__FLOW_BRANCH, PC - 8, NO, NO, 0},
    {"tbz w0, #3, .+16", {0x80, 0, 0x18, 0x36}, 4, SONDE__FLOW_BRANCH, PC + 16, NO, NO, 0},
    {"br x16", {0, 0x02, 0x1f, 0xd6}, 4, IND, 0, 16, NO, 0},
    {"braaz x2", {0x5f, 0x08, 0x1f, 0xd6}, 4, IND, 0, 2, NO, 0},
    {"blr x3", {0x60, 0, 0x3f, 0xd6}, 4, SONDE__FLOW_CALL_INDIRECT, 0, NO, NO, 0},
    {"ret", {0xc0, 0x03, 0x5f, 0xd6}, 4, SONDE__FLOW_RETURN, 0, NO, NO, 0},
    {"retaa", {0xff, 0x0b, 0x5f, 0xd6}, 4, SONDE__FLOW_RETURN, 0, NO, NO, 0},
    {"brk #1", {0x20, 0, 0x20, 0xd4}, 4, SONDE__FLOW_STOP, 0, NO, NO, 0},
    {"add x0, x1, w2, sxth #2", {0x20, 0xa8, 0x22, 0x8b}, 4, ON, 0, NO, 0, 0},
    {"add x9, x9, x10", {0x29, 0x01, 0x0a, 0x8b}, 4, ON, 0, NO, 9, 0},
    {"ldp x29, x30, [sp], #32", {0xfd, 0x7b, 0xc2, 0xa8}, 4, ON, 0, NO, NO, 1},
    {"stp x29, x30, [sp, #-32]!", {0xfd, 0x7b, 0xbe, 0xa9}, 4, ON, 0, NO, NO, -1},
    {"stp x19, x20, [sp, #16]", {0xf3, 0x53, 0x01, 0xa9}, 4, ON, 0, NO, NO, 0},
    {"ldr x30, [sp], #16", {0xfe, 0x07, 0x41, 0xf8}, 4, ON, 0, NO, NO, 1},
    {"str x30, [sp, #-16]!", {0xfe, 0x0f, 0x1f, 0xf8}, 4, ON, 0, NO, NO, -1},
    {"add sp, sp, #48", {0xff, 0xc3, 0, 0x91}, 4, ON, 0, NO, NO, 1},
    {"sub sp, sp, #48", {0xff, 0xc3, 0, 0xd1}, 4, ON, 0, NO, NO, -1},
    {"mov sp, x29", {0xbf, 0x03, 0, 0x91}, 4, ON, 0, NO, NO, 1},
};

static void check(unsigned arch, const struct sample *s)
{
    struct sonde__flow flow;
    if (!sonde__arch_flow(arch, PC, s->code, s->size, &flow)) {
        FAIL("%s: not decoded", s->text);
    }
    int stack = flow.gives_stack ? 1 : flow.takes_stack ? -1 : 0;
    if (flow.length != s->size || flow.kind != s->kind || flow.reg != s->reg ||
        flow.sum_reg != s->sum_reg || stack != s->stack ||
        (s->target != 0 && flow.target != s->target)) {
        FAIL("%s: length %u, kind %u, target 0x%llx, registers %u %u, stack %d", s->text,
             flow.length, flow.kind, (unsigned long long)flow.target, flow.reg, flow.sum_reg,
             stack);
    }
    CHECK(!sonde__arch_flow(arch, PC, s->code, s->size - 1u, &flow));
}

TEST(flow_of_both_architectures)
{
    for (unsigned i = 0; i < sizeof x86 / sizeof x86[0]; i++) {
        check(SONDE_ARCH_X86_64, &x86[i]);
    }
    for (unsigned i = 0; i < sizeof aarch64 / sizeof aarch64[0]; i++) {
        check(SONDE_ARCH_AARCH64, &aarch64[i]);
    }
}

TEST(result_handed_on)
{
    const uint8_t mov_edi_eax[] = {0x89, 0xc7}, mov_esi_eax[] = {0x89, 0xc6};
    struct sonde__flow flow;
    CHECK(sonde__arch_flow(SONDE_ARCH_X86_64, PC, mov_edi_eax, 2, &flow));
    CHECK(flow.keeps_result);
    CHECK(sonde__arch_flow(SONDE_ARCH_X86_64, PC, mov_esi_eax, 2, &flow));
    CHECK(!flow.keeps_result);
}
