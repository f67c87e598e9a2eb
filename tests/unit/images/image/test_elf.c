// SPDX-License-Identifier: Apache-2.0
/* The ELF reader against readelf on real files. Cut and damaged files: the fuzz target reads every
 * truncation and every flipped byte of a small program. Each input is a heap block of its exact
 * size, so ASan reports any access outside. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fuzz.h"
#include "image_elf.h"
#include "image_elf_versions.h"
#include "test.h"

struct file {
    char *data;
    size_t size;
    struct sonde__elf elf;
};

static struct file open_file(const char *path)
{
    struct file file;
    struct sonde_error error;
    if (access(path, R_OK) != 0) {
        SKIP("no %s", path);
    }
    file.data = test_read_file(path, &file.size);
    if (sonde__elf_open(file.data, file.size, &file.elf, &error) != SONDE_OK) {
        FAIL("%s: %s", path, error.what);
    }
    return file;
}

static struct test_run readelf(const char *option, const char *path)
{
    const char *const argv[] = {"readelf", "-W", option, path, NULL};
    struct test_run run = test_run(argv, NULL, NULL, 60);
    if (run.status == 127) {
        SKIP("no readelf");
    }
    return run;
}

static void check_sections(const struct file *file, const char *path)
{
    struct test_run run = readelf("-S", path);
    unsigned seen = 0;
    for (char *line = strtok(run.out, "\n"); line != NULL; line = strtok(NULL, "\n")) {
        unsigned index;
        char name[256], type[64];
        unsigned long vaddr, offset, size, entsize;
        struct sonde__elf_section section;
        if (sscanf(line, " [%u] %255s %63s %lx %lx %lx %lx", &index, name, type, &vaddr, &offset,
                   &size, &entsize) != 7 ||
            index == 0) {
            continue;
        }
        CHECK(sonde__elf_section(&file->elf, index, &section));
        CHECK_STR(section.name, name);
        CHECK_EQ(section.vaddr, vaddr);
        CHECK_EQ(section.offset, offset);
        CHECK_EQ(section.size, size);
        CHECK_EQ(section.entsize, entsize);
        CHECK_EQ(section.data == NULL, strcmp(type, "NOBITS") == 0);
        seen++;
    }
    CHECK_EQ(seen, file->elf.shnum - 1);
    test_run_done(&run);
}

static void check_segments(const struct file *file, const char *path)
{
    struct test_run run = readelf("-l", path);
    uint32_t index = 0;
    for (char *line = strtok(run.out, "\n"); line != NULL; line = strtok(NULL, "\n")) {
        char type[64], flags[8] = "";
        unsigned long offset, vaddr, paddr, filesz, memsz;
        struct sonde__elf_segment segment;
        if (sscanf(line, " %63s %lx %lx %lx %lx %lx", type, &offset, &vaddr, &paddr, &filesz,
                   &memsz) != 6) {
            continue;
        }
        CHECK(sonde__elf_segment(&file->elf, index++, &segment));
        CHECK_EQ(segment.offset, offset);
        CHECK_EQ(segment.vaddr, vaddr);
        CHECK_EQ(segment.filesz, filesz);
        CHECK_EQ(segment.memsz, memsz);
        CHECK_EQ(segment.type == SONDE__PT_LOAD, strcmp(type, "LOAD") == 0);
        (void)flags;
    }
    CHECK_EQ(index, file->elf.phnum);
    test_run_done(&run);
}

static void check_build_id(const struct file *file, const char *path)
{
    struct test_run run = readelf("-n", path);
    struct sonde__build_id id = {0};
    char text[2 * SONDE__BUILD_ID_MAX + 1] = "";
    char *want = strstr(run.out, "Build ID: ");
    if (sonde__elf_build_id(&file->elf, &id)) {
        for (unsigned i = 0; i < id.size; i++) {
            snprintf(text + 2 * i, 3, "%02x", id.bytes[i]);
        }
    }
    if (want != NULL) {
        want += strlen("Build ID: ");
        want[strcspn(want, "\n")] = '\0';
    }
    CHECK_STR(text, want != NULL ? want : "");
    test_run_done(&run);
}

static bool count_note(void *ctx, const char *owner, uint32_t type, const uint8_t *data,
                       size_t size)
{
    unsigned *count = ctx;
    (void)type;
    (void)data;
    CHECK(size > 0);
    *count += strcmp(owner, "GNU") == 0;
    return true;
}

/* readelf prints one owner per line: "  GNU   0x00000014   NT_GNU_BUILD_ID ..." */
static void check_notes(const struct file *file, const char *path)
{
    struct test_run run = readelf("-n", path);
    unsigned count = 0, want = 0;
    for (const char *at = run.out; (at = strstr(at, "\n  GNU ")) != NULL; at++) {
        want++;
    }
    sonde__elf_each_note(&file->elf, count_note, &count);
    CHECK_EQ(count, want);
    CHECK(count > 0);
    test_run_done(&run);
}

