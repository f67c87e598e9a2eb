// SPDX-License-Identifier: Apache-2.0
/* The texts of /proc/.../syscall and schedstat. */
#include <string.h>

#include "arch_regs.h"
#include "os.h"
#include "os_context.h"
#include "test.h"

static bool parse(const char *text, struct sonde__os_wait *wait)
{
    return sonde__os_parse_wait(text, strlen(text), wait);
}

static uint64_t pc_of(const struct sonde__os_wait *wait)
{
    struct sonde__regs regs;
    sonde__os_wait_regs(wait, &regs);
    return regs.pc;
}

TEST(wait_of_blocked_thread)
{
    struct sonde__os_wait w;
    CHECK(parse("232 0x3 0x7ffd5a8b1e50 0x400 0xffffffffffffffff 0x0 0x8 0x7ffd5a8b1e20 "
                "0x7f1c2b0a9d06\n",
                &w));
    struct sonde__os_call call = sonde__os_wait_call(&w);
    CHECK(sonde__os_wait_is_blocked(&w));
    CHECK_EQ(call.number, 232);
    CHECK_EQ(call.args[0], 3);
    CHECK_EQ(call.args[3], UINT64_MAX);
    CHECK_EQ(call.args[5], 8);
    CHECK_EQ(sonde__os_wait_sp(&w), 0x7ffd5a8b1e20);
    CHECK_EQ(pc_of(&w), 0x7f1c2b0a9d06);
}

TEST(waits_that_differ_in_any_number_are_not_the_same)
{
    static const char *const texts[] = {
        "running\n",
        "-1 0x7000 0x8000\n",
        "-1 0x7001 0x8000\n",
        "-1 0x7000 0x8001\n",
        "0 0x1 0x2 0x3 0x4 0x5 0x6 0x7000 0x8000\n",
        "1 0x1 0x2 0x3 0x4 0x5 0x6 0x7000 0x8000\n",
        "0 0x9 0x2 0x3 0x4 0x5 0x6 0x7000 0x8000\n",
        "0 0x1 0x2 0x3 0x4 0x5 0x9 0x7000 0x8000\n",
        "0 0x1 0x2 0x3 0x4 0x5 0x6 0x7001 0x8000\n",
        "0 0x1 0x2 0x3 0x4 0x5 0x6 0x7000 0x8001\n",
    };
    struct sonde__os_wait a, b;
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        for (size_t j = 0; j < sizeof texts / sizeof texts[0]; j++) {
            CHECK(parse(texts[i], &a) && parse(texts[j], &b));
            CHECK_EQ(sonde__os_wait_is_same(&a, &b), i == j);
        }
    }
}

TEST(wait_of_running_thread)
{
    struct sonde__os_wait w;
    CHECK(parse("running\n", &w));
    CHECK(!sonde__os_wait_is_blocked(&w));
    CHECK_EQ(sonde__os_wait_call(&w).number, -1);
}

TEST(wait_outside_of_a_call)
{
    struct sonde__os_wait w;
    CHECK(parse("-1 0x7ffd00000010 0x401136\n", &w));
    CHECK(sonde__os_wait_is_blocked(&w));
    CHECK_EQ(sonde__os_wait_call(&w).number, -1);
    CHECK_EQ(sonde__os_wait_sp(&w), 0x7ffd00000010);
    CHECK_EQ(pc_of(&w), 0x401136);
}

TEST(wait_of_anything_else_is_refused)
{
    static const char whole[] = "0 0x1 0x2 0x3 0x4 0x5 0x6 0x7ffd0 0x401000\n";
    static const char *const bad[] = {
        "",
        "\n",
        "run",
        "-2 0x1 0x2",
        "- 0x1 0x2",
        "0x",
        "99999999999 0x1 0x2 0x3 0x4 0x5 0x6 0x7 0x8",
        "0 0x1 0x2 0x3 0x4 0x5 0x6 0x11111111111111111 0x8",
        "permission denied",
    };
    struct sonde__os_wait w, before;
    CHECK(parse("-1 0x77 0x88", &before));
    w = before;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        CHECK(!parse(bad[i], &w));
    }
    for (size_t size = 0; size < sizeof whole - 10; size++) { /* cut before the last number */
        CHECK(!sonde__os_parse_wait(whole, size, &w));
    }
    CHECK(sonde__os_wait_is_same(&w, &before));
}

TEST(schedstat)
{
    struct sonde__os_schedstat s;
    static const char text[] = "123456789012 345 6\n";
    CHECK(sonde__os_parse_schedstat(text, sizeof text - 1, &s));
    CHECK_EQ(s.cpu_ns, 123456789012);
    CHECK_EQ(s.runqueue_ns, 345);
    CHECK_EQ(s.slices, 6);
    CHECK(!sonde__os_parse_schedstat("1 2", 3, &s));
    CHECK(!sonde__os_parse_schedstat("", 0, &s));
}
