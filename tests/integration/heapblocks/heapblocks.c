// SPDX-License-Identifier: Apache-2.0
#include "heapblocks.h"

#include <glob.h>
#include <stdio.h>

#include "programs.h"

static const char *runtime_library(void)
{
    static char path[600];
    const char *library = program_unpacked("libblocksruntime0", "usr/lib");
    glob_t found;
    char pattern[500];
    if (library == NULL || !program_on_path("clang-19")) {
        SKIP("clang-19 or libblocksruntime0 is not there (./dev setup test)");
    }
    snprintf(pattern, sizeof pattern, "%s/*/libBlocksRuntime.so.0", library);
    if (glob(pattern, 0, NULL, &found) != 0) {
        SKIP("libBlocksRuntime.so.0 is not there (./dev setup test)");
    }
    snprintf(path, sizeof path, "%s", found.gl_pathv[0]);
    globfree(&found);
    return path;
}

const char *heapblocks_built(const char *name)
{
    static char paths[4][600];
    static unsigned next;
    char *path = paths[next++ % 4];
    snprintf(path, sizeof paths[0], "%s/%s", test_folder(), name);
    return path;
}

void heapblocks_build(const char *name)
{
    const char *argv[] = {program_source("heapblocks/build.sh"),
                          program_source("heapblocks"),
                          test_folder(),
                          runtime_library(),
                          SONDE_LIBRARY,
                          name,
                          NULL};
    struct test_run run = test_run(argv, NULL, NULL, 100);
    if (run.status != 0) {
        FAIL("the programs do not build: %s", run.err);
    }
    test_run_done(&run);
}
