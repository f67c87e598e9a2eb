// SPDX-License-Identifier: Apache-2.0
/* Names of Objective-C in Mach-O files without local symbols: of methods, and of stubs that send a
 * message. Which names there are, the symbols say that the files had before. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "darwin.h"
#include "named_file.h"
#include "test.h"

#define PROGRAM "tests/integration/macho/methods.m"

/* The name at `vaddr`, which must be the same in both kinds of indexes. */
static const char *name_at(struct named_file *f, uint64_t vaddr)
{
    struct sonde__symbol symbol;
    const char *name = named_file_indexed(f, vaddr);
    if (sonde__symbol_find(f->live, vaddr, &symbol) && symbol.source != SONDE__SYMBOL_PLT) {
        CHECK_STR(symbol.name, name);
        CHECK(symbol.start <= vaddr && vaddr < symbol.end);
    } else {
        CHECK(name[0] == '\0' || strstr(name, "@plt") != NULL);
    }
    return name;
}

struct names {
    unsigned methods, senders;
};

/* Symbols of the file `symbols` that are Objective-C's, against the names in `path`. */
static struct names compare_names(const char *symbols, const char *path)
{
    struct names names = {0};
    struct named_file f;
    named_file_open(path, &f);
    char *table = darwin_output("llvm-nm-19 '%s'", symbols);
    for (char *line = strtok(table, "\n"); line != NULL; line = strtok(NULL, "\n")) {
        char *name = strlen(line) > 19 ? line + 19 : "";
        uint64_t vaddr = strtoull(line, NULL, 16);
        bool is_method = (name[0] == '-' || name[0] == '+') && name[1] == '[' &&
                         name[strlen(name) - 1] == ']'; /* not "-[Class selector].cold.1" */
        if (!is_method && (strncmp(name, "_objc_msgSend$", 14) != 0 ||
                           strstr(name, "__thunk") != NULL)) { /* a jump to the stub, by zig */
            continue;
        }
        names.methods += is_method;
        names.senders += !is_method;
        CHECK_STR(name_at(&f, vaddr), name + !is_method);
        CHECK_STR(name_at(&f, vaddr + 3), name + !is_method);
    }
    free(table);
    named_file_close(&f);
    return names;
}

static void check_built(const char *triple, const char *cflags, const char *lflags,
                        unsigned senders)
{
    char path[4096], linker[200];
    snprintf(linker, sizeof linker, "-dylib %s", lflags);
    darwin_build(PROGRAM, triple, cflags, linker, "library");
    darwin_shell("llvm-strip-19 -x -o stripped library");
    snprintf(path, sizeof path, "%s/stripped", test_folder());
    char *left = darwin_output("llvm-nm-19 stripped");
    CHECK(strstr(left, "[Shape") == NULL);
    free(left);
    struct names names = compare_names("library", path);
    dprintf(STDOUT_FILENO, "    %s %s %s: %u methods, %u senders\n", triple, cflags, lflags,
            names.methods, names.senders);
    CHECK(names.methods == (senders != 0 ? 15 : 11)); /* those that leave by a jump, too */
    CHECK(names.senders == senders);
    /* a block has no name without its symbol, and not the method's */
    struct named_file f;
    char *block = darwin_output("llvm-nm-19 library | grep block_invoke");
    named_file_open(path, &f);
    CHECK_STR(name_at(&f, strtoull(block, NULL, 16)), "");
    free(block);
    named_file_close(&f);
}

TEST_TIMEOUT(methods_of_stripped_library, 100)
{
    static const char *const links[] = {"-fixup_chains", "-no_fixup_chains"};
    /* lld 19 makes no relative lists for x86-64 */
    check_built("arm64-apple-macos13", "-O1", "-fixup_chains -objc_relative_method_lists", 0);
    for (unsigned k = 0; k < 2; k++) {
        check_built("arm64-apple-macos13", "-O1", links[k], 0);
        check_built("x86_64-apple-macos13", "-O1", links[k], 0);
    }
}

TEST_TIMEOUT(stubs_that_send_messages, 100)
{
    static const char *const links[] = {"-objc_stubs_fast", "-objc_stubs_small"};
    check_built("x86_64-apple-macos13", "-O1 -DSENDERS", "", 6);
    for (unsigned k = 0; k < 2; k++) {
        check_built("arm64-apple-macos13", "-O1 -DSENDERS", links[k], 6);
    }
}

static void check_shipped(const char *package, const char *arch, unsigned methods, unsigned senders)
{
    char file[4096], path[4096];
    darwin_npm(package, arch, file, sizeof file);
    darwin_shell("llvm-strip-19 -x -o stripped '%s' 2>&1", file);
    snprintf(path, sizeof path, "%s/stripped", test_folder());
    struct names names = compare_names(file, path);
    dprintf(STDOUT_FILENO, "    %s %s: %u methods, %u senders\n", strrchr(package, '/') + 1,
            arch != NULL ? arch : "", names.methods, names.senders);
    CHECK(names.methods == methods);
    CHECK(names.senders == senders);
}

#define WHISPER "whisper.rn@0.7.4/ios/rnwhisper.xcframework/"

TEST_TIMEOUT(methods_of_whisper, 100)
{
    check_shipped(WHISPER "ios-arm64/rnwhisper.framework/rnwhisper", NULL, 60, 154);
    check_shipped(WHISPER "tvos-arm64_x86_64-simulator/rnwhisper.framework/rnwhisper", "arm64", 60,
                  154);
    check_shipped(WHISPER "tvos-arm64_x86_64-simulator/rnwhisper.framework/rnwhisper", "x86_64", 60,
                  0);
}

TEST_TIMEOUT(methods_of_node_notifier, 100)
{
    check_shipped("node-notifier@10.0.1/vendor/mac.noindex/terminal-notifier.app/Contents/MacOS/"
                  "terminal-notifier",
                  NULL, 17, 0);
}

/* Stripped when they were built: each stub of the section sends some message. */
TEST_TIMEOUT(stubs_of_stripped_files_send_messages, 100)
{
    static const char *const files[] = {
        "objc-js@1.4.0/prebuilds/darwin-arm64/node.napi.armv8.node",
        "@node-llama-cpp+mac-arm64-metal@3.21.1/bins/mac-arm64-metal/libggml-metal.so"};
    for (unsigned i = 0; i < 2; i++) {
        char path[4096];
        struct named_file f;
        struct sonde__macho_section section;
        darwin_npm(files[i], NULL, path, sizeof path);
        named_file_open(path, &f);
        CHECK(sonde__macho_section_by_name(&f.macho, "__TEXT", "__objc_stubs", &section));
        CHECK(section.size >= 640);
        for (uint64_t at = 0; at < section.size; at += 32) {
            CHECK(strncmp(name_at(&f, section.vaddr + at), "objc_msgSend$", 13) == 0);
        }
        named_file_close(&f);
    }
}

TEST_TIMEOUT(stubs_of_webgpu_send_messages, 100)
{
    check_shipped("bun-webgpu-darwin-arm64@0.1.5/libwebgpu_wrapper.dylib", NULL, 0, 228);
}
