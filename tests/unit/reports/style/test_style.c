// SPDX-License-Identifier: Apache-2.0
/* Lines in the formats of other tools. The oracles are the formats themselves, as printf() has
 * them, and glibc's backtrace_symbols(). */
#include <dlfcn.h>
#include <execinfo.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "style.h"
#include "test.h"

static char line[8192];

static const char *line_of(enum sonde_style style, const struct sonde__style_frame *frame)
{
    struct sonde__text text;
    sonde__base_text_init(&text, line, sizeof line);
    sonde__style_line(&text, style, frame);
    CHECK(!text.cut);
    return line;
}

static const struct sonde__style_frame known = {
    .index = 7,
    .pc = 0x1069c64fc,
    .image = "/opt/app/BacktraceLoggerTest",
    .image_base = 0x1069c0000,
    .image_bias = 0x1069c0000,
    .name = "-[ViewController bar]",
    .start = 0x1069c64f0,
};

TEST(style_callstack_is_the_format_of_libc)
{
    static const char *const images[] = {"libc.so.6", "a", "an_image_whose_name_has_35_bytes_1",
                                         "an_image_whose_name_has_35_bytes_12",
                                         "an_image_whose_name_has_more_than_35_bytes"};
    static const uint64_t indexes[] = {0, 9, 42, 999, 1000, 99999};
    for (size_t i = 0; i < sizeof images / sizeof *images; i++) {
        for (size_t k = 0; k < sizeof indexes / sizeof *indexes; k++) {
            char expected[512], path[128];
            struct sonde__style_frame frame = known;
            snprintf(path, sizeof path, "/System/Library/%s", images[i]);
            frame.image = path;
            frame.index = indexes[k];
            snprintf(expected, sizeof expected, "%-4d%-35.35s 0x%016lx %s + %lu", (int)indexes[k],
                     images[i], 0x1069c64fcul, "-[ViewController bar]", 12ul);
            CHECK_STR(line_of(SONDE_STYLE_CALLSTACK, &frame), expected);
        }
    }
}

TEST(style_callstack_without_a_name)
{
    static const uint8_t uuid[16] = {0x7a, 0x9a, 0xf3, 0xa5, 0x0f, 0x3b, 0x3e, 0x5b,
                                     0xa1, 0xc5, 0x9b, 0x1a, 0x2b, 0x3c, 0x4d, 0x5e};
    char expected[512];
    struct sonde__style_frame frame = known;
    frame.name = "";
    snprintf(expected, sizeof expected, "%-4d%-35s 0x%016lx %s + %lu", 7, "BacktraceLoggerTest",
             0x1069c64fcul, "BacktraceLoggerTest", 0x64fcul);
    CHECK_STR(line_of(SONDE_STYLE_CALLSTACK, &frame), expected);
    frame.name = "<redacted>";
    frame.build_id = uuid;
    frame.build_id_size = sizeof uuid;
    snprintf(expected, sizeof expected, "%-4d%-35s 0x%016lx %s + %lu", 7, "BacktraceLoggerTest",
             0x1069c64fcul, "7A9AF3A5-0F3B-3E5B-A1C5-9B1A2B3C4D5E", 0x64fcul);
    CHECK_STR(line_of(SONDE_STYLE_CALLSTACK, &frame), expected);
    frame.image = frame.name = "";
    snprintf(expected, sizeof expected, "%-4d%-35s 0x%016lx 0x0 + %lu", 7, "???", 0x1069c64fcul,
             0x1069c64fcul);
    CHECK_STR(line_of(SONDE_STYLE_CALLSTACK, &frame), expected);
}

