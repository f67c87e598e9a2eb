// SPDX-License-Identifier: Apache-2.0
/* Numbers of system calls in code. Each code's text, by clang's assembler, is next to it. */
#include "arch_raw_call.h"

#include <string.h>

#include "arch_regs.h"
#include "test.h"

enum { NO_CALL = -2, NOT_TOLD = -1 };

/* The number of the last system call in the code. */
static int64_t number_in(unsigned arch, const char *code, size_t size)
{
    struct sonde__raw_call state = {0}, call;
    int64_t number = NO_CALL;
    uint8_t length;
    for (size_t at = 0; at < size; at += length) {
        if (sonde__arch_raw_call(&state, arch, (const uint8_t *)code + at, size - at, &length,
                                 &call)) {
            number = call.is_known ? (int64_t)call.number : NOT_TOLD;
        }
        CHECK(length != 0);
    }
    return number;
}

static const struct {
    const char *code;
    size_t size;
    int64_t number;
} x86_64[] = {
#define CODE(text, number)                                                                         \
    {                                                                                              \
        text, sizeof(text) - 1, number                                                             \
    }
    CODE("\xb8\x6e\x00\x00\x00\x0f\x05", 110),                            /* mov $110, %eax */
    CODE("\x48\xc7\xc0\x01\x01\x00\x00\x0f\x05", 257),                    /* mov $257, %rax */
    CODE("\x31\xc0\x0f\x05", 0),                                          /* xor %eax, %eax */
    CODE("\xb8\x27\x00\x00\x00\x89\xd7\x31\xf6\x4c\x89\xc2\x0f\x05", 39), /* others set */
    CODE("\xb8\x27\x00\x00\x00\x48\x8d\x74\x24\x10\x0f\x05", 39),         /* lea 16(%rsp), %rsi */
    CODE("\x41\xb8\x27\x00\x00\x00\x0f\x05", NOT_TOLD),                   /* mov $39, %r8d */
    CODE("\xb8\x27\x00\x00\x00\x89\xf8\x0f\x05", NOT_TOLD),               /* mov %edi, %eax */
    CODE("\xb8\x27\x00\x00\x00\x8b\x07\x0f\x05", NOT_TOLD),               /* mov (%rdi), %eax */
    CODE("\xb8\x27\x00\x00\x00\x44\x8b\x07\x0f\x05", 39),                 /* mov (%rdi), %r8d */
    CODE("\xb8\x27\x00\x00\x00\x83\xc0\x01\x0f\x05", NOT_TOLD),           /* add $1, %eax */
    CODE("\xb8\x27\x00\x00\x00\x83\x00\x01\x0f\x05", 39),                 /* addl $1, (%rax) */
    CODE("\xb8\x27\x00\x00\x00\x83\xf8\x01\x0f\x05", NOT_TOLD),           /* cmp: not looked into */
    CODE("\xb8\x27\x00\x00\x00\x58\x0f\x05", NOT_TOLD),                   /* pop %rax */
    CODE("\xb8\x27\x00\x00\x00\x41\x58\x0f\x05", 39),                     /* pop %r8 */
    CODE("\xb8\x27\x00\x00\x00\xe8\x00\x00\x00\x00\x0f\x05", NOT_TOLD),   /* call */
    CODE("\xb8\x27\x00\x00\x00\x0f\x05\x0f\x05", NOT_TOLD),     /* the result of the first */
    CODE("\xb8\x27\x00\x00\x00\x0f\xa2\x0f\x05", NOT_TOLD),     /* cpuid */
    CODE("\xb8\x27\x00\x00\x00\x0f\xb6\xc1\x0f\x05", NOT_TOLD), /* movzbl %cl, %eax */
    CODE("\xb8\x27\x00\x00\x00\x48\x98\x0f\x05", NOT_TOLD),     /* cltq */
    CODE("\xb8\x27\x00\x00\x00\xf7\xe1\x0f\x05", NOT_TOLD),     /* mul %ecx */
    CODE("\x66\xb8\x27\x00\x0f\x05", NOT_TOLD),                 /* mov $39, %ax */
    CODE("\xb8\x0f\x05\x00\x00\xc3", NO_CALL),                  /* mov $0x50f, %eax */
};

static const struct {
    uint32_t code[4];
    size_t count;
    int64_t number;
} aarch64[] = {
    {{0xd2800728, 0xd4000001}, 2, 57},                   /* mov x8, #57 */
    {{0x52800728, 0xd4000001}, 2, 57},                   /* mov w8, #57 */
    {{0xd2800728, 0xaa0003e1, 0xd4000001}, 3, 57},       /* mov x1, x0 */
    {{0xd2800728, 0xaa0003e8, 0xd4000001}, 3, NOT_TOLD}, /* mov x8, x0 */
    {{0xd2800728, 0x94000000, 0xd4000001}, 3, NOT_TOLD}, /* bl */
    {{0xd2800728, 0xd63f0020, 0xd4000001}, 3, NOT_TOLD}, /* blr x1 */
    {{0xd2800728, 0xf94003e8, 0xd4000001}, 3, NOT_TOLD}, /* ldr x8, [sp] */
    {{0xd2800727, 0xd4000001}, 2, NOT_TOLD},             /* mov x7, #57 */
    {{0xd2800728, 0xd4000021}, 2, NO_CALL},              /* svc #1 */
};

TEST(numbers_of_raw_system_calls)
{
    for (size_t i = 0; i < sizeof x86_64 / sizeof x86_64[0]; i++) {
        CHECK_EQ(number_in(SONDE_ARCH_X86_64, x86_64[i].code, x86_64[i].size), x86_64[i].number);
    }
    for (size_t i = 0; i < sizeof aarch64 / sizeof aarch64[0]; i++) {
        CHECK_EQ(number_in(SONDE_ARCH_AARCH64, (const char *)aarch64[i].code,
                           aarch64[i].count * sizeof(uint32_t)),
                 aarch64[i].number);
    }
}

/* With any bytes the search ends, and reads none after them. */
TEST(raw_calls_in_garbage)
{
    uint8_t bytes[64];
    uint64_t random = 7;
    for (unsigned round = 0; round < 20000; round++) {
        struct sonde__raw_call state = {0}, call;
        size_t size = round % sizeof bytes + 1;
        uint8_t length = 0;
        for (size_t i = 0; i < size; i++) {
            random = random * 6364136223846793005u + 1442695040888963407u;
            bytes[sizeof bytes - size + i] = (uint8_t)(random >> 56);
        }
        for (size_t at = sizeof bytes - size; at < sizeof bytes; at += length != 0 ? length : 1) {
            (void)sonde__arch_raw_call(&state, round % 2, bytes + at, sizeof bytes - at, &length,
                                       &call);
            CHECK(length <= sizeof bytes - at);
        }
    }
}
