// SPDX-License-Identifier: Apache-2.0
/* Bounds of functions in stripped files whose linker listed no starts of functions (zig's does
 * not): each address has the name that it has in the unstripped file, or none. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "darwin.h"
#include "named_file.h"
#include "test.h"

struct bounds {
    unsigned long named, lost; /* bytes of functions that keep their symbol */
    unsigned long unnamed, wrong;
};

/* Compare each address of code, in the index of a loaded image and in the index file. */
static struct bounds compare(struct named_file *whole, struct named_file *stripped)
{
    struct bounds b = {0};
    struct sonde__macho_section text;
    unsigned step = whole->macho.arch == SONDE_ARCH_AARCH64 ? 4 : 1;
    CHECK(sonde__macho_section_by_name(&whole->macho, "__TEXT", "__text", &text));
    for (uint64_t at = text.vaddr; at < text.vaddr + text.size; at += step) {
        struct sonde__symbol wanted, found;
        if (!sonde__symbol_find(whole->live, at, &wanted)) {
            continue;
        }
        if (sonde__symbol_find(stripped->live, at, &found)) {
            bool is_wrong = found.start != wanted.start;
            b.named += step;
            b.wrong += is_wrong ? step : 0;
            CHECK((at & 0xff) != 0 || strcmp(named_file_indexed(stripped, at), "") != 0);
            if (is_wrong && b.wrong < 100) {
                dprintf(STDOUT_FILENO, "    0x%llx is in %s, not %s\n", (unsigned long long)at,
                        wanted.name, found.name);
            }
        } else if (sonde__symbol_find(stripped->live, wanted.start, &found)) {
            b.lost += step;
        } else {
            b.unnamed += step;
            CHECK((at & 0xff) != 0 || strcmp(named_file_indexed(stripped, at), "") == 0);
        }
    }
    return b;
}

/* Make the list of the starts of functions empty, as zig's linker leaves it. */
static void remove_starts(const char *path)
{
    size_t size;
    char *bytes = test_read_file(path, &size);
    struct sonde__macho macho;
    struct sonde_error error;
    CHECK_OK(sonde__macho_open(bytes, size, &macho, &error));
    uint64_t at = macho.commands_at;
    for (uint32_t i = 0, head[2]; i < macho.command_count; i++, at += head[1]) {
        memcpy(head, bytes + at, sizeof head);
        if (head[0] == SONDE__LC_FUNCTION_STARTS) {
            memset(bytes + at + 12, 0, 4);
        }
    }
    test_write_file(path, bytes, size);
    free(bytes);
}

/* percent: of the bytes of functions that keep their symbols, those that have its name. */
static void check(const char *path, unsigned percent, const char *told)
{
    struct named_file whole, stripped;
    char name[4096];
    darwin_shell("cp '%s' stripped && llvm-strip-19 -x stripped", path);
    snprintf(name, sizeof name, "%s/stripped", test_folder());
    remove_starts(name);
    named_file_open(path, &whole);
    named_file_open(name, &stripped);
    struct bounds b = compare(&whole, &stripped);
    dprintf(STDOUT_FILENO, "    %s: %lu bytes named, %lu lost, %lu without symbol, %lu wrong\n",
            told, b.named, b.lost, b.unnamed, b.wrong);
    CHECK(b.wrong == 0);
    CHECK(b.unnamed != 0);
    CHECK(b.named * 100 >= (b.named + b.lost) * percent);
    named_file_close(&whole);
    named_file_close(&stripped);
}

TEST_TIMEOUT(stripped_file_of_zig, 200)
{
    char path[4096];
    darwin_npm("bun-webgpu-darwin-arm64@0.1.5/libwebgpu_wrapper.dylib", NULL, path, sizeof path);
    check(path, 90, "webgpu");
}

/* Functions that do not return, tables of jumps between instructions. */
TEST_TIMEOUT(stripped_files_of_apples_linker, 200)
{
    char path[4096];
    darwin_npm("whisper.rn@0.7.4/ios/rnwhisper.xcframework/ios-arm64_x86_64-simulator/"
               "rnwhisper.framework/rnwhisper",
               "x86_64", path, sizeof path);
    check(path, 90, "whisper x86_64");
    darwin_npm("@node-llama-cpp+mac-arm64-metal@3.21.1/bins/mac-arm64-metal/"
               "libllama.metal.v0.4.0.dylib",
               NULL, path, sizeof path);
    check(path, 85, "llama arm64");
}

TEST(stripped_file_without_function_starts)
{
    static const char *const triples[] = {"arm64-apple-macos13", "x86_64-apple-macos13"};
    static const char *const levels[] = {"-O0", "-O1", "-Os"};
    char path[4096];
    for (unsigned i = 0; i < 6; i++) {
        darwin_build("tests/integration/macho/methods.m", triples[i % 2], levels[i / 2], "-dylib",
                     "library");
        snprintf(path, sizeof path, "%s/library", test_folder());
        check(path, 80, triples[i % 2]);
    }
}

/* Code beyond the reach of a branch: lld puts a jump between two functions, which its list of
 * starts does not have. */
TEST_TIMEOUT(jumps_between_functions_have_no_name, 200)
{
    static const char source[] = ".section __TEXT,__text,regular,pure_instructions\n"
                                 ".subsections_via_symbols\n"
                                 ".globl _first\n.p2align 2\n_first:\n bl _last\n ret\n"
                                 ".globl _before\n_before:\n .space 0x5000000\n"
                                 ".globl _behind\n_behind:\n .space 0x5000000\n"
                                 ".private_extern _last\n_last:\n ret\n";
    char path[4096];
    struct sonde__macho macho;
    struct sonde__symbol_index *index;
    struct sonde__symbol symbol;
    struct sonde_error error;
    size_t size;
    snprintf(path, sizeof path, "%s/large.s", test_folder());
    test_write_file(path, source, sizeof source - 1);
    darwin_shell("clang-19 -target arm64-apple-macos13 -c large.s -o large.o && "
                 "ld64.lld-19 -arch arm64 -platform_version macos 13 13 -dylib large.o -o large");
    char *line = darwin_output("llvm-nm-19 large | grep thunk");
    uint64_t vaddr = strtoull(line, NULL, 16);
    free(line);
    darwin_shell("llvm-strip-19 -x large");
    snprintf(path, sizeof path, "%s/large", test_folder());
    char *bytes = test_read_file(path, &size);
    CHECK_OK(sonde__macho_open(bytes, size, &macho, &error));
    CHECK_OK(sonde__symbol_index_create_macho(&macho, NULL, &index, &error));
    CHECK(sonde__symbol_find(index, vaddr - 4, &symbol));
    CHECK_STR(symbol.name, "before");
    for (uint64_t at = vaddr; at < vaddr + 12; at += 4) {
        CHECK(!sonde__symbol_find(index, at, &symbol));
    }
    CHECK(sonde__symbol_find(index, vaddr + 12, &symbol));
    CHECK_STR(symbol.name, "behind");
    sonde__symbol_index_destroy(index);
    free(bytes);
}
