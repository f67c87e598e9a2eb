// SPDX-License-Identifier: Apache-2.0
/* The single-step oracle on x86-64: programs of stock libraries, built by gcc and by clang, stepped
 * one instruction at a time. At each instruction every frame of the walk is compared with a shadow
 * stack built from calls and returns. If the walk is wrong, gdb and libunwind must give the same
 * wrong answer at that instant. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "test.h"
#include "tracee.h"

enum { EXPLAINED_MAX = 20, SHORT_INSTRUCTIONS = 25000 };

static struct compare compare;

/* The explained places of all programs of this run. */
static const char *list_path(void)
{
    static char path[512];
    snprintf(path, sizeof path, "%s/tests/integration/oracle/explained", test_build_dir());
    return path;
}

/* Different places in the list. */
static unsigned count_listed(void)
{
    char command[600];
    unsigned count = 0;
    snprintf(command, sizeof command, "sort -u '%s' | wc -l", list_path());
    FILE *pipe = popen(command, "r");
    CHECK(pipe != NULL);
    CHECK_EQ(fscanf(pipe, "%u", &count), 1);
    CHECK_OK(pclose(pipe));
    return count;
}

static void run_program(const char *name, bool from_mark, const char *rounds, uint64_t limit)
{
    char path[512];
    snprintf(path, sizeof path, "%s/tests/integration/oracle/%s", test_build_dir(), name);
    const char *const argv[] = {path, rounds, from_mark ? "mark" : NULL, NULL};
    tracee_run(&compare, argv, from_mark, limit);
}

static void check_program(const char *name, bool from_mark, const char *rounds, uint64_t limit)
{
    unsigned explained = 0;
    run_program(name, from_mark, rounds, limit);
    unsigned unexplained = compare_report(&compare, &explained);
    compare_list(&compare, list_path());
    for (unsigned i = 0; i < compare.place_count; i++) {
        /* our own call frame information has no excuse, even if others agree */
        CHECK(strstr(compare.places[i].image, "/hooks_") == NULL);
        /* landing pads are entry points, not return addresses */
        CHECK(compare.places[i].count == 0 || strstr(compare.places[i].image, "/libgcc_s") == NULL);
    }
    compare_done(&compare);
    if (unexplained > 0) {
        FAIL("wrong at %u places", unexplained);
    }
    unsigned of_all = count_listed();
    printf("     %u places explained, %u in all programs so far\n", explained, of_all);
    CHECK(of_all <= EXPLAINED_MAX);
    if (from_mark) { /* the loader's start has no call frame information that marks a root */
        CHECK_EQ(compare.unended, 0);
    }
}

/* Only a part: the whole program would take much longer. */
static void check_part(const char *name, bool from_mark, uint64_t limit)
{
    check_program(name, from_mark, "1000", limit);
    CHECK_EQ(compare.instants, limit);
}

static uint64_t limit(uint64_t whole)
{
    return test_long() ? whole : SHORT_INSTRUCTIONS;
}

/* Allocate stdout's buffer, and what popen and libunwind keep, before the harness counts. */
static __attribute__((constructor)) void warm_up(void)
{
    FILE *pipe = popen("true", "r");
    if (pipe != NULL) {
        (void)pclose(pipe);
    }
    peers_warm_up();
    (void)unlink(list_path());
    setvbuf(stdout, NULL, _IONBF, 0);
}

#define PROGRAM(name, from_mark, whole)                                                            \
    TEST_TIMEOUT(name, 900)                                                                        \
    {                                                                                              \
        check_part(#name, from_mark, limit(whole));                                                \
    }

PROGRAM(libc_gcc, false, 600000)
PROGRAM(libc_clang, true, 200000)
PROGRAM(flow_gcc, true, 100000)
PROGRAM(flow_clang, true, 100000)
PROGRAM(glib_gcc, true, 300000)
PROGRAM(glib_clang, true, 100000)
PROGRAM(sqlite_gcc, true, 500000)
PROGRAM(sqlite_clang, true, 100000)
PROGRAM(crypto_gcc, true, 400000)
PROGRAM(debug_frame_gcc, false, 100000)
PROGRAM(hooks_gcc, true, 100000)
PROGRAM(hooks_clang, true, 100000)
PROGRAM(stdcxx_gcc, true, 400000)
PROGRAM(stdcxx_clang, true, 100000)

/* The oracle notices a wrong walk inside of a switch. */
FAIL_TEST(a_wrong_target_is_no_target, "wrong at")
{
    unsigned explained = 0;
    compare.lies = true;
    run_program("flow_gcc", true, "1000", SHORT_INSTRUCTIONS);
    unsigned unexplained = compare_report(&compare, &explained);
    compare_done(&compare);
    if (unexplained > 0) {
        FAIL("wrong at %u places", unexplained);
    }
}

/* From the loader's first instruction to the system call that ends the process. */
TEST_TIMEOUT(a_whole_life, 300)
{
    check_program("flow_gcc", false, "1", 1000000);
    CHECK(compare.instants > 50000 && compare.instants < 1000000);
}
