// SPDX-License-Identifier: Apache-2.0
/* The place of the jump that replaces a system call, and the code that runs instead. Each code's
 * text, by clang's assembler, stands next to it; generated code was read with objdump. */
#include "arch_raw_site.h"

#include <string.h>

#include "arch_regs.h"
#include "arch_x86_insn.h"
#include "test.h"

#define AT(offset) ((uint64_t)1 << (SONDE__RAW_REACH + (offset)))

static const struct {
    const char *code;
    size_t size, call_at;
    uint64_t targets;
    uint32_t is_uncertain;
    enum sonde__raw_result result;
    uint32_t start, moved;
    uint32_t is_before;
} cases[] = {
#define CODE(text) text, sizeof(text) - 1
    /* mov $110, %eax; syscall; ret */
    {CODE("\xb8\x6e\x00\x00\x00\x0f\x05\xc3"), 5, 0, false, SONDE__RAW_PATCHED, 0, 5, true},
    /* no branch can enter a single instruction: a function with a table of branches */
    {CODE("\xb8\x6e\x00\x00\x00\x0f\x05\xc3"), 5, 0, true, SONDE__RAW_PATCHED, 0, 5, true},
    /* a branch may reach the first instruction */
    {CODE("\x90\xb8\x6e\x00\x00\x00\x0f\x05\xc3"), 6, AT(-5), false, SONDE__RAW_PATCHED, 1, 5,
     true},
    /* a long instruction, then a short one: mov $110, %eax; xor %edi, %edi; syscall */
    {CODE("\xb8\x6e\x00\x00\x00\x31\xff\x0f\x05"), 7, 0, true, SONDE__RAW_PATCHED, 0, 7, true},
    /* mov %rdi, %rax; mov %rsi, %rdi; syscall; two short ones */
    {CODE("\x48\x89\xf8\x48\x89\xf7\x0f\x05\xc3"), 6, 0, false, SONDE__RAW_PATCHED, 0, 6, true},
    {CODE("\x48\x89\xf8\x48\x89\xf7\x0f\x05\xc3"), 6, 0, true, SONDE__RAW_UNKNOWN_TARGETS, 0, 0,
     false},
    /* a branch reaches the second: the call is replaced, too, with a long check of the result: cmp
     * $-4095, %rax */
    {CODE("\x48\x89\xf8\x48\x89\xf7\x0f\x05\x48\x3d\x01\xf0\xff\xff"), 6, AT(-3), false,
     SONDE__RAW_PATCHED, 3, 5, false},
    /* mov %rdi, %rax; syscall; ret */
    {CODE("\x48\x89\xf8\x0f\x05\xc3"), 3, 0, false, SONDE__RAW_PATCHED, 0, 5, false},
    /* a branch reaches the call itself; test %rax, %rax; ret */
    {CODE("\xb8\x6e\x00\x00\x00\x0f\x05\x48\x85\xc0\xc3"), 5, AT(0), false, SONDE__RAW_PATCHED, 5,
     5, false},
    /* nothing precedes the call, and it returns: the padding after it is used, nothing else */
    {CODE("\x0f\x05\xc3\x66\x90"), 0, 0, false, SONDE__RAW_PATCHED, 0, 5, false},
    {CODE("\x0f\x05\xc3\x0f\x1f\x00"), 0, 0, false, SONDE__RAW_PATCHED, 0, 6, false},
    {CODE("\x0f\x05\xc3\x89\xf8"), 0, 0, false, SONDE__RAW_FIXED, 0, 0, false},
    {CODE("\x0f\x05\xc3"), 0, 0, false, SONDE__RAW_CODE, 0, 0, false},
    /* branches reach both sides */
    {CODE("\xb8\x6e\x00\x00\x00\x0f\x05\x48\x85\xc0\xc3"), 5, AT(0) | AT(2), false,
     SONDE__RAW_BRANCHES, 0, 0, false},
    /* between branches: jmp .; syscall; jmp . */
    {CODE("\xeb\x00\x0f\x05\xeb\xfe\x90\x90"), 2, 0, false, SONDE__RAW_FIXED, 0, 0, false},
    /* call .; syscall; another call of the system */
    {CODE("\xe8\x00\x00\x00\x00\x0f\x05\x0f\x05\x90\x90"), 5, 0, false, SONDE__RAW_FIXED, 0, 0,
     false},
    /* decoding the function by whole instructions skips it: no call */
    {CODE("\xb8\x6e\x00\x0f\x05\x90\x90\x90"), 3, 0, false, SONDE__RAW_CODE, 0, 0, false},
    {CODE("\xb8\x6e\x00\x00\x00\x0f\x0b\x90\x90\x90"), 5, 0, false, SONDE__RAW_CODE, 0, 0, false},
};

TEST(where_the_jump_goes)
{
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct sonde__raw_plan plan = {.start = 99};
        enum sonde__raw_result result =
            sonde__arch_raw_plan(SONDE_ARCH_X86_64, (const uint8_t *)cases[i].code, cases[i].size,
                                 cases[i].call_at, cases[i].targets, !cases[i].is_uncertain, &plan);
        CHECK_EQ(result, cases[i].result);
        if (result != SONDE__RAW_PATCHED) {
            CHECK_EQ(plan.start, 99);
            continue;
        }
        CHECK_EQ(plan.start, cases[i].start);
        CHECK_EQ(plan.size, cases[i].moved);
        CHECK_EQ(plan.is_before, cases[i].is_before);
    }
    struct sonde__raw_plan plan;
    CHECK_EQ(sonde__arch_raw_plan(SONDE_ARCH_AARCH64, (const uint8_t *)"\x01\x00\x00\xd4", 4, 0, 0,
                                  true, &plan),
             SONDE__RAW_CODE);
}

