// SPDX-License-Identifier: Apache-2.0
/* Names in shipped Mach-O files, against llvm-symbolizer: C++ with functions folded into one,
 * Objective-C, Swift, from npm's registry (tools/npm-packages.list). */
#include <stdio.h>
#include <string.h>

#include "agree.h"
#include "darwin.h"
#include "test.h"

#define ADDRESSES 20000

static const struct shipped {
    const char *path;
    const char *arch; /* of a universal file; else null */
    unsigned least;   /* addresses that have a name */
    bool is_long;     /* fetched with --long only */
} files[] = {
    {"webgpu@0.6.2/dist/darwin-universal/dawn.node", "arm64", 19000, true},
    {"webgpu@0.6.2/dist/darwin-universal/dawn.node", "x86_64", 19000, true},
    {"@node-llama-cpp+mac-arm64-metal@3.21.1/bins/mac-arm64-metal/libllama.metal.v0.4.0.dylib",
     NULL, 19000},
    {"@node-llama-cpp+mac-arm64-metal@3.21.1/bins/mac-arm64-metal/libggml-metal.so", NULL, 19000},
    {"get-windows@9.3.0/main", "arm64", 10000},
    {"get-windows@9.3.0/main", "x86_64", 10000},
};

static void check(const struct shipped *file)
{
    char path[4096], name[200];
    if (file->is_long && !test_long()) {
        SKIP("only with --long");
    }
    darwin_npm(file->path, file->arch, path, sizeof path);
    struct agreement a = compare(path, NULL, NULL, ADDRESSES);
    snprintf(name, sizeof name, "%s %s", strrchr(file->path, '/') + 1,
             file->arch != NULL ? file->arch : "");
    CHECK(a.known >= file->least);
    must_agree(name, a);
}

TEST_TIMEOUT(shipped_dawn_arm64, 250)
{
    check(&files[0]);
}

TEST_TIMEOUT(shipped_dawn_x86_64, 250)
{
    check(&files[1]);
}

TEST_TIMEOUT(shipped_llama_arm64, 250)
{
    check(&files[2]);
}

TEST_TIMEOUT(shipped_metal_arm64, 250)
{
    check(&files[3]);
}

TEST_TIMEOUT(shipped_swift_arm64, 250)
{
    check(&files[4]);
}

TEST_TIMEOUT(shipped_swift_x86_64, 250)
{
    check(&files[5]);
}
