// SPDX-License-Identifier: Apache-2.0
/* A program cannot tell that `sonde run --` started it: same output, same exit status, same view
 * of its process. Each program is run plain and watched, from the same parent. */
#include <stdio.h>
#include <stdlib.h>

#include "test.h"

static const char *own_program(const char *name)
{
    static char path[4096];
    snprintf(path, sizeof path, "%s/tests/integration/compat/%s", test_build_dir(), name);
    return path;
}

/* The yardstick itself: what the probe prints does not change from run to run. */
TEST(probe_prints_the_same_twice)
{
    const char *const argv[] = {own_program("compat_probe"), "a", "b c", NULL};
    struct test_run first = test_run(argv, NULL, NULL, 30);
    struct test_run second = test_run(argv, NULL, NULL, 30);
    CHECK_EQ(first.status, 7);
    CHECK_STR(second.out, first.out);
    CHECK_CONTAINS(first.out, "argv 2 b c\n");
    CHECK_CONTAINS(first.out, "status SigCgt:\t0000000000000000\n");
    test_run_done(&first);
    test_run_done(&second);
}
