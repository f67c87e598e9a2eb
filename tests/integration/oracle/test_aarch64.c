// SPDX-License-Identifier: Apache-2.0
/* The single-step oracle on aarch64, by qemu's gdb stub, from the loader's first instruction on.
 * Our unwinder runs on this machine. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "emulated.h"
#include "test.h"

enum { EXPLAINED_MAX = 20, SHORT_LOADER = 10000, SHORT_STATIC = 30000, SHORT_HOOKS = 3000 };

/* A program that ends. */
#define UNTIL_END 1000000

static struct compare compare;

static void check_program(const char *name, const char *rounds, uint64_t limit)
{
    compare.may_not_know = limit == UNTIL_END;
    char path[512];
    unsigned explained = 0;
    snprintf(path, sizeof path, "%s/tests/integration/oracle/%s", test_build_dir(), name);
    const char *const argv[] = {path, rounds, NULL};
    emulated_run(&compare, argv, limit);
    unsigned unexplained = compare_report(&compare, &explained);
    for (unsigned i = 0; i < compare.place_count; i++) {
        /* our own call frame information has no excuse, even if others agree */
        CHECK(strstr(compare.places[i].image, "/hooks_") == NULL);
    }
    compare_done(&compare);
    if (unexplained > 0) {
        FAIL("wrong at %u places", unexplained);
    }
    CHECK(explained <= EXPLAINED_MAX);
    if (limit != UNTIL_END) {
        CHECK_EQ(compare.instants, limit);
    }
}

/* Allocate stdout's buffer, and what popen keeps, before the harness counts. */
static __attribute__((constructor)) void warm_up(void)
{
    FILE *pipe = popen("true", "r");
    if (pipe != NULL) {
        (void)pclose(pipe);
    }
    setvbuf(stdout, NULL, _IONBF, 0);
}

TEST_TIMEOUT(libc_aarch64, 1500)
{
    check_program("libc_aarch64", "1000", test_long() ? 250000 : SHORT_LOADER);
}

/* Without the loader's work a few instructions get far. */
TEST_TIMEOUT(libc_aarch64_static, 1500)
{
    check_program("libc_aarch64_static", "1000", test_long() ? 100000 : SHORT_STATIC);
}

/* Through the stub of function hooks, without libc. */
TEST_TIMEOUT(hooks_aarch64, 1500)
{
    check_program("hooks_aarch64", "1000", test_long() ? 100000 : SHORT_HOOKS);
}

/* longjmp, setcontext, swapcontext: where they have begun to fetch the target's registers, glibc's
 * records give no caller (the return address is kept disguised, sp in memory, and swapcontext puts
 * its own address in lr). The walk must report that it does not know, and give no wrong frame. */
TEST_TIMEOUT(flow_aarch64, 1500)
{
    check_program("flow_aarch64", "1", UNTIL_END);
    CHECK(compare.switched > 0);
    CHECK(compare.unknown > 0 && compare.unknown < compare.instants / 10);
}
