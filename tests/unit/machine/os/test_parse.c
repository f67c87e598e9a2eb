// SPDX-License-Identifier: Apache-2.0
/* The texts of /proc/.../syscall and schedstat. */
#include <string.h>

#include "os.h"
#include "test.h"

static bool parse(const char *text, struct sonde__os_wait *wait)
{
    return sonde__os_parse_wait(text, strlen(text), wait);
}

TEST(wait_of_blocked_thread)
{
    struct sonde__os_wait w;
    CHECK(parse("232 0x3 0x7ffd5a8b1e50 0x400 0xffffffffffffffff 0x0 0x8 0x7ffd5a8b1e20 "
                "0x7f1c2b0a9d06\n",
                &w));
    CHECK(!w.running && w.in_syscall);
    CHECK_EQ(w.syscall, 232);
    CHECK_EQ(w.args[0], 3);
    CHECK_EQ(w.args[3], UINT64_MAX);
    CHECK_EQ(w.args[5], 8);
    CHECK_EQ(w.sp, 0x7ffd5a8b1e20);
    CHECK_EQ(w.pc, 0x7f1c2b0a9d06);
}

TEST(wait_of_running_thread)
{
    struct sonde__os_wait w;
    CHECK(parse("running\n", &w));
    CHECK(w.running && !w.in_syscall);
    CHECK_EQ(w.syscall, -1);
}

TEST(wait_outside_of_a_call)
{
    struct sonde__os_wait w;
    CHECK(parse("-1 0x7ffd00000010 0x401136\n", &w));
    CHECK(!w.running && !w.in_syscall);
    CHECK_EQ(w.syscall, -1);
    CHECK_EQ(w.sp, 0x7ffd00000010);
    CHECK_EQ(w.pc, 0x401136);
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
    struct sonde__os_wait w = {.sp = 77};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        CHECK(!parse(bad[i], &w));
    }
    for (size_t size = 0; size < sizeof whole - 10; size++) { /* cut before the last number */
        CHECK(!sonde__os_parse_wait(whole, size, &w));
    }
    CHECK_EQ(w.sp, 77);
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
