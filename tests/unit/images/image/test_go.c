// SPDX-License-Identifier: Apache-2.0
/* Tables of functions of Go programs, in each format that there has been. The kept tables were made
 * by hand after the sources of Go's linker: main.main of 64 bytes, whose frame is there from byte 7
 * (8 on aarch64) to the byte 55 (56), and runtime.goexit behind it. Tables of real programs:
 * tests/integration/gostacks. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "image_go.h"
#include "test.h"

enum { TEXT = 0x401000 };

static uint8_t *table_of(const char *name, size_t *ret_size, struct sonde__go *ret_go)
{
    char path[512];
    snprintf(path, sizeof path, "%s/fuzz/regress/go/go-%s", test_source_dir(), name);
    uint8_t *data = (uint8_t *)test_read_file(path, ret_size);
    CHECK(sonde__image_go_open(data, *ret_size, 0, 0, ret_go));
    return data;
}

static int32_t moved_at(const struct sonde__go *go, uint64_t vaddr)
{
    struct sonde__go_function f;
    struct sonde__go_value v;
    CHECK(sonde__image_go_find(go, vaddr, &f));
    CHECK(sonde__image_go_value(go, &f, f.stack_values, vaddr, &v));
    CHECK(v.start <= vaddr && vaddr < v.end);
    return v.value;
}

static void check_table(const char *name, int32_t frame, uint64_t prologue)
{
    struct sonde__go go;
    struct sonde__go_function f;
    struct sonde__go_value v;
    size_t size;
    uint8_t *data = table_of(name, &size, &go);
    CHECK_EQ(go.count, 2);
    CHECK(sonde__image_go_find(&go, TEXT + 0x3f, &f));
    CHECK_STR(f.name, "main.main");
    CHECK_EQ(f.start, TEXT);
    CHECK_EQ(f.end, TEXT + 0x40);
    CHECK_EQ(moved_at(&go, TEXT), 0);
    CHECK_EQ(moved_at(&go, TEXT + prologue - 1), 0);
    CHECK_EQ(moved_at(&go, TEXT + prologue), frame);
    CHECK_EQ(moved_at(&go, TEXT + prologue + 0x2f), frame);
    CHECK_EQ(moved_at(&go, TEXT + prologue + 0x30), 0);
    CHECK(sonde__image_go_value(&go, &f, f.line_values, TEXT + 1, &v));
    CHECK_EQ(v.value, 10);
    const char *file = NULL;
    uint32_t line = 0;
    bool has_line = strcmp(name, "1.2") != 0; /* which does not say what is inlined */
    CHECK_EQ(sonde__image_go_line(&go, &f, TEXT + 1, &file, &line), has_line);
    if (has_line) {
        CHECK_STR(file, "/a.go");
        CHECK_EQ(line, 10);
    }
    CHECK(sonde__image_go_find(&go, TEXT + 0x40, &f));
    CHECK_STR(f.name, "runtime.goexit");
    CHECK(!sonde__image_go_find(&go, TEXT - 1, &f));
    CHECK(!sonde__image_go_find(&go, TEXT + 0x50, &f));
    free(data);
}

TEST(every_format)
{
    check_table("1.2", 40, 7);
    check_table("1.16", 40, 7);
    check_table("1.18", 40, 7);
    check_table("1.20", 40, 7);
    check_table("1.18-aarch64", 48, 8);
}

/* The start of the code, where the file leaves it to the loader. */
TEST(start_of_code_is_given)
{
    struct sonde__go go;
    struct sonde__go_function f;
    size_t size;
    uint8_t *data = table_of("1.20", &size, &go);
    memset(data + 24, 0, 8);
    CHECK(!sonde__image_go_open(data, size, 0, 0, &go) || !sonde__image_go_find(&go, TEXT, &f));
    CHECK(sonde__image_go_open(data, size, 0x5000, 0, &go));
    CHECK(sonde__image_go_find(&go, 0x5000, &f));
    free(data);
}

/* A header in which anything is wrong is none. */
TEST(header_is_checked)
{
    static const struct {
        size_t at;
        uint8_t value;
    } wrong[] = {{0, 0xf2}, {3, 0}, {4, 1}, {5, 1}, {6, 3}, {7, 4}, {8, 0}, {15, 1}};
    struct sonde__go go;
    size_t size;
    uint8_t *data = table_of("1.18", &size, &go);
    for (unsigned i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        uint8_t kept = data[wrong[i].at];
        data[wrong[i].at] = wrong[i].value;
        CHECK(!sonde__image_go_open(data, size, 0, 0, &go));
        data[wrong[i].at] = kept;
    }
    free(data);
}
