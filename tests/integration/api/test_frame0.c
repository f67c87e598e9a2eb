// SPDX-License-Identifier: Apache-2.0
/* Frame 0 in every kind of build: optimisation, compiler, static and shared, link-time optimised.
 */
#include <stdio.h>
#include <string.h>

#include "test.h"

static void build_and_run(const char *compiler, const char *flags, const char *libraries)
{
    char command[16384];
    snprintf(command, sizeof command,
             "cd '%s'; %s %s -Wno-unused-command-line-argument -I'%s/include' -o frame0 "
             "'%s/tests/integration/api/frame0.c' %s 2>errors || { cat errors; exit 1; }; "
             "LD_LIBRARY_PATH='%s/src' ./frame0",
             test_folder(), compiler, flags, test_source_dir(), test_source_dir(), libraries,
             test_build_dir());
    const char *const argv[] = {"sh", "-c", command, NULL};
    struct test_run run = test_run(argv, NULL, NULL, 250);
    if (run.status != 0 || strcmp(run.out, "frame 0 is the caller\n") != 0) {
        FAIL("%s %s: %d: %s%s", compiler, flags, run.status, run.out, run.err);
    }
    test_run_done(&run);
}

static void in_each_optimisation(const char *flags, const char *library)
{
    static const char *const compilers[] = {"cc", "clang"};
    static const char *const levels[] = {"-O0", "-O2", "-O3 -fno-omit-frame-pointer", "-Os"};
    for (unsigned i = 0; i < 8; i++) {
        char all[256], libraries[8192];
        snprintf(all, sizeof all, "%s %s", levels[i % 4], flags);
        snprintf(libraries, sizeof libraries, library, test_build_dir());
        build_and_run(compilers[i / 4], all, libraries);
    }
}

TEST_TIMEOUT(shared, 120)
{
    in_each_optimisation("", "-L'%s/src' -lsonde -pthread");
}
TEST_TIMEOUT(archive, 120)
{
    in_each_optimisation("", "'%s/src/libsonde.a' -pthread");
}
TEST_TIMEOUT(whole_static, 120)
{
    in_each_optimisation("-static -Wl,--eh-frame-hdr", "'%s/src/libsonde.a' -pthread");
}
TEST_TIMEOUT(position_dependent, 120)
{
    in_each_optimisation("-fno-pie -no-pie", "'%s/src/libsonde.a' -pthread");
}

/* The library itself, compiled together with the program. */
static void with_sources(const char *compiler, const char *flags)
{
    char all[1024], libraries[8192];
    const char *src = test_source_dir();
    snprintf(all, sizeof all, "%s -DSTACK_ONLY -D_GNU_SOURCE -fvisibility=hidden", flags);
    snprintf(libraries, sizeof libraries,
             "-I'%s/src/common/base' -I'%s/src/machine/arch' -I'%s/src/machine/os' "
             "-I'%s/src/images/image' -I'%s/src/stacks/unwind' "
             "-I'%s/src/stacks/capture' $(ls '%s'/src/common/base/*.c '%s'/src/machine/arch/*.c "
             "'%s'/src/machine/os/*.c "
             "'%s'/src/machine/os/linux/*.c '%s'/src/images/image/*.c '%s'/src/stacks/unwind/*.c "
             "'%s'/src/stacks/capture/*.[cS])",
             src, src, src, src, src, src, src, src, src, src, src, src, src);
    build_and_run(compiler, all, libraries);
}

TEST_TIMEOUT(library_without_optimisation, 300)
{
    with_sources("cc", "-O0");
}
TEST_TIMEOUT(library_optimised_at_link_time, 300)
{
    with_sources("cc", "-O2 -flto=2");
}
TEST_TIMEOUT(library_by_clang_with_frame_pointers, 300)
{
    with_sources("clang", "-O2 -fno-omit-frame-pointer");
}
