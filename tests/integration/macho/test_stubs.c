// SPDX-License-Identifier: Apache-2.0
/* Names of the linker's stubs in Mach-O files, and of functions whose names Apple removed: in the
 * index of a loaded image and in index files, against llvm-objdump. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "darwin.h"
#include "mem_heap.h"
#include "named_file.h"
#include "test.h"

#define PROGRAM "tests/integration/macho/program.m"

/* Each stub, at its first and last byte; beyond the last is no stub's name. */
static void check_stub(struct named_file *f, uint64_t vaddr, uint64_t size, const char *target)
{
    char shown[4096];
    target += target[0] == '_';
    snprintf(shown, sizeof shown, "%s@plt", target);
    for (uint64_t at = vaddr; at < vaddr + size; at += size - 1) {
        struct sonde__symbol symbol;
        CHECK(sonde__symbol_find(f->live, at, &symbol));
        CHECK_STR(symbol.name, target);
        CHECK(symbol.source == SONDE__SYMBOL_PLT);
        CHECK(symbol.start == vaddr && symbol.end == vaddr + size);
        CHECK_STR(named_file_indexed(f, at), shown);
    }
}

/* Returns the number of stubs. */
static unsigned check_stubs(const char *path)
{
    struct named_file f;
    struct sonde__macho_section section;
    unsigned count = 0;
    named_file_open(path, &f);
    char *table = darwin_output("llvm-objdump-19 --macho --indirect-symbols '%s'", path);
    uint64_t size = 0;
    for (char *line = strtok(table, "\n"); line != NULL; line = strtok(NULL, "\n")) {
        char segment[20], name[4096];
        unsigned long long vaddr, index;
        if (sscanf(line, "Indirect symbols for (%19[^,],%4095[^)])", segment, name) == 2) {
            CHECK(sonde__macho_section_by_name(&f.macho, segment, name, &section));
            size = strstr(name, "stubs") != NULL ? section.reserved2 : 0;
        } else if (size != 0 && sscanf(line, "0x%llx %llu %4095s", &vaddr, &index, name) == 3) {
            check_stub(&f, vaddr, size, name);
            count++;
        }
    }
    free(table);
    named_file_close(&f);
    return count;
}

static void check_shipped(const char *file, const char *arch, unsigned least)
{
    char path[4096];
    darwin_npm(file, arch, path, sizeof path);
    unsigned count = check_stubs(path);
    printf("    %s: %u stubs\n", strrchr(file, '/') + 1, count);
    CHECK(count >= least);
}

TEST(stubs_have_names_of_their_targets)
{
    static const char *const triples[] = {"arm64-apple-macos13", "x86_64-apple-macos13"};
    char path[4096];
    for (unsigned i = 0; i < 2; i++) {
        darwin_build(PROGRAM, triples[i], "-O1", "-dylib", "library");
        snprintf(path, sizeof path, "%s/library", test_folder());
        CHECK(check_stubs(path) == 2);
        darwin_shell("llvm-strip-19 -x library");
        CHECK(check_stubs(path) == 2);
    }
}

TEST_TIMEOUT(stubs_of_node_notifier, 100)
{
    check_shipped("node-notifier@10.0.1/vendor/mac.noindex/terminal-notifier.app/Contents/MacOS/"
                  "terminal-notifier",
                  NULL, 30);
}

TEST_TIMEOUT(stubs_of_get_windows, 100)
{
    check_shipped("get-windows@9.3.0/main", "arm64", 100);
    check_shipped("get-windows@9.3.0/main", "x86_64", 100);
}

TEST_TIMEOUT(stubs_of_llama, 100)
{
    check_shipped(
        "@node-llama-cpp+mac-arm64-metal@3.21.1/bins/mac-arm64-metal/libllama-common.dylib", NULL,
        300);
}

/* Write a text over every place where another of its length is. Returns the number. */
static unsigned replace(const char *path, const char *old, const char *new)
{
    size_t size, length = strlen(old);
    unsigned count = 0;
    char *bytes = test_read_file(path, &size);
    CHECK(strlen(new) == length);
    for (char *at = bytes; (at = memmem(at, (size_t)(bytes + size - at), old, length)) != NULL;) {
        memcpy(at, new, length);
        count++;
    }
    test_write_file(path, bytes, size);
    free(bytes);
    return count;
}

