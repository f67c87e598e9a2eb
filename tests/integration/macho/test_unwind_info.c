// SPDX-License-Identifier: Apache-2.0
/* The reader of __unwind_info against llvm-objdump --unwind-info: the same functions with the same
 * encodings, in the same order, and each is found by its first and its last byte. Files linked by
 * Apple's linkers, from npm's registry (tools/npm-packages.list), and one that is made here. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "darwin.h"
#include "image_macho.h"
#include "image_unwind_info.h"
#include "test.h"

static void must_find(const struct sonde__unwind_info *info, uint64_t vaddr,
                      const struct sonde__unwind_info_entry *wanted)
{
    struct sonde__unwind_info_entry found;
    CHECK(sonde__unwind_info_find(info, vaddr, &found));
    CHECK_EQ(found.start, wanted->start);
    CHECK_EQ(found.end, wanted->end);
    CHECK_EQ(found.encoding, wanted->encoding);
}

/* A line of an entry: "[0]: function offset=0x00004640, encoding[0]=0x01000000", or without the
 * index in a regular page. Entries of the index, of encodings and of LSDAs are no such lines. */
static bool read_line(const char *line, unsigned *ret_offset, unsigned *ret_encoding)
{
    const char *encoding = strstr(line, ", encoding");
    const char *offset = strstr(line, "]: function offset=0x");
    return encoding != NULL && offset != NULL && offset < encoding &&
           sscanf(offset, "]: function offset=0x%x", ret_offset) == 1 &&
           sscanf(strchr(encoding, '='), "=0x%x", ret_encoding) == 1;
}

/* The same entries. Of several at one address, the last has the code. */
static void compare(const struct sonde__unwind_info *info, char *listing, const char *name)
{
    struct sonde__unwind_info_walk walk;
    struct sonde__unwind_info_entry entry;
    unsigned count = 0, offset = 0, encoding = 0, next_offset = 0, next_encoding = 0;
    bool has_next = false;
    sonde__unwind_info_begin(info, &walk);
    for (char *line = strtok(listing, "\n"); line != NULL || has_next;) {
        bool has = has_next;
        offset = next_offset;
        encoding = next_encoding;
        has_next = false;
        for (; line != NULL && !has_next; line = strtok(NULL, "\n")) {
            has_next = read_line(line, &next_offset, &next_encoding);
        }
        if (!has || (has_next && next_offset == offset)) {
            continue;
        }
        CHECK(sonde__unwind_info_next(&walk, &entry));
        CHECK_EQ(entry.start, info->base + offset);
        CHECK_EQ(entry.encoding, encoding);
        must_find(info, entry.start, &entry);
        must_find(info, entry.end - 1, &entry);
        count++;
    }
    CHECK(!sonde__unwind_info_next(&walk, &entry));
    CHECK(count <= sonde__unwind_info_count_max(info));
    dprintf(STDOUT_FILENO, "    %s: %u\n", name, count);
    CHECK(count > 0);
}

static void check_file(const char *path, const char *name)
{
    struct sonde__macho macho;
    struct sonde__macho_section section;
    struct sonde__unwind_info info;
    struct sonde__unwind_info_entry entry;
    struct sonde_error error;
    uint64_t start = 0, end = 0;
    size_t size = 0;
    char *bytes = test_read_file(path, &size);
    CHECK_OK(sonde__macho_open(bytes, size, &macho, &error));
    CHECK(sonde__macho_section_by_name(&macho, "__TEXT", "__unwind_info", &section));
    CHECK(sonde__unwind_info_open(section.data, section.size, macho.base, &info));
    CHECK(sonde__unwind_info_range(&info, &start, &end));
    CHECK(!sonde__unwind_info_find(&info, start - 1, &entry));
    CHECK(!sonde__unwind_info_find(&info, end, &entry));
    char *listing = darwin_output("llvm-objdump-19 --macho --unwind-info '%s'", path);
    compare(&info, listing, name);
    free(listing);
    free(bytes);
}

/* A file of npm's packages. arch: of a universal file; else null */
static void check_shipped(const char *file, const char *arch)
{
    char path[4096], name[300];
    snprintf(path, sizeof path, "%s/npm/%s", getenv("SONDE_CACHE"), file);
    if (access(path, R_OK) != 0) {
        SKIP("not fetched: %s", path);
    }
    snprintf(name, sizeof name, "%s %s", strrchr(file, '/') + 1, arch != NULL ? arch : "");
    if (arch != NULL) {
        darwin_shell("llvm-lipo-19 -thin %s -output thin '%s'", arch, path);
        snprintf(path, sizeof path, "%s/thin", test_folder());
    }
    check_file(path, name);
}

TEST_TIMEOUT(entries_are_those_of_llvm_in_x86_64, 100)
{
    check_shipped("fsevents@2.3.3/fsevents.node", "x86_64");
    check_shipped("get-windows@9.3.0/main", "x86_64");
    check_shipped("@nut-tree-fork+libnut-darwin@2.7.5/build/Release/libnut.node", "x86_64");
    check_shipped("node-notifier@10.0.1/vendor/mac.noindex/terminal-notifier.app/Contents/MacOS/"
                  "terminal-notifier",
                  NULL);
    check_shipped("uiohook-napi@1.5.5/prebuilds/darwin-x64/uiohook-napi.node", NULL);
    check_shipped("objc-js@1.4.0/prebuilds/darwin-x64/node.napi.node", NULL);
}

TEST_TIMEOUT(entries_are_those_of_llvm_in_arm64, 200)
{
    check_shipped("fsevents@2.3.3/fsevents.node", "arm64");
    check_shipped("get-windows@9.3.0/main", "arm64");
    check_shipped("@node-llama-cpp+mac-arm64-metal@3.21.1/bins/mac-arm64-metal/"
                  "libllama.metal.v0.4.0.dylib",
                  NULL);
    check_shipped("bun-webgpu-darwin-arm64@0.1.5/libwebgpu_wrapper.dylib", NULL);
    check_shipped("whisper.rn@0.7.4/ios/rnwhisper.xcframework/ios-arm64/rnwhisper.framework/"
                  "rnwhisper",
                  NULL);
    check_shipped("@os-theme+darwin-arm64@0.0.9/os-theme-napi.darwin-arm64.node", NULL);
}

TEST(entries_are_those_of_llvm_in_files_made_here)
{
    char path[600];
    snprintf(path, sizeof path, "%s/made", test_folder());
    darwin_build("tests/integration/macho/program.m", "x86_64-apple-macos13", "-O1", "-dylib",
                 "made");
    check_file(path, "made x86_64");
    darwin_build("tests/integration/macho/program.m", "arm64-apple-macos13", "-O1", "-dylib",
                 "made");
    check_file(path, "made arm64");
}