TEST(style_bs_is_the_format_of_the_logger)
{
    char expected[512];
    struct sonde__text text;
    struct sonde__style_frame frame = known;
    snprintf(expected, sizeof expected, "%-30s 0x%08lx %s + %lu", "BacktraceLoggerTest",
             0x1069c64fcul, "-[ViewController bar]", 12ul);
    CHECK_STR(line_of(SONDE_STYLE_BS, &frame), expected);
    frame.name = "";
    snprintf(expected, sizeof expected, "%-30s 0x%08lx 0x%lx + %lu", "BacktraceLoggerTest",
             0x1069c64fcul, 0x1069c0000ul, 0x64fcul);
    CHECK_STR(line_of(SONDE_STYLE_BS, &frame), expected);
    frame.image = "";
    frame.image_base = 0;
    frame.pc = 0x1234;
    snprintf(expected, sizeof expected, "0x%016lx%*s 0x%08lx 0x0 + %lu", 0ul, 12, "", 0x1234ul,
             0x1234ul);
    CHECK_STR(line_of(SONDE_STYLE_BS, &frame), expected);
    sonde__base_text_init(&text, line, sizeof line);
    sonde__style_begin_all(&text, SONDE_STYLE_BS, 3);
    sonde__style_begin(&text, SONDE_STYLE_BS, 259);
    sonde__style_end(&text, SONDE_STYLE_BS);
    CHECK_STR(line, "Call Backtrace of 3 threads:\nBacktrace of Thread 259:\n\n");
}

TEST(style_only_bs_has_headings)
{
    struct sonde__text text;
    sonde__base_text_init(&text, line, sizeof line);
    sonde__style_begin_all(&text, SONDE_STYLE_GLIBC, 3);
    sonde__style_begin(&text, SONDE_STYLE_CALLSTACK, 259);
    sonde__style_end(&text, SONDE_STYLE_CALLSTACK);
    CHECK_STR(line, "");
}

/* The loader's answer for an address, as glibc gets it. */
static struct sonde__style_frame as_loader(uint64_t pc)
{
    struct sonde__style_frame frame = {.pc = pc, .image = "", .name = ""};
    struct link_map *map = NULL;
    Dl_info info;
    void *address = (void *)(uintptr_t)pc; // NOLINT(performance-no-int-to-ptr)
    if (dladdr1(address, &info, (void **)&map, RTLD_DL_LINKMAP) != 0) {
        frame.image = info.dli_fname;
        frame.image_bias = map->l_addr;
        frame.name = info.dli_sname != NULL ? info.dli_sname : "";
        frame.start = (uint64_t)(uintptr_t)info.dli_saddr;
    }
    return frame;
}

TEST(style_glibc_equals_backtrace_symbols)
{
    struct sonde__style_frame here = as_loader((uint64_t)(uintptr_t)&as_loader);
    const uint64_t pcs[] = {
        0,
        1,
        0x1234,
        (uint64_t)(uintptr_t)&strlen,
        (uint64_t)(uintptr_t)dlsym(RTLD_DEFAULT, "qsort"),
        (uint64_t)(uintptr_t)dlsym(RTLD_DEFAULT, "qsort") + 1,
        (uint64_t)(uintptr_t)dlsym(RTLD_DEFAULT, "qsort") + 300,
        (uint64_t)(uintptr_t)&as_loader,
        here.image_bias,
        here.image_bias + 1,
        UINT64_MAX,
    };
    enum { COUNT = sizeof pcs / sizeof *pcs };
    void *addresses[COUNT];
    for (unsigned i = 0; i < COUNT; i++) {
        addresses[i] = (void *)(uintptr_t)pcs[i]; // NOLINT(performance-no-int-to-ptr)
    }
    char **expected = backtrace_symbols(addresses, COUNT);
    CHECK(expected != NULL);
    for (unsigned i = 0; i < COUNT; i++) {
        struct sonde__style_frame frame = as_loader(pcs[i]);
        CHECK_STR(line_of(SONDE_STYLE_GLIBC, &frame), expected[i]);
    }
    free((void *)expected);
}

/* At every size the text is a prefix of the whole, and marked as cut. */
TEST(style_cuts_at_the_end_of_the_buffer)
{
    for (int style = SONDE_STYLE_CALLSTACK; style <= SONDE_STYLE_GLIBC; style++) {
        char *whole = strdup(line_of((enum sonde_style)style, &known));
        for (size_t size = 1; size <= strlen(whole) + 1; size++) {
            char *small = malloc(size);
            struct sonde__text text;
            sonde__base_text_init(&text, small, size);
            sonde__style_line(&text, (enum sonde_style)style, &known);
            CHECK_EQ(strlen(small), size - 1);
            CHECK(strncmp(small, whole, size - 1) == 0);
            CHECK_EQ(text.cut, size <= strlen(whole));
            free(small);
        }
        free(whole);
    }
}
