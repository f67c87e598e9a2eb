// SPDX-License-Identifier: Apache-2.0
/* Shipped files (tools/npm-packages.list): sonde finds each descriptor that llvm-nm lists without
 * using symbols, with the function of a block. Stripped files have descriptors, too; files without
 * blocks have none. Files that were not fetched are reported and skipped. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "blockfile.h"
#include "darwin.h"
#include "host_file.h"
#include "test.h"

struct numbers {
    uint64_t all[512];
    size_t count;
};

static int by_value(const void *a, const void *b)
{
    const uint64_t *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

static void add(struct numbers *numbers, uint64_t number)
{
    CHECK(numbers->count < sizeof numbers->all / sizeof numbers->all[0]);
    numbers->all[numbers->count++] = number;
}

/* Null: the package was not fetched. */
static const char *shipped_path(const char *package, const char *file)
{
    static char path[1200];
    const char *cache = getenv("SONDE_CACHE");
    snprintf(path, sizeof path, "%s/npm/%s/%s", cache != NULL ? cache : "", package, file);
    return access(path, R_OK) == 0 ? path : NULL;
}

/* --- what we find --- */

struct look {
    const char *path, *arch; /* null: all machines that sonde reads */
    struct numbers descs;
    unsigned blocks, without_block, without_flags;
};

static bool look_at(void *ctx, const struct sonde__macho_member *member)
{
    struct look *look = ctx;
    struct sonde__macho macho;
    struct sonde__loaded loaded;
    struct sonde__blockfile blocks;
    struct sonde_error error;
    CHECK_OK(sonde__macho_open(member->data, member->size, &macho, &error));
    if ((look->arch != NULL &&
         strcmp(look->arch, sonde__macho_arch_name(macho.cpu, macho.subtype)) != 0) ||
        sonde__loaded_macho(&macho, &loaded, &error) != SONDE_OK) {
        return true;
    }
    CHECK_OK(sonde__blockfile_find(&loaded, false, &blocks, &error));
    if (blocks.damage != NULL) {
        FAIL("%s: %.*s: %s", look->path, (int)member->name_size, member->name, blocks.damage);
    }
    for (uint32_t i = 0; i < blocks.desc_count; i++) {
        add(&look->descs, blocks.descs[i].vaddr - loaded.bias);
        look->without_block += blocks.descs[i].block_count == 0;
        look->without_flags += !blocks.descs[i].flags_known;
        CHECK(!blocks.descs[i].flags_differ);
    }
    look->blocks += blocks.block_count;
    sonde__blockfile_done(&blocks);
    sonde__loaded_done(&loaded);
    return true;
}

static void look(const char *path, const char *arch, struct look *ret_look)
{
    struct sonde__host_file file;
    struct sonde_error error;
    memset(ret_look, 0, sizeof *ret_look);
    ret_look->path = path;
    ret_look->arch = arch;
    CHECK_OK(sonde__host_file_map(NULL, path, (uint64_t)1 << 30, &file, &error));
    CHECK_OK(sonde__macho_each(file.data, file.size, look_at, ret_look, &error));
    sonde__host_file_unmap(&file);
    qsort(ret_look->descs.all, ret_look->descs.count, sizeof(uint64_t), by_value);
}

/* --- what llvm-nm says: of an archive's members one after the other --- */

static void read_symbols(const char *path, const char *arch, struct numbers *ret_descs)
{
    char *save = NULL;
    memset(ret_descs, 0, sizeof *ret_descs);
    char *output = darwin_output("llvm-nm-19 --no-llvm-bc --arch=%s '%s' 2>errors | "
                                 "grep -E '[0-9a-f]{16} [sSdD] _(__|)block_descriptor'",
                                 arch, path);
    for (char *line = strtok_r(output, "\n", &save); line != NULL;
         line = strtok_r(NULL, "\n", &save)) {
        add(ret_descs, strtoull(line, NULL, 16));
    }
    free(output);
    qsort(ret_descs->all, ret_descs->count, sizeof(uint64_t), by_value);
}

static void compare(const char *path, const char *arch, unsigned expected)
{
    static struct look found;
    static struct numbers its;
    look(path, arch, &found);
    read_symbols(path, arch, &its);
    CHECK_EQ(its.count, expected);
    CHECK_EQ(found.descs.count, its.count);
    for (size_t i = 0; i < its.count; i++) {
        CHECK_EQ(found.descs.all[i], its.all[i]);
    }
    if (found.without_block != 0 || found.without_flags != 0) {
        FAIL("%s: %u descriptors without a block, %u without flags", path, found.without_block,
             found.without_flags);
    }
}

struct shipped {
    const char *package, *file;
    unsigned x86_64, arm64; /* number of descriptors; 0: no such slice, or none in it */
    bool is_long;
};

static void compare_all(const struct shipped *files, unsigned count)
{
    unsigned seen = 0, descs = 0;
    for (unsigned i = 0; i < count; i++) {
        const struct shipped *f = &files[i];
        const char *path = shipped_path(f->package, f->file);
        if (f->is_long && !test_long()) {
            continue;
        }
        if (path == NULL) {
            dprintf(STDOUT_FILENO, "    skipped, not fetched: %s %s\n", f->package, f->file);
            continue;
        }
        if (f->x86_64 != 0) {
            compare(path, "x86_64", f->x86_64);
        }
        if (f->arm64 != 0) {
            compare(path, "arm64", f->arm64);
        }
        descs += f->x86_64 + f->arm64;
        seen++;
    }
    dprintf(STDOUT_FILENO, "    %u files, %u descriptors\n", seen, descs);
    if (seen == 0) {
        SKIP("no package was fetched (./dev setup test)");
    }
}

