// SPDX-License-Identifier: Apache-2.0
/* Ids of code: what moves with the code does not count, what the code does counts. */
#include <string.h>

#include "arch_regs.h"
#include "arch_shape.h"
#include "test.h"

static const uint8_t x86[] = {
    0x55,                                        /* push %rbp */
    0x48, 0x89, 0xe5,                            /* mov %rsp, %rbp */
    0x48, 0xb8, 1,    2,    3,    4,    5,    6, /* movabs $..., %rax */
    7,    8,    0xe8, 0x10, 0x20, 0x30, 0x40,    /* call */
    0x5d, 0xc3,                                  /* pop %rbp; ret (the place) */
    0xcc, 0xcc,
};
enum { X86_PLACE = 19 };

static const uint32_t aarch64[] = {
    0xa9bf7bfd, /* stp x29, x30, [sp, #-16]! */
    0x90001234, /* adrp x20, ... */
    0x94001234, /* bl */
    0xa8c17bfd, /* ldp x29, x30, [sp], #16 (the place) */
    0xd65f03c0, /* ret */
};
enum { AARCH64_PLACE = 12 };

static uint64_t of_x86(const uint8_t *code)
{
    return sonde__arch_shape(SONDE_ARCH_X86_64, code, X86_PLACE, sizeof x86);
}

TEST(shape_of_moved_code)
{
    uint8_t code[sizeof x86];
    memcpy(code, x86, sizeof code);
    code[15] ^= 0x55; /* where it calls */
    code[7] ^= 0xff;  /* an address */
    CHECK_EQ(of_x86(code), of_x86(x86));
    code[sizeof code - 1] = 0x90; /* behind its end */
    CHECK_EQ(of_x86(code), of_x86(x86));
}

TEST(shape_of_other_code)
{
    uint8_t code[sizeof x86];
    memcpy(code, x86, sizeof code);
    code[19] = 0x5b; /* pop %rbx */
    CHECK(of_x86(code) != of_x86(x86));
    memcpy(code, x86, sizeof code);
    code[0] = 0x53; /* push %rbx, before the place */
    CHECK(of_x86(code) != of_x86(x86));
    CHECK(of_x86(x86) != sonde__arch_shape(SONDE_ARCH_X86_64, x86 + X86_PLACE, 0, 4));
    CHECK_EQ(sonde__arch_shape(SONDE_ARCH_X86_64, x86, 0, 0), 0);
}

TEST(shape_of_aarch64)
{
    uint32_t code[5];
    uint64_t id;
    memcpy(code, aarch64, sizeof code);
    id = sonde__arch_shape(SONDE_ARCH_AARCH64, (const uint8_t *)code, AARCH64_PLACE, sizeof code);
    code[1] ^= 0x60ffffe0; /* distances */
    code[2] ^= 0x00ffffff;
    CHECK_EQ(
        sonde__arch_shape(SONDE_ARCH_AARCH64, (const uint8_t *)code, AARCH64_PLACE, sizeof code),
        id);
    code[0] ^= 1;
    CHECK(sonde__arch_shape(SONDE_ARCH_AARCH64, (const uint8_t *)code, AARCH64_PLACE,
                            sizeof code) != id);
}