static uint64_t word(const uint8_t *bytes, unsigned size)
{
    uint64_t value = 0;
    memcpy(&value, bytes, size);
    return value;
}

/* lea 0x100(%rip), %rsi; syscall: the target of the relative operand stays the same. */
TEST(what_is_made_elsewhere)
{
    static const uint8_t code[] = {0x48, 0x8d, 0x35, 0x00, 0x01, 0x00, 0x00, 0x0f, 0x05, 0xc3};
    const uint64_t function = 0x401000, at = 0x40000000, stub = 0x7fff12345678;
    uint8_t made[SONDE__RAW_BYTES], jump[SONDE__RAW_JUMP];
    struct sonde__raw_plan plan;
    CHECK_EQ(sonde__arch_raw_plan(SONDE_ARCH_X86_64, code, sizeof code, 7, 0, true, &plan),
             SONDE__RAW_PATCHED);
    CHECK(sonde__arch_raw_make(&plan, code, 7, function, at, stub, made, jump));
    CHECK_EQ(jump[0], 0xe9);
    CHECK_EQ((int32_t)word(jump + 1, 4), at + 24 - (function + 5));
    CHECK_EQ(word(made, 8), function + 9);
    CHECK_EQ(word(made + 8, 8), function + 7); /* the call stays where it is */
    CHECK_EQ(word(made + 16, 8), stub);
    CHECK_EQ(memcmp(made + 24, code, 3), 0);
    CHECK_EQ(at + 31 + (uint64_t)(int64_t)(int32_t)word(made + 27, 4), function + 7 + 0x100);
    CHECK_EQ(memcmp(made + 31, "\x48\x8d\x0d", 3), 0); /* lea words(%rip), %rcx */
    CHECK_EQ(at + 38 + (uint64_t)(int64_t)(int32_t)word(made + 34, 4), at);
    CHECK_EQ(memcmp(made + 38, "\xff\x25", 2), 0); /* jmp *words.stub(%rip) */
    CHECK_EQ(at + 44 + (uint64_t)(int64_t)(int32_t)word(made + 40, 4), at + 16);
    CHECK_EQ(made[44], 0xcc);
    /* too far for a jump; too far for the operand alone */
    CHECK(!sonde__arch_raw_make(&plan, code, 7, function, at + ((uint64_t)1 << 31), stub, made,
                                jump));
    static const uint8_t far[] = {0x48, 0x8d, 0x35, 0x00, 0x00, 0x00, 0x80, 0x0f, 0x05, 0xc3};
    CHECK(!sonde__arch_raw_make(&plan, far, 7, function, at, stub, made, jump));
}

/* mov %rdi, %rax; syscall; ret: the call moves with the other instructions, and control returns
 * after them. */
TEST(what_is_made_of_the_call_itself)
{
    static const uint8_t code[] = {0x48, 0x89, 0xf8, 0x0f, 0x05, 0xc3};
    const uint64_t function = 0x7f0000001000, at = 0x7f0000100000;
    uint8_t made[SONDE__RAW_BYTES], jump[SONDE__RAW_JUMP];
    struct sonde__raw_plan plan;
    CHECK_EQ(sonde__arch_raw_plan(SONDE_ARCH_X86_64, code, sizeof code, 3, 0, true, &plan),
             SONDE__RAW_PATCHED);
    CHECK(sonde__arch_raw_make(&plan, code, 3, function, at, 1, made, jump));
    CHECK_EQ(word(made, 8), function + 5);
    CHECK_EQ(word(made + 8, 8), at + 40);
    CHECK_EQ(memcmp(made + 24, code, 3), 0);
    CHECK_EQ(memcmp(made + 40, "\x0f\x05\xe9", 3), 0);
    CHECK_EQ(at + 47 + (uint64_t)(int64_t)(int32_t)word(made + 43, 4), function + 5);
}

/* Any bytes: bounded work, and the plan lies inside of them. */
TEST(any_code)
{
    uint64_t random = 88172645463325252u;
    unsigned led = 0;
    for (unsigned i = 0; i < 20000; i++) {
        uint8_t code[40], made[SONDE__RAW_BYTES], jump[SONDE__RAW_JUMP];
        for (size_t k = 0; k < sizeof code; k++) {
            random ^= random << 13, random ^= random >> 7, random ^= random << 17;
            code[k] = (uint8_t)(random >> 32);
        }
        size_t size = random % sizeof code, call_at = size > 2 ? (random >> 8) % (size - 1) : 0;
        struct sonde__raw_plan plan;
        if (size > 2) {
            code[call_at] = 0x0f;
            code[call_at + 1] = 0x05;
        }
        if (sonde__arch_raw_plan(SONDE_ARCH_X86_64, code, size, call_at, random >> 16 & random,
                                 (random & 1) != 0, &plan) == SONDE__RAW_PATCHED) {
            led++;
            CHECK(plan.start <= call_at && plan.size >= SONDE__RAW_JUMP);
            CHECK(plan.start + plan.size <= size);
            CHECK(plan.is_before == (plan.start + plan.size <= call_at));
            (void)sonde__arch_raw_make(&plan, code, call_at, 0x1000, 0x2000, 0, made, jump);
        }
    }
    CHECK(led > 100);
}
