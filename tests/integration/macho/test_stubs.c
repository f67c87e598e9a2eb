// SPDX-License-Identifier: Apache-2.0
/* Names of the linker's stubs in Mach-O files, and of functions whose names Apple removed: in the
 * index of a loaded image and in index files, against llvm-objdump. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "darwin.h"
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