static void check_symbols(const struct file *file, const char *path)
{
    struct sonde__elf_symbols symbols, by_dynamic;
    struct sonde__elf_symbol symbol;
    struct sonde__elf_versions versions;
    struct sonde__elf stripped = file->elf;
    struct test_run run = readelf("--dyn-syms", path);
    unsigned seen = 0;
    if (!sonde__elf_dynamic_symbols(&file->elf, &symbols)) {
        test_run_done(&run);
        return;
    }
    sonde__elf_versions(&file->elf, &versions);
    for (char *line = strtok(run.out, "\n"); line != NULL; line = strtok(NULL, "\n")) {
        unsigned index;
        unsigned long value, size;
        char size_text[32], type[16], bind[16], visibility[16], section[16], name[4096] = "";
        if (sscanf(line, " %u: %lx %31s %15s %15s %15s %15s %4095s", &index, &value, size_text,
                   type, bind, visibility, section, name) < 7) {
            continue;
        }
        size = strtoul(size_text, NULL, 0);
        const char *version = name + strcspn(name, "@");
        version += strspn(version, "@"); /* "@@": the default version */
        CHECK(sonde__elf_version(&versions, index) != NULL);
        if (strcmp(section, "ABS") != 0) { /* readelf shows none for versions */
            CHECK_STR(sonde__elf_version(&versions, index), version);
        }
        name[strcspn(name, "@")] = '\0';
        CHECK(sonde__elf_symbols_at(&symbols, index, &symbol));
        CHECK_EQ(symbol.value, value);
        CHECK_EQ(symbol.size, size);
        CHECK_EQ(symbol.type == SONDE__STT_FUNC, strcmp(type, "FUNC") == 0);
        CHECK_EQ(symbol.bind == SONDE__STB_WEAK, strcmp(bind, "WEAK") == 0);
        CHECK_EQ(symbol.section == 0, strcmp(section, "UND") == 0);
        if (strcmp(type, "SECTION") != 0) { /* readelf shows the section's name there */
            CHECK_STR(symbol.name, name);
        }
        seen++;
    }
    CHECK_EQ(seen, symbols.count);
    /* Without section headers the tables are the same. The hash gives the count, and may not cover
     * the imports after the last export. */
    stripped.shnum = 0;
    CHECK(sonde__elf_dynamic_symbols(&stripped, &by_dynamic));
    CHECK(by_dynamic.data == symbols.data);
    CHECK(by_dynamic.strings == symbols.strings);
    CHECK(by_dynamic.count <= symbols.count);
    for (uint32_t i = by_dynamic.count; i < symbols.count; i++) {
        CHECK(sonde__elf_symbols_at(&symbols, i, &symbol));
        CHECK(symbol.section == 0 || symbol.type == 3 /* STT_SECTION */);
    }
    test_run_done(&run);
}

static void check_cfi(const struct file *file)
{
    struct sonde__cfi by_section, by_segment;
    struct sonde__elf stripped = file->elf;
    if (!sonde__elf_cfi(&file->elf, &by_section) || by_section.eh_frame_hdr == NULL) {
        return;
    }
    stripped.shnum = 0;
    CHECK(sonde__elf_cfi(&stripped, &by_segment));
    CHECK(by_section.eh_frame == by_segment.eh_frame);
    CHECK_EQ(by_section.eh_frame_vaddr, by_segment.eh_frame_vaddr);
    CHECK(by_section.eh_frame_size <= by_segment.eh_frame_size);
    CHECK(by_section.eh_frame_hdr == by_segment.eh_frame_hdr);
    CHECK_EQ(by_section.eh_frame_hdr_size, by_segment.eh_frame_hdr_size);
    CHECK(sonde__elf_at_vaddr(&file->elf, by_section.eh_frame_vaddr, by_section.eh_frame_size) ==
          by_section.eh_frame);
}

static void check_file(const char *path)
{
    struct file file = open_file(path);
    CHECK(file.elf.damage == NULL);
    check_sections(&file, path);
    check_segments(&file, path);
    check_build_id(&file, path);
    check_notes(&file, path);
    check_symbols(&file, path);
    check_cfi(&file);
    LLVMFuzzerTestOneInput((const uint8_t *)file.data, file.size);
    free(file.data);
}

TEST(libc_equals_readelf)
{
    check_file("/lib/x86_64-linux-gnu/libc.so.6");
}

TEST(python_equals_readelf)
{
    check_file("/usr/bin/python3.11");
}

TEST(libstdcxx_equals_readelf)
{
    check_file("/usr/lib/x86_64-linux-gnu/libstdc++.so.6");
}

TEST(this_program_equals_readelf)
{
    char path[1024];
    ssize_t size = readlink("/proc/self/exe", path, sizeof path - 1);
    CHECK(size > 0);
    path[size] = '\0';
    check_file(path);
}

TEST(libc_of_aarch64_equals_readelf)
{
    check_file("/usr/aarch64-linux-gnu/lib/libc.so.6");
}