TEST_TIMEOUT(finds_descriptors_in_shipped_files, 200)
{
#define WHISPER "ios/rnwhisper.xcframework/"
    static const struct shipped files[] = {
        {"@nut-tree-fork+libnut-darwin@2.7.5", "build/Release/libnut.node", 1, 1, false},
        {"get-windows@9.3.0", "main", 2, 2, false},
        {"node-notifier@10.0.1",
         "vendor/mac.noindex/terminal-notifier.app/Contents/MacOS/terminal-notifier", 3, 0, false},
        {"@node-llama-cpp+mac-arm64-metal@3.21.1", "bins/mac-arm64-metal/libggml-metal.so", 0, 5,
         false},
        {"bun-webgpu-darwin-arm64@0.1.5", "libwebgpu_wrapper.dylib", 0, 3, false},
        {"whisper.rn@0.7.4", WHISPER "ios-arm64/rnwhisper.framework/rnwhisper", 0, 9, false},
        {"whisper.rn@0.7.4", WHISPER "tvos-arm64/rnwhisper.framework/rnwhisper", 0, 9, false},
        {"whisper.rn@0.7.4", WHISPER "ios-arm64_x86_64-simulator/rnwhisper.framework/rnwhisper", 9,
         9, false},
        {"whisper.rn@0.7.4", WHISPER "tvos-arm64_x86_64-simulator/rnwhisper.framework/rnwhisper", 9,
         9, true},
        {"webgpu@0.6.2", "dist/darwin-universal/dawn.node", 4, 4, true},
        {"tns-ios@6.5.6", "framework/internal/NativeScript.framework/NativeScript", 13, 13, true},
    };
    compare_all(files, sizeof files / sizeof files[0]);
}

TEST_TIMEOUT(finds_descriptors_in_shipped_archives, 200)
{
    static const struct shipped files[] = {
        {"jpush-react-native@2.7.5", "ios/RCTJPushModule/libjpush-ios-3.2.8.a", 7, 52, false},
        {"react-native-wechat@1.9.12", "ios/libWeChatSDK.a", 33, 33, true},
        {"react-native-wechat-lib@3.0.4", "ios/libWeChatSDK.a", 20, 20, true},
        {"tns-ios@6.5.6", "framework/internal/TKLiveSync/TKLiveSync", 33, 33, true},
    };
    compare_all(files, sizeof files / sizeof files[0]);
}

/* Without names: the code passes two C blocks to libdispatch. */
TEST_TIMEOUT(finds_descriptors_in_stripped_files, 200)
{
    static const char *const machines[] = {"x86_64", "arm64"};
    static struct look found;
    const char *path = shipped_path("grandiose-mac@0.0.6", "lib/mac_universal/libndi.dylib");
    if (path == NULL || !test_long()) {
        SKIP("%s", path == NULL ? "not fetched" : "with --long only");
    }
    for (unsigned i = 0; i < 2; i++) {
        look(path, machines[i], &found);
        CHECK_EQ(found.descs.count, 2);
        CHECK_EQ(found.blocks, 2);
        CHECK_EQ(found.without_flags, 0);
    }
}

TEST_TIMEOUT(finds_no_blocks_in_files_without_them, 200)
{
#define LLAMA "@node-llama-cpp+mac-arm64-metal@3.21.1"
    static const struct shipped files[] = {
        {"fsevents@2.3.3", "fsevents.node", 0, 0, false},
        {"uiohook-napi@1.5.5", "prebuilds/darwin-arm64/uiohook-napi.node", 0, 0, false},
        {"uiohook-napi@1.5.5", "prebuilds/darwin-x64/uiohook-napi.node", 0, 0, false},
        {"objc-js@1.4.0", "prebuilds/darwin-arm64/node.napi.armv8.node", 0, 0, false},
        {"objc-js@1.4.0", "prebuilds/darwin-x64/node.napi.node", 0, 0, false},
        {"@mariozechner+clipboard-darwin-arm64@0.3.9", "clipboard.darwin-arm64.node", 0, 0, false},
        {"@os-theme+darwin-arm64@0.0.9", "os-theme-napi.darwin-arm64.node", 0, 0, false},
        {"osx-notifier@0.2.2", "osx/terminal-notifier-info.app/Contents/MacOS/terminal-notifier", 0,
         0, false},
        {LLAMA, "bins/mac-arm64-metal/libggml-base.dylib", 0, 0, false},
        {LLAMA, "bins/mac-arm64-metal/libggml-cpu-apple_m1.so", 0, 0, false},
        {LLAMA, "bins/mac-arm64-metal/libggml-blas.so", 0, 0, false},
        {LLAMA, "bins/mac-arm64-metal/libllama.metal.v0.4.0.dylib", 0, 0, false},
        {"@roamhq+wrtc-darwin-arm64@0.10.0", "wrtc.node", 0, 0, true},
        {"@roamhq+wrtc-darwin-x64@0.10.0", "wrtc.node", 0, 0, true},
    };
    static struct look found;
    unsigned seen = 0;
    for (unsigned i = 0; i < sizeof files / sizeof files[0]; i++) {
        const char *path = shipped_path(files[i].package, files[i].file);
        if (files[i].is_long && !test_long()) {
            continue;
        }
        if (path == NULL) {
            dprintf(STDOUT_FILENO, "    skipped, not fetched: %s\n", files[i].package);
            continue;
        }
        look(path, NULL, &found);
        if (found.descs.count != 0) {
            FAIL("%s: a descriptor at 0x%" PRIx64, path, found.descs.all[0]);
        }
        seen++;
    }
    if (seen == 0) {
        SKIP("no package was fetched (./dev setup test)");
    }
}
