// SPDX-License-Identifier: Apache-2.0
/* All Swift names in shipped programs decode, in both styles (tools/npm-packages.list). Which names
 * there are, llvm-nm says. */
#include <stdio.h>
#include <string.h>

#include "darwin.h"
#include "swift.h"
#include "test.h"

/* Not `MR`, an operator of Xcode's compilers that no document describes. */
static bool is_documented(const char *name)
{
    size_t length = strlen(name);
    return length < 2 || strcmp(name + length - 2, "MR") != 0;
}

static void check(const char *file, unsigned least)
{
    char path[4096];
    static char text[1 << 16];
    darwin_npm(file, NULL, path, sizeof path);
    const char *argv[] = {"llvm-nm-19", "--format=just-symbols", path, NULL};
    struct test_run run = test_run(argv, NULL, NULL, 120);
    unsigned names = 0, unknown = 0;
    for (char *name = strtok(run.out, "\n"); name != NULL; name = strtok(NULL, "\n")) {
        if (!sonde__swift_is_encoded(name) || !is_documented(name)) {
            continue;
        }
        names++;
        if (!sonde__swift_decode(name, SONDE__SWIFT_FULL, text, sizeof text) ||
            !sonde__swift_decode(name, SONDE__SWIFT_SHORT, text, sizeof text)) {
            unknown++;
            printf("    %s\n", name);
        }
    }
    test_run_done(&run);
    printf("    %s: %u names of Swift\n", strrchr(file, '/') + 1, names);
    CHECK(names >= least);
    CHECK(unknown == 0);
}

TEST_TIMEOUT(names_of_get_windows_decode, 100)
{
    check("get-windows@9.3.0/main", 100);
}

TEST_TIMEOUT(names_of_swiftlint_decode, 250)
{
    if (!test_long()) {
        SKIP("only with --long");
    }
    check("@expo+swiftlint@0.57.1/bin/darwin-arm64/swiftlint", 60000);
}