/* A small shared library of some KiB, with everything that the reader reads. */
static struct file make_small(const char *options)
{
    char path[1024], command[2048];
    const char *const argv[] = {"sh", "-c", command, NULL};
    struct test_run run;
    snprintf(path, sizeof path, "%s/small.so", test_folder());
    snprintf(command, sizeof command,
             "echo 'int one(void);static int hidden(int a){return a+one();}int f(int a)"
             "{return hidden(a);}' | ${CC:-cc} -w -O0 -shared -fPIC -nostdlib -Wl,--build-id=sha1 "
             "-Wl,-z,noseparate-code %s -x c - -o %s",
             options, path);
    run = test_run(argv, NULL, NULL, 60);
    if (run.status != 0) {
        SKIP("%s: %s", command, run.err);
    }
    test_run_done(&run);
    return open_file(path);
}

static void feed(const char *data, size_t size)
{
    uint8_t *copy = malloc(size != 0 ? size : 1);
    memcpy(copy, data, size);
    LLVMFuzzerTestOneInput(copy, size);
    free(copy);
}

TEST_TIMEOUT(every_truncation_is_read_without_harm, 250)
{
    struct file file = make_small("");
    for (size_t size = 0; size < file.size; size++) {
        feed(file.data, size);
    }
    free(file.data);
}

TEST_TIMEOUT(every_flipped_byte_is_read_without_harm, 280)
{
    static const uint8_t flips[] = {0xff, 0x80, 0x01};
    struct file file = make_small("-Wl,--hash-style=sysv");
    for (unsigned f = 0; f < sizeof flips; f++) {
        for (size_t i = 0; i < file.size; i++) {
            file.data[i] = (char)(file.data[i] ^ flips[f]);
            feed(file.data, file.size);
            file.data[i] = (char)(file.data[i] ^ flips[f]);
        }
    }
    free(file.data);
}

TEST(files_that_are_not_elf_are_errors)
{
    struct sonde__elf elf;
    struct sonde_error error;
    char header[64] = "\x7f"
                      "ELF\2\2\1";
    CHECK_EQ(sonde__elf_open("#!/bin/sh\n", 10, &elf, &error), SONDE_UNSUPPORTED);
    CHECK_STR(error.what, "not an ELF");
    CHECK_EQ(sonde__elf_open("", 0, &elf, &error), SONDE_UNSUPPORTED);
    CHECK_EQ(sonde__elf_open(header, 64, &elf, &error), SONDE_UNSUPPORTED);
    CHECK_CONTAINS(error.what, "big-endian");
    header[5] = 1;
    CHECK_EQ(sonde__elf_open(header, 60, &elf, &error), SONDE_CORRUPT);
    CHECK_CONTAINS(error.what, "cut short");
    CHECK_EQ(sonde__elf_open(header, 64, &elf, &error), SONDE_CORRUPT);
    header[4] = 9;
    CHECK_EQ(sonde__elf_open(header, 64, &elf, &error), SONDE_UNSUPPORTED);
}

TEST(a_cut_file_says_what_is_missing)
{
    struct file file = make_small("");
    struct sonde__elf elf;
    CHECK_OK(sonde__elf_open(file.data, file.size - 100, &elf, NULL));
    CHECK_CONTAINS(elf.damage, "section headers");
    CHECK_EQ(elf.damage_at, file.elf.shoff);
    free(file.data);
}

/* gABI: more than 0xff00 sections or 0xffff segments are counted in section header 0. Only cores
 * have so many segments, and the reader accepts this only for cores. */
TEST(extended_numbering_is_resolved)
{
    enum { SECTIONS = 70000, SEGMENTS = 66000 };
    size_t shoff = 64, phoff = shoff + SECTIONS * (size_t)64;
    size_t size = phoff + SEGMENTS * (size_t)56;
    uint8_t *file = calloc(1, size);
    struct sonde__elf elf;
    uint32_t count = SECTIONS, names = SECTIONS - 1, segments = SEGMENTS;
    memcpy(file,
           "\x7f"
           "ELF\2\1\1",
           7);
    file[16] = SONDE__ET_CORE; /* e_type */
    memcpy(file + 32, &phoff, 8);
    memcpy(file + 40, &shoff, 8);
    file[54] = 56;
    file[56] = file[57] = 0xff; /* e_phnum: PN_XNUM */
    file[58] = 64;
    file[62] = file[63] = 0xff;              /* e_shstrndx: SHN_XINDEX */
    memcpy(file + shoff + 32, &count, 4);    /* sh_size */
    memcpy(file + shoff + 40, &names, 4);    /* sh_link */
    memcpy(file + shoff + 44, &segments, 4); /* sh_info */
    CHECK_OK(sonde__elf_open(file, size, &elf, NULL));
    CHECK_EQ(elf.shnum, SECTIONS);
    CHECK_EQ(elf.phnum, SEGMENTS);
    CHECK_EQ(elf.shstrndx, SECTIONS - 1);
    CHECK(elf.damage == NULL);
    file[16] = SONDE__ET_DYN;
    CHECK_OK(sonde__elf_open(file, size, &elf, NULL));
    CHECK_EQ(elf.phnum, SONDE__PN_XNUM);
    free(file);
}