/* Apple's shared cache has "<redacted>" for local symbols. */
TEST(redacted_is_no_name)
{
    char path[4096];
    struct named_file f;
    struct sonde__symbol symbol;
    darwin_build(PROGRAM, "arm64-apple-macos13", "-O1 -Dhelper=ten_chars", "-dylib", "library");
    snprintf(path, sizeof path, "%s/library", test_folder());
    char *line = darwin_output("llvm-nm-19 library | grep ' _ten_chars$'");
    uint64_t vaddr = strtoull(line, NULL, 16);
    free(line);
    named_file_open(path, &f);
    CHECK_STR(named_file_indexed(&f, vaddr), "ten_chars");
    CHECK(sonde__symbol_find(f.live, vaddr, &symbol));
    CHECK_STR(symbol.name, "ten_chars");
    named_file_close(&f);
    CHECK(replace(path, "_ten_chars", "<redacted>") == 1);
    named_file_open(path, &f);
    CHECK_STR(named_file_indexed(&f, vaddr), "");
    CHECK(!sonde__symbol_find(f.live, vaddr, &symbol));
    named_file_close(&f);
}

/* --- hostile --- */

enum { TEXT_BYTES = 100000, SYMBOLS = 20000, TEXT_AT = 0x1000, SYMBOLS_AT = 0x20000 };

static void put(uint8_t *at, uint64_t value, unsigned size)
{
    for (unsigned i = 0; i < size; i++) {
        at[i] = (uint8_t)(value >> 8 * i);
    }
}

/* Symbols whose names are parts of one long text: together more than 100 times the file. */
TEST(names_in_an_index_are_limited_by_the_file)
{
    const size_t size = SYMBOLS_AT + SYMBOLS * SONDE__MACHO_NLIST64_BYTES;
    uint8_t *file = calloc(1, size), *segment = file + 32, *section = segment + 72;
    uint8_t *table = section + SONDE__MACHO_SECTION64_BYTES;
    uint32_t seed = 1;
    put(file, SONDE__MH_MAGIC_64, 4);
    put(file + 4, SONDE__CPU_ARM64, 4);
    put(file + 12, SONDE__MH_DYLIB, 4);
    put(file + 16, 2, 4);
    put(file + 20, 72 + SONDE__MACHO_SECTION64_BYTES + 24, 4);
    put(segment, SONDE__LC_SEGMENT_64, 4);
    put(segment + 4, 72 + SONDE__MACHO_SECTION64_BYTES, 4);
    memcpy(segment + 8, "__TEXT", sizeof "__TEXT");
    put(segment + 32, 0x1000000, 8); /* vmsize */
    put(segment + 48, size, 8);
    put(segment + 56, SONDE__VM_PROT_EXECUTE, 4);
    put(segment + 60, SONDE__VM_PROT_EXECUTE, 4);
    put(segment + 64, 1, 4);
    memcpy(section, "__text", sizeof "__text");
    put(section + 40, 0x900000, 8);
    put(section + 64, SONDE__S_ATTR_PURE_INSTRUCTIONS, 4);
    put(table, SONDE__LC_SYMTAB, 4);
    put(table + 4, 24, 4);
    put(table + 8, SYMBOLS_AT, 4);
    put(table + 12, SYMBOLS, 4);
    put(table + 16, TEXT_AT, 4);
    put(table + 20, TEXT_BYTES + 1, 4);
    for (uint32_t i = 0; i < TEXT_BYTES; i++) {
        seed = seed * 1664525 + 1013904223;
        file[TEXT_AT + i] = (uint8_t)('a' + (seed >> 24) % 26);
    }
    for (uint32_t i = 0; i < SYMBOLS; i++) {
        uint8_t *symbol = file + SYMBOLS_AT + (size_t)i * SONDE__MACHO_NLIST64_BYTES;
        put(symbol, (uint64_t)i * 4, 4);
        symbol[4] = SONDE__N_SECT | SONDE__N_EXT;
        symbol[5] = 1;
        put(symbol + 8, 0x800 + (uint64_t)i * 16, 8);
    }
    struct sonde_error error;
    struct sonde__macho macho;
    struct sonde__symindex_made made;
    const struct sonde__symindex_source source = {.macho_debug = &macho};
    CHECK_OK(sonde__macho_open(file, size, &macho, &error));
    CHECK_OK(sonde__symindex_convert(&source, &made, &error));
    CHECK(made.symbols > 1000);
    CHECK(made.size < (16u << 20) + 10 * size);
    sonde__mem_free(made.data);
    free(file);
}
