// SPDX-License-Identifier: Apache-2.0
/* Executable memory by the text of /proc/self/maps and by the kernel's answer: both must be what
 * the test mapped, and the same. */
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "os_maps.h"
#include "test.h"

static const char text[] =
    "1000-2000 r-xp 00000000 fe:00 10                         /usr/bin/x r-xp\n"
    "2000-3000 rw-p 00000000 00:00 0 \n"
    "7f00a000-7f00c000 rwxp 00000000 00:00 0 \n"
    "7f00c000-7f00d000 ---p 00000000 00:00 0                  [a name --xp]\n"
    "ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0  [vsyscall]\n";

static struct sonde__os_code find(uint64_t address, size_t piece)
{
    struct sonde__os_maps maps;
    struct sonde__os_code code = {0};
    size_t at = 0, size = sizeof text - 1;
    sonde__os_maps_init(&maps, address);
    while (at < size &&
           !sonde__os_maps_feed(&maps, text + at, size - at < piece ? size - at : piece)) {
        at += piece;
    }
    CHECK(sonde__os_maps_finish(&maps, &code));
    return code;
}

#define EXPECT(address_, start_, end_, is_code_)                                                   \
    for (size_t piece = 1; piece < 200; piece++) {                                                 \
        struct sonde__os_code code = find(address_, piece);                                        \
        CHECK_EQ(code.start, start_);                                                              \
        CHECK_EQ(code.end, end_);                                                                  \
        CHECK_EQ(code.is_code, is_code_);                                                          \
    }

TEST(executable_memory_in_a_text)
{
    EXPECT(0x1000, 0x1000, 0x2000, true);
    EXPECT(0x1fff, 0x1000, 0x2000, true);
    EXPECT(0x2000, 0x2000, 0x7f00a000, false);
    EXPECT(0x7f00b123, 0x7f00a000, 0x7f00c000, true);
    EXPECT(0x7f00c800, 0x7f00c000, 0xffffffffff600000, false);
    EXPECT(5, 0, 0x1000, false);
    EXPECT(0xffffffffff600000, 0xffffffffff600000, 0xffffffffff601000, true);
    EXPECT(UINT64_MAX - 1, 0xffffffffff601000, UINT64_MAX, false);
}

TEST(text_that_is_no_map)
{
    static const char *const bad[] = {"",
                                      "\n\n",
                                      "garbage\n",
                                      "1000-2000\n",
                                      "1000-2000 r-xp",
                                      "-- x x x\n",
                                      "1000-2000 rw-p 0 0:0 0\n"};
    struct sonde__os_code code;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct sonde__os_maps maps;
        sonde__os_maps_init(&maps, 0x1800);
        CHECK(!sonde__os_maps_feed(&maps, bad[i], strlen(bad[i])));
        CHECK(!sonde__os_maps_finish(&maps, &code));
    }
}

/* The same by the text, which older kernels leave. */
static struct sonde__os_code find_in_file(uint64_t address)
{
    struct sonde__os_maps maps;
    struct sonde__os_code code = {0};
    char bytes[100];
    size_t size = 0;
    FILE *file = fopen("/proc/self/maps", "r");
    CHECK(file != NULL);
    sonde__os_maps_init(&maps, address);
    do {
        size = fread(bytes, 1, sizeof bytes, file);
    } while (size > 0 && !sonde__os_maps_feed(&maps, bytes, size));
    fclose(file);
    CHECK(sonde__os_maps_finish(&maps, &code));
    return code;
}

TEST(executable_memory_of_this_process)
{
    enum { PAGE = 65536 };
    struct sonde__os_code code;
    int32_t fd = -1;
    uint8_t *memory =
        mmap(NULL, 3 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    uint64_t at = (uint64_t)(uintptr_t)memory;
    CHECK(memory != MAP_FAILED);
    CHECK_OK(mprotect(memory + PAGE, PAGE, PROT_READ | PROT_EXEC));
    CHECK_OK(sonde__os_code_open(&fd));
    for (uint64_t place = at; place < at + 3 * PAGE; place += PAGE / 2) {
        bool is_code = place >= at + PAGE && place < at + 2 * PAGE;
        struct sonde__os_code in_file = find_in_file(place);
        CHECK_OK(sonde__os_code_find(fd, place, &code));
        CHECK_EQ(code.is_code, is_code);
        CHECK_EQ(in_file.is_code, is_code);
        CHECK(code.start <= place && code.end > place);
        CHECK_EQ(code.end, in_file.end);
        if (is_code) {
            CHECK_EQ(code.start, at + PAGE);
            CHECK_EQ(in_file.start, at + PAGE);
            CHECK_EQ(code.end, at + 2 * PAGE);
        }
    }
    CHECK_OK(sonde__os_code_find(fd, (uint64_t)(uintptr_t)&find_in_file, &code));
    CHECK(code.is_code);
    sonde__os_close(fd);
    CHECK(sonde__os_code_find(fd, at, &code) != SONDE_OK);
}
