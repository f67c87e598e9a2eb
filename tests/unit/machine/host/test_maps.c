// SPDX-License-Identifier: Apache-2.0
/* The parser of /proc/PID/maps: real lines, odd paths, and every cut. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "host_maps.h"
#include "test.h"

static struct sonde__host_maps parse(const char *text)
{
    struct sonde__host_maps maps;
    CHECK_OK(sonde__host_maps_parse(text, strlen(text), &maps));
    return maps;
}

TEST(lines_of_all_kinds)
{
    struct sonde__host_maps m =
        parse("00400000-00452000 r-xp 00001000 08:02 173521      /usr/bin/dbus-daemon\n"
              "7f0000000000-7f0000001000 rw-p 00000000 00:00 0 \n"
              "7f0000002000-7f0000003000 rw-s 00000000 00:01 2049       /memfd:a b (deleted)\n"
              "7f0000004000-7f0000005000 r--p 00000000 103:0f 7         /x/with\\012newline\n"
              "7ffc00000000-7ffc00021000 rw-p 00000000 00:00 0          [stack]\n"
              "7ffc00100000-7ffc00102000 r-xp 00000000 00:00 0          [vdso]\n"
              "ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0  [vsyscall]\n");
    CHECK_EQ(m.count, 7);
    CHECK_EQ(m.bad_lines, 0);
    CHECK_EQ(m.items[0].start, 0x400000);
    CHECK_EQ(m.items[0].end, 0x452000);
    CHECK_EQ(m.items[0].offset, 0x1000);
    CHECK_EQ(m.items[0].device, (uint64_t)8 << 32 | 2);
    CHECK_EQ(m.items[0].inode, 173521);
    CHECK_EQ(m.items[0].flags, SONDE__MAP_READ | SONDE__MAP_EXECUTE);
    CHECK_STR(m.items[0].path, "/usr/bin/dbus-daemon");
    CHECK_STR(m.items[1].path, "");
    CHECK_STR(m.items[2].path, "/memfd:a b");
    CHECK_EQ(m.items[2].flags,
             SONDE__MAP_READ | SONDE__MAP_WRITE | SONDE__MAP_SHARED | SONDE__MAP_DELETED);
    CHECK_STR(m.items[3].path, "/x/with\nnewline");
    CHECK_EQ(m.items[3].device, (uint64_t)0x103 << 32 | 0xf);
    CHECK_STR(m.items[5].path, "[vdso]");
    CHECK_EQ(m.items[6].flags, SONDE__MAP_EXECUTE);
    sonde__host_maps_done(&m);
}

TEST(bad_lines_cost_themselves_only)
{
    struct sonde__host_maps m = parse("nonsense\n"
                                      "2000-3000 r-xp 00000000 08:02 1 /a\n"
                                      "1000-2000 r-xp 00000000 08:02 1 /out/of/order\n"
                                      "5000-4000 r-xp 00000000 08:02 1 /backwards\n"
                                      "\n"
                                      "6000-7000 r-x 00000000 08:02 1 /short/flags\n"
                                      "11112222333344445-2 r-xp 0 08:02 1 /too/long\n"
                                      "8000-9000 r-xp 0 08:02 99999999999999999999999 /inode\n"
                                      "a000-b000 r-xp 00000000 08:02 1/no/blank\n"
                                      "c000-d000 r-xp 00000000 08:02 1 /b");
    CHECK_EQ(m.count, 2);
    CHECK_EQ(m.bad_lines, 7);
    CHECK_STR(m.items[0].path, "/a");
    CHECK_STR(m.items[1].path, "/b");
    sonde__host_maps_done(&m);
}

/* Any cut, any flipped byte: never more than there was, never a crash, always in order. */
TEST(mutations)
{
    static const char text[] = "55d0a000-55d0b000 r-xp 0000a000 fd:01 1835 /usr/bin/x y (deleted)\n"
                               "7f00b000-7f00c000 rw-p 00000000 00:00 0\n"
                               "7f00d000-7f00f000 r--s 00001000 00:05 77 /dev/\\012\\01\n";
    char copy[sizeof text];
    struct sonde__host_maps m;
    unsigned seed = 12345;
    for (size_t size = 0; size < sizeof text; size++) {
        CHECK_OK(sonde__host_maps_parse(text, size, &m));
        CHECK(m.count <= 3);
        sonde__host_maps_done(&m);
    }
    for (int round = 0; round < 20000; round++) {
        memcpy(copy, text, sizeof text);
        for (int i = 0; i < 3; i++) {
            seed = seed * 1103515245 + 12345;
            copy[(seed >> 8) % (sizeof text - 1)] = (char)(seed >> 24);
        }
        CHECK_OK(sonde__host_maps_parse(copy, sizeof text - 1, &m));
        for (uint32_t i = 0; i < m.count; i++) {
            CHECK(m.items[i].start < m.items[i].end);
            CHECK(i == 0 || m.items[i - 1].end <= m.items[i].start);
            CHECK(m.items[i].path >= m.text && m.items[i].path <= m.text + m.text_size);
        }
        sonde__host_maps_done(&m);
    }
}

TEST(this_process)
{
    struct sonde__host_maps m;
    uint64_t here = (uint64_t)(uintptr_t)&this_process;
    bool found = false;
    void *page = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK_OK(sonde__host_maps_read(getpid(), &m, NULL));
    CHECK_EQ(m.bad_lines, 0);
    for (uint32_t i = 0; i < m.count; i++) {
        if (here >= m.items[i].start && here < m.items[i].end) {
            CHECK((m.items[i].flags & SONDE__MAP_EXECUTE) != 0);
            CHECK_EQ(m.items[i].path[0], '/');
            found = true;
        }
    }
    CHECK(found);
    sonde__host_maps_done(&m);
    munmap(page, 4096);
    CHECK_EQ(sonde__host_maps_read(0x7ffffff0, &m, NULL), SONDE_ABSENT);
}
