// SPDX-License-Identifier: Apache-2.0
/* Prologues as gcc 12 and clang 14 write them, bytes from their assemblers, behind mov %rsp, %rbp.
 */
#include "arch_prologue.h"
#include "test.h"

struct prologue {
    const char *code;
    unsigned size;
    int64_t bytes; /* -1: not told */
};

#define CODE(text) text, sizeof text - 1

TEST(frame_bytes)
{
    static const struct prologue prologues[] = {
        {CODE(""), 0},
        /* push %rbx; mov %rdi,%rbx; lea -0x11(%rbp),%rsi; sub $0x18,%rsp; mov x(%rip),%edi; call */
        {CODE("\x53\x48\x89\xfb\x48\x8d\x75\xef\x48\x83\xec\x18\x8b\x3d\x5d\x2c\x00\x00\xe8"), 32},
        /* push %r15; push %r14; push %r12; sub $0x1a0,%rsp; mov %fs:0x28,%rax; mov %rax,-56(%rbp)
         */
        {CODE("\x41\x57\x41\x56\x41\x54\x48\x81\xec\xa0\x01\x00\x00\x64\x48\x8b\x04\x25\x28\x00\x00"
              "\x00\x48\x89\x45\xc8"),
         24 + 0x1a0},
        /* lea -0x40(%rsp),%rsp; movups %xmm0,(%rsp); movabs $1,%rax; xor %ecx,%ecx */
        {CODE("\x48\x8d\x64\x24\xc0\x0f\x11\x04\x24\x48\xb8\x01\x00\x00\x00\x00\x00\x00\x00\x31"
              "\xc9"),
         64},
        /* add $-0x80,%rsp (clang's form of sub $0x80) */
        {CODE("\x48\x83\xc4\x80"), 128},
        /* sub $8,%rsp; push $0; movl $0x123,8(%rsp); test %eax,%eax; jne: sub behind it */
        {CODE("\x48\x83\xec\x08\x6a\x00\xc7\x44\x24\x08\x23\x01\x00\x00\x85\xc0\x75\x05\x48\x83\xec"
              "\x08"),
         16},
        /* push %rbx; and $-0x20,%rsp */
        {CODE("\x53\x48\x83\xe4\xe0"), -1},
        /* sub %rax,%rsp; mov %rax,%rsp */
        {CODE("\x48\x29\xc4"), -1},
        {CODE("\x48\x89\xc4"), -1},
        /* cut in the middle of sub $0x1a0,%rsp */
        {CODE("\x53\x48\x81\xec\xa0\x01"), 8},
    };
    for (unsigned i = 0; i < sizeof prologues / sizeof prologues[0]; i++) {
        uint64_t bytes = 0;
        bool told = sonde__arch_x86_64_frame_bytes((const uint8_t *)prologues[i].code,
                                                   prologues[i].size, &bytes);
        CHECK_EQ(told ? (int64_t)bytes : -1, prologues[i].bytes);
    }
}

TEST(bytes_that_a_function_has_pushed)
{
    static const struct {
        const char *code;
        unsigned size;
        int64_t bytes;
    } begins[] = {
        {CODE(""), 0},
        /* endbr64; push %r15; mov %rdi,%rbx; sub $0x70,%rsp */
        {CODE("\xf3\x0f\x1e\xfa\x41\x57\x48\x89\xfb\x48\x83\xec\x70"), 0x78},
        /* push %rbx; call: what was pushed is known no more */
        {CODE("\x53\xe8\x10\x00\x00\x00"), -1},
        {CODE("\x53\x5b"), -1},         /* pop %rbx */
        {CODE("\x53\xc3\x53"), -1},     /* ret: another function begins */
        {CODE("\x53\x75\x05"), -1},     /* jne */
        {CODE("\x48\x83\xec"), -1},     /* cut in the middle of sub */
        {CODE("\x48\x83\xc4\x08"), -1}, /* add $8,%rsp: more than it has pushed */
        {CODE("\x48\x83\xe4\xe0"), -1}, /* and $-0x20,%rsp */
    };
    for (unsigned i = 0; i < sizeof begins / sizeof begins[0]; i++) {
        uint64_t bytes = 0;
        bool told = sonde__arch_x86_64_pushed_bytes((const uint8_t *)begins[i].code, begins[i].size,
                                                    &bytes);
        CHECK_EQ(told ? (int64_t)bytes : -1, begins[i].bytes);
    }
}

/* Any bytes end the decoding inside of them. */
TEST(every_cut_and_every_byte)
{
    uint8_t code[32];
    uint32_t random = 1;
    for (unsigned round = 0; round < 200000; round++) {
        uint64_t bytes;
        for (unsigned i = 0; i < sizeof code; i++) {
            random = random * 1664525u + 1013904223u;
            code[i] = (uint8_t)(random >> 24);
        }
        (void)sonde__arch_x86_64_frame_bytes(code + round % 32, 32 - round % 32, &bytes);
        (void)sonde__arch_x86_64_pushed_bytes(code + round % 32, 32 - round % 32, &bytes);
    }
}
