// SPDX-License-Identifier: Apache-2.0
/* What instructions do to the stack and frame pointers, for instructions as GNU as encodes them. */
#include <string.h>

#include "arch_regs.h"
#include "arch_stack.h"
#include "test.h"

struct sample {
    const char *text;
    uint8_t code[8];
    uint8_t size;
    uint8_t kind;
    int32_t value;
    bool loses_fp;
};

#define KEPT    SONDE__STACK_KEPT
#define MOVED   SONDE__STACK_MOVED
#define FROM_FP SONDE__STACK_FROM_FP
#define TO_FP   SONDE__STACK_TO_FP
#define LOST    SONDE__STACK_LOST

static const struct sample x86[] = {
    {"push %rbp", {0x55}, 1, MOVED, -8, false},
    {"pop %rbp", {0x5d}, 1, MOVED, 8, true},
    {"pop %rbx", {0x5b}, 1, MOVED, 8, false},
    {"sub $0x28, %rsp", {0x48, 0x83, 0xec, 0x28}, 4, MOVED, -0x28, false},
    {"add $0x28, %rsp", {0x48, 0x83, 0xc4, 0x28}, 4, MOVED, 0x28, false},
    {"mov %rsp, %rbp", {0x48, 0x89, 0xe5}, 3, TO_FP, 0, false},
    {"lea -0x28(%rbp), %rsp", {0x48, 0x8d, 0x65, 0xd8}, 4, FROM_FP, -0x28, false},
    {"leave", {0xc9}, 1, FROM_FP, 8, true},
    {"and $-32, %rsp", {0x48, 0x83, 0xe4, 0xe0}, 4, LOST, 0, false},
    {"mov %rdi, %rax", {0x48, 0x89, 0xf8}, 3, KEPT, 0, false},
};

static const struct sample aarch64[] = {
    {"stp x29, x30, [sp, #-32]!", {0xfd, 0x7b, 0xbe, 0xa9}, 4, MOVED, -32, false},
    {"ldp x29, x30, [sp], #32", {0xfd, 0x7b, 0xc2, 0xa8}, 4, MOVED, 32, true},
    {"ldp x29, x30, [sp, #16]", {0xfd, 0x7b, 0x41, 0xa9}, 4, KEPT, 0, true},
    {"ldp x20, x19, [sp], #32", {0xf4, 0x4f, 0xc2, 0xa8}, 4, MOVED, 32, false},
    {"stp d9, d8, [sp, #-48]!", {0xe9, 0x23, 0xbd, 0x6d}, 4, MOVED, -48, false},
    {"stp q8, q9, [sp, #-64]!", {0xe8, 0x27, 0xbe, 0xad}, 4, MOVED, -64, false},
    {"ldr x30, [sp], #16", {0xfe, 0x07, 0x41, 0xf8}, 4, MOVED, 16, false},
    {"str x30, [sp, #-16]!", {0xfe, 0x0f, 0x1f, 0xf8}, 4, MOVED, -16, false},
    {"ldr x29, [sp, #8]", {0xfd, 0x07, 0x40, 0xf9}, 4, KEPT, 0, true},
    {"str x29, [sp, #8]", {0xfd, 0x07, 0x00, 0xf9}, 4, KEPT, 0, false},
    {"add sp, sp, #48", {0xff, 0xc3, 0x00, 0x91}, 4, MOVED, 48, false},
    {"sub sp, sp, #48", {0xff, 0xc3, 0x00, 0xd1}, 4, MOVED, -48, false},
    {"sub sp, sp, #1, lsl #12", {0xff, 0x07, 0x40, 0xd1}, 4, MOVED, -4096, false},
    {"mov x29, sp", {0xfd, 0x03, 0x00, 0x91}, 4, TO_FP, 0, false},
    {"add x29, sp, #16", {0xfd, 0x43, 0x00, 0x91}, 4, TO_FP, 16, false},
    {"mov sp, x29", {0xbf, 0x03, 0x00, 0x91}, 4, FROM_FP, 0, false},
    {"sub sp, x29, #16", {0xbf, 0x43, 0x00, 0xd1}, 4, FROM_FP, -16, false},
    {"sub sp, x9, #16", {0x3f, 0x41, 0x00, 0xd1}, 4, LOST, 0, false},
    {"add sp, sp, x9", {0xff, 0x63, 0x29, 0x8b}, 4, LOST, 0, false},
    {"and sp, x9, #~31", {0x3f, 0xe9, 0x7b, 0x92}, 4, LOST, 0, false},
    {"tst x0, #1", {0x1f, 0x00, 0x40, 0xf2}, 4, KEPT, 0, false},
    {"cmp sp, x0", {0xff, 0x63, 0x20, 0xeb}, 4, KEPT, 0, false},
    {"cmp x0, #1", {0x1f, 0x04, 0x00, 0xf1}, 4, KEPT, 0, false},
    {"mov x29, x0", {0xfd, 0x03, 0x00, 0xaa}, 4, KEPT, 0, true},
    {"mov x29, #1", {0x3d, 0x00, 0x80, 0xd2}, 4, KEPT, 0, true},
    {"mov x0, x29", {0xe0, 0x03, 0x1d, 0xaa}, 4, KEPT, 0, false},
    {"cbz x29, .+8", {0x5d, 0x00, 0x00, 0xb4}, 4, KEPT, 0, false},
};

static void check(unsigned arch, const struct sample *s)
{
    struct sonde__stack_effect effect;
    if (!sonde__arch_stack_effect(arch, s->code, s->size, &effect)) {
        FAIL("%s: not decoded", s->text);
    }
    if (effect.kind != s->kind || effect.loses_fp != s->loses_fp ||
        (effect.value != s->value && s->kind != LOST && s->kind != KEPT)) {
        FAIL("%s: kind %u value %d fp lost %d", s->text, effect.kind, effect.value,
             effect.loses_fp);
    }
    CHECK(!sonde__arch_stack_effect(arch, s->code, s->size - 1u, &effect));
}

TEST(stack_effects)
{
    for (unsigned i = 0; i < sizeof x86 / sizeof *x86; i++) {
        check(SONDE_ARCH_X86_64, &x86[i]);
    }
    for (unsigned i = 0; i < sizeof aarch64 / sizeof *aarch64; i++) {
        check(SONDE_ARCH_AARCH64, &aarch64[i]);
    }
}
