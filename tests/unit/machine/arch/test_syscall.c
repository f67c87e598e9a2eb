// SPDX-License-Identifier: Apache-2.0
/* The tables against the C library's own <sys/syscall.h> of the machine that the test is built
 * for, and against numbers of both architectures that the kernel's ABI fixes. */
#include <sys/syscall.h>

#include "arch_regs.h"
#include "arch_syscall.h"
#include "test.h"

#define CHECK_HOST(name) CHECK_STR(sonde__arch_syscall_name(SONDE__ARCH_HOST, SYS_##name), #name)

TEST(syscall_names_of_this_machine)
{
    CHECK_HOST(read);
    CHECK_HOST(fsync);
    CHECK_HOST(futex);
    CHECK_HOST(ppoll);
    CHECK_HOST(pselect6);
    CHECK_HOST(epoll_pwait);
    CHECK_HOST(clock_nanosleep);
    CHECK_HOST(wait4);
    CHECK_HOST(accept4);
    CHECK_HOST(recvfrom);
    CHECK_HOST(io_uring_enter);
    CHECK_HOST(fstat);
    CHECK_HOST(lseek);
    CHECK_HOST(futex_waitv);
}

TEST(numbers_of_names)
{
    for (unsigned arch = SONDE_ARCH_X86_64; arch <= SONDE_ARCH_AARCH64; arch++) {
        for (int64_t number = 0; number < SONDE__ARCH_SYSCALLS; number++) {
            const char *name = sonde__arch_syscall_name(arch, number);
            CHECK(name == NULL || sonde__arch_syscall_number(arch, name) == number);
        }
        CHECK_EQ(sonde__arch_syscall_number(arch, "rea"), -1);
        CHECK_EQ(sonde__arch_syscall_number(arch, "readx"), -1);
        CHECK_EQ(sonde__arch_syscall_number(arch, ""), -1);
    }
    CHECK_EQ(sonde__arch_syscall_number(SONDE__ARCH_HOST, "openat"), SYS_openat);
}

TEST(syscall_names_of_both_architectures)
{
    CHECK_STR(sonde__arch_syscall_name(SONDE_ARCH_X86_64, 232), "epoll_wait");
    CHECK_STR(sonde__arch_syscall_name(SONDE_ARCH_X86_64, 0), "read");
    CHECK_STR(sonde__arch_syscall_name(SONDE_ARCH_AARCH64, 22), "epoll_pwait");
    CHECK_STR(sonde__arch_syscall_name(SONDE_ARCH_AARCH64, 0), "io_setup");
    CHECK_STR(sonde__arch_syscall_name(SONDE_ARCH_AARCH64, 98), "futex");
    CHECK_STR(sonde__arch_syscall_name(SONDE_ARCH_X86_64, 462), "mseal");
    CHECK_STR(sonde__arch_syscall_name(SONDE_ARCH_AARCH64, 462), "mseal");
}

/* The kernel's own documentation: syscall(2), "Architecture calling conventions". */
TEST(syscall_argument_registers)
{
    static const char *const x86_64[] = {"rdi", "rsi", "rdx", "r10", "r8", "r9"};
    static const char *const aarch64[] = {"x0", "x1", "x2", "x3", "x4", "x5"};
    for (unsigned i = 0; i < 6; i++) {
        unsigned reg = sonde__arch_syscall_reg(SONDE_ARCH_X86_64, i);
        CHECK_STR(sonde__arch_reg_name(SONDE_ARCH_X86_64, reg), x86_64[i]);
        reg = sonde__arch_syscall_reg(SONDE_ARCH_AARCH64, i);
        CHECK_STR(sonde__arch_reg_name(SONDE_ARCH_AARCH64, reg), aarch64[i]);
    }
}

