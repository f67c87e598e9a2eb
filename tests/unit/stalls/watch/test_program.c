// SPDX-License-Identifier: Apache-2.0
/* Programs that can load the probe: real, invented and hostile files. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "test.h"
#include "watch_program.h"

struct bytes {
    const uint8_t *at;
    size_t size;
};

static size_t read_bytes(void *ctx, uint64_t offset, void *ret_bytes, size_t size)
{
    const struct bytes *b = ctx;
    if (offset >= b->size) {
        return 0;
    }
    size = size < b->size - offset ? size : (size_t)(b->size - offset);
    memcpy(ret_bytes, b->at + offset, size);
    return size;
}

static struct sonde__watch_image parse(const void *data, size_t size)
{
    struct sonde__watch_image image;
    struct bytes b = {data, size};
    sonde__watch_parse_image(read_bytes, &b, &image);
    return image;
}

static enum sonde__watch_carry carry_of(const char *path)
{
    static struct sonde__watch_program program;
    sonde__watch_inspect(path, &program);
    return program.carry;
}

static const char *write_program(const char *name, const void *data, size_t size)
{
    static char path[512];
    snprintf(path, sizeof path, "%s/%s", test_folder(), name);
    test_write_file(path, data, size);
    chmod(path, 0755);
    return path;
}

/* An ELF header and program headers, as small as the kernel takes them. */
static size_t make_elf(uint8_t *raw, bool is64, uint16_t machine, const char *interpreter)
{
    size_t header = is64 ? 64 : 52, each = is64 ? 56 : 32;
    memset(raw, 0, 512);
    memcpy(raw, "\177ELF", 4);
    raw[4] = is64 ? 2 : 1;
    raw[5] = 1;
    raw[6] = 1;
    raw[16] = 2;
    memcpy(raw + 18, &machine, 2);
    raw[is64 ? 32 : 28] = (uint8_t)header; /* e_phoff */
    raw[is64 ? 56 : 44] = interpreter != NULL ? 1 : 0;
    if (interpreter != NULL) {
        uint8_t *p = raw + header;
        uint32_t at = (uint32_t)(header + each), size = (uint32_t)strlen(interpreter) + 1;
        p[0] = 3; /* PT_INTERP */
        memcpy(p + (is64 ? 8 : 4), &at, 4);
        memcpy(p + (is64 ? 32 : 16), &size, 4);
        snprintf((char *)raw + at, 512 - at, "%s", interpreter);
        return at + size;
    }
    return header;
}

static uint16_t own_machine(void)
{
    uint16_t machine;
    size_t size;
    char *self = test_read_file("/proc/self/exe", &size);
    memcpy(&machine, self + 18, 2);
    free(self);
    return machine;
}

TEST(own_test_program_carries_the_probe)
{
#if defined(SONDE_SANITIZED)
    CHECK(carry_of("/proc/self/exe") == SONDE__WATCH_CARRIES ||
          carry_of("/proc/self/exe") == SONDE__WATCH_SANITIZER);
#else
    CHECK_EQ(carry_of("/proc/self/exe"), SONDE__WATCH_CARRIES);
#endif
}

TEST(static_program)
{
    uint8_t raw[512];
    size_t size = make_elf(raw, true, own_machine(), NULL);
    CHECK_EQ(carry_of(write_program("static", raw, size)), SONDE__WATCH_STATIC);
    CHECK_EQ(carry_of(write_program("ld-linux-x86-64.so.2", raw, size)), SONDE__WATCH_LOADER);
}

/* Two notes as readelf -n shows them: GNU's build id and, behind it, Go's. */
TEST(program_of_gos_linker)
{
    static const uint8_t notes[] = {4, 0, 0, 0, 5, 0, 0,   0,   3, 0, 0,   0,   'G', 'N', 'U',
                                    0, 1, 2, 3, 4, 5, 0,   0,   0, 4, 0,   0,   0,   3,   0,
                                    0, 0, 4, 0, 0, 0, 'G', 'o', 0, 0, 'a', 'b', 'c', 0};
    uint8_t raw[512];
    for (unsigned is64 = 0; is64 < 2; is64++) {
        size_t size = make_elf(raw, is64 != 0, own_machine(), "x");
        uint8_t *header = raw + (is64 ? 64 : 52);
        uint32_t at = (uint32_t)size, bytes = sizeof notes;
        header[0] = 4; /* PT_NOTE */
        memcpy(header + (is64 ? 8 : 4), &at, 4);
        memcpy(header + (is64 ? 32 : 16), &bytes, 4);
        memcpy(raw + size, notes, sizeof notes);
        CHECK(parse(raw, size + sizeof notes).is_go);
        for (size_t cut = 0; cut < sizeof notes - 8; cut++) {
            CHECK(!parse(raw, size + cut).is_go);
        }
        raw[size + 24] = 0xff; /* the owner's size */
        CHECK(!parse(raw, size + sizeof notes).is_go);
        raw[size + 24] = 4;
        raw[size + 4] = raw[size + 7] = 0xff; /* a note that is larger than its segment */
        CHECK(!parse(raw, size + sizeof notes).is_go);
    }
}

