// SPDX-License-Identifier: Apache-2.0
#include "arch_regs.h"
#include "test.h"

TEST(pac_is_stripped_on_aarch64_only)
{
    CHECK_EQ(sonde__arch_strip_pac(SONDE_ARCH_AARCH64, 0x002b0000aabbccdd), 0x0000aabbccdd);
    CHECK_EQ(sonde__arch_strip_pac(SONDE_ARCH_AARCH64, 0x0000ffffaabbccdd), 0xffffaabbccdd);
    CHECK_EQ(sonde__arch_strip_pac(SONDE_ARCH_X86_64, 0x002b0000aabbccdd), 0x002b0000aabbccdd);
    CHECK_EQ((uint64_t)sonde__arch_strip_pac(SONDE_ARCH_X86_64, UINT64_MAX), UINT64_MAX);
}

TEST(registers_have_their_dwarf_names)
{
    CHECK_STR(sonde__arch_reg_name(SONDE_ARCH_X86_64, 0), "rax");
    CHECK_STR(sonde__arch_reg_name(SONDE_ARCH_X86_64, SONDE__X86_64_RBX), "rbx");
    CHECK_STR(sonde__arch_reg_name(SONDE_ARCH_X86_64, SONDE__X86_64_RBP), "rbp");
    CHECK_STR(sonde__arch_reg_name(SONDE_ARCH_X86_64, SONDE__X86_64_RSP), "rsp");
    CHECK_STR(sonde__arch_reg_name(SONDE_ARCH_X86_64, 10), "r10");
    CHECK_STR(sonde__arch_reg_name(SONDE_ARCH_X86_64, SONDE__X86_64_RA), "rip");
    CHECK(sonde__arch_reg_name(SONDE_ARCH_X86_64, 17) == NULL);
    CHECK_STR(sonde__arch_reg_name(SONDE_ARCH_AARCH64, 0), "x0");
    CHECK_STR(sonde__arch_reg_name(SONDE_ARCH_AARCH64, SONDE__AARCH64_FP), "x29");
    CHECK_STR(sonde__arch_reg_name(SONDE_ARCH_AARCH64, SONDE__AARCH64_SP), "sp");
    CHECK(sonde__arch_reg_name(SONDE_ARCH_AARCH64, 32) == NULL);
}

TEST(known_registers_are_marked)
{
    struct sonde__regs regs = {.known = 0};
    CHECK(!sonde__regs_known(&regs, 6));
    sonde__regs_set(&regs, 6, 42);
    CHECK(sonde__regs_known(&regs, 6));
    CHECK(!sonde__regs_known(&regs, 7));
    CHECK(!sonde__regs_known(&regs, 200));
    CHECK_EQ(regs.r[6], 42);
}