TEST(syscall_numbers_without_a_name)
{
    static const int64_t numbers[] = {-1, INT64_MIN, INT64_MAX, 100000, 400};
    for (unsigned i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        CHECK(sonde__arch_syscall_name(SONDE_ARCH_X86_64, numbers[i]) == NULL);
        CHECK(sonde__arch_syscall_name(SONDE_ARCH_AARCH64, numbers[i]) == NULL);
    }
}

/* A call that a signal ended: EINTR behind a system call instruction, and nothing less. */
TEST(syscall_that_ended_early)
{
    static const uint8_t x86[] = {0x00, 0x00, 0x0f, 0x05}, other[] = {0x00, 0x00, 0x0f, 0x0b};
    static const uint8_t arm[] = {0x01, 0x00, 0x00, 0xd4};
    struct sonde__regs regs = {.arch = SONDE_ARCH_X86_64};
    CHECK(!sonde__arch_call_ended_early(&regs, x86, 4)); /* rax is not known */
    sonde__regs_set(&regs, 0, (uint64_t)-4);
    CHECK(sonde__arch_call_ended_early(&regs, x86, 4));
    CHECK(!sonde__arch_call_ended_early(&regs, other, 4));
    CHECK(!sonde__arch_call_ended_early(&regs, x86, 1));
    sonde__regs_set(&regs, 0, (uint64_t)-11);
    CHECK(!sonde__arch_call_ended_early(&regs, x86, 4));
    regs.arch = SONDE_ARCH_AARCH64;
    CHECK(!sonde__arch_call_ended_early(&regs, arm, 4));
    sonde__regs_set(&regs, 0, (uint64_t)-4);
    CHECK(sonde__arch_call_ended_early(&regs, arm, 4));
    CHECK(!sonde__arch_call_ended_early(&regs, arm, 3));
    CHECK(!sonde__arch_call_ended_early(&regs, x86, 4));
}

/* A wait that a tracer's stop has interrupted; not a call that is over, nor a register by chance.
 */
TEST(syscall_that_was_interrupted)
{
    static const uint8_t x86[] = {0x00, 0x00, 0x0f, 0x05, 0x48, 0x3d, 0x00, 0xf0};
    static const uint8_t other[] = {0x00, 0x00, 0x0f, 0x0b, 0x0f, 0x05, 0x00, 0x00};
    static const uint8_t after[] = {0x01, 0x00, 0x00, 0xd4, 0x1f, 0x20, 0x03, 0xd5};
    static const uint8_t at[] = {0x1f, 0x20, 0x03, 0xd5, 0x01, 0x00, 0x00, 0xd4};
    static const int results[] = {-4, -512, -513, -514, -516};
    struct sonde__regs regs = {.arch = SONDE_ARCH_X86_64};
    CHECK(!sonde__arch_call_was_interrupted(&regs, x86, 8)); /* rax is not known */
    for (unsigned i = 0; i < sizeof results / sizeof *results; i++) {
        sonde__regs_set(&regs, 0, (uint64_t)(int64_t)results[i]);
        CHECK(sonde__arch_call_was_interrupted(&regs, x86, 8));
        CHECK(sonde__arch_call_was_interrupted(&regs, x86, 4));
        CHECK(!sonde__arch_call_was_interrupted(&regs, x86, 3));
        CHECK(!sonde__arch_call_was_interrupted(&regs, other, 8));
    }
    sonde__regs_set(&regs, 0, 7);
    CHECK(!sonde__arch_call_was_interrupted(&regs, x86, 8));
    regs = (struct sonde__regs){.arch = SONDE_ARCH_AARCH64};
    CHECK(sonde__arch_call_was_interrupted(&regs, at, 8));
    CHECK(!sonde__arch_call_was_interrupted(&regs, at, 7));
    CHECK(!sonde__arch_call_was_interrupted(&regs, after, 8));
    sonde__regs_set(&regs, 0, (uint64_t)-4);
    CHECK(sonde__arch_call_was_interrupted(&regs, after, 4));
    CHECK(!sonde__arch_call_was_interrupted(&regs, after, 3));
}