TEST(program_of_another_libc)
{
    uint8_t raw[512];
    size_t size = make_elf(raw, true, own_machine(), "/lib/ld-musl-x86_64.so.1");
    CHECK_EQ(carry_of(write_program("musl", raw, size)), SONDE__WATCH_OTHER_LIBC);
}

TEST(program_of_another_architecture)
{
    uint8_t raw[512];
    size_t size = make_elf(raw, true, 243 /* RISC-V */, "/lib/ld-linux-riscv64-lp64d.so.1");
    CHECK_EQ(carry_of(write_program("riscv", raw, size)), SONDE__WATCH_OTHER_ARCH);
    size = make_elf(raw, false, 3 /* i386 */, "/lib/ld-linux.so.2");
    CHECK_EQ(carry_of(write_program("i386", raw, size)), SONDE__WATCH_OTHER_ARCH);
}

TEST(glibc_program_is_known_by_its_loader)
{
    uint8_t raw[512];
    size_t size = make_elf(raw, true, own_machine(), "/lib64/ld-linux-x86-64.so.2");
    CHECK_EQ(carry_of(write_program("glibc", raw, size)), SONDE__WATCH_CARRIES);
}

TEST(scripts_are_followed_to_their_interpreter)
{
    struct sonde__watch_image image = parse("#! /usr/bin/env  python3 -u \nx", 29);
    CHECK(image.script);
    CHECK_STR(image.interpreter, "/usr/bin/env");
    CHECK_STR(image.argument, "python3 -u");
    /* under an emulator, sh is a program of the host */
    CHECK_EQ(carry_of(write_program("script", "#!/bin/sh\n", 10)), carry_of("/bin/sh"));
}

TEST(script_that_is_its_own_interpreter_ends)
{
    char line[600];
    snprintf(line, sizeof line, "#!%s/loop\n", test_folder());
    CHECK_EQ(carry_of(write_program("loop", line, strlen(line))), SONDE__WATCH_NOT_A_PROGRAM);
}

TEST(other_files)
{
    CHECK_EQ(carry_of(write_program("empty", "", 0)), SONDE__WATCH_NOT_A_PROGRAM);
    CHECK_EQ(carry_of(write_program("text", "echo hello\n", 11)), SONDE__WATCH_NOT_A_PROGRAM);
    CHECK_EQ(carry_of("/nonexistent"), SONDE__WATCH_NOT_READABLE);
}

TEST(setuid_program_is_left_alone)
{
    uint8_t raw[512];
    size_t size = make_elf(raw, true, own_machine(), "/lib64/ld-linux-x86-64.so.2");
    const char *path = write_program("setuid", raw, size);
    if (geteuid() != 0) {
        SKIP("only root can give a file to another user");
    }
    CHECK_EQ(chown(path, 65534, 65534), 0);
    CHECK_EQ(chmod(path, 04755), 0);
    CHECK_EQ(carry_of(path), SONDE__WATCH_PRIVILEGED);
}

TEST(cut_anywhere_and_changed_anywhere_is_no_crash)
{
    size_t size;
    char *self = test_read_file("/proc/self/exe", &size);
    size = size < 4096 ? size : 4096;
    for (size_t n = 0; n < 600; n++) {
        (void)parse(self, n);
    }
    for (size_t i = 0; i < 600; i++) {
        char kept = self[i];
        self[i] = (char)0xff;
        (void)parse(self, size);
        self[i] = 0;
        (void)parse(self, size);
        self[i] = kept;
    }
    free(self);
}
