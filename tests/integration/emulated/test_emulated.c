// SPDX-License-Identifier: Apache-2.0
/* qemu describes its buffer of translated code by GDB's JIT interface: its threads' stacks lead out
 * of it. gdb, which reads the same, names the same callers. */
#include <stdio.h>
#include <string.h>

#include "test.h"

/* Looks until both threads of the guest are in translated code. */
static const char look[] =
    "command -v qemu-aarch64 aarch64-linux-gnu-gcc gdb >/dev/null || exit 77\n"
    "aarch64-linux-gnu-gcc -O1 -static -pthread -o guest \"$D/guest.c\"\n"
    "qemu-aarch64 ./guest & P=$!\n"
    "i=0; while :; do\n"
    "\"$S\" stacks $P > stacks || :\n"
    "[ $(grep -c '#0 *code_gen_buffer' stacks) = 2 ] && break\n"
    "i=$((i + 1)); [ $i -lt 200 ] || { cat stacks; kill $P; exit 1; }; sleep 0.1; done\n"
    "timeout 100 gdb -nx -batch -p $P -ex 'thread apply all bt' > gdb 2>/dev/null || :\n"
    "kill $P; cat stacks\n"
    "grep -q 'code_gen_buffer ()' gdb && echo gdb names it\n";

TEST_TIMEOUT(translated_code_is_left, 120)
{
    char command[4096];
    unsigned threads = 0;
    snprintf(command, sizeof command,
             "cd '%s'; S='%s/cli/sonde'; D='%s/tests/integration/emulated'\n%s", test_folder(),
             test_build_dir(), test_source_dir(), look);
    const char *const argv[] = {"sh", "-ec", command, NULL};
    struct test_run run = test_run(argv, NULL, NULL, 110);
    if (run.status == 77) {
        SKIP("no qemu-user, gdb or compiler for aarch64");
    }
    if (run.status != 0 || strstr(run.out, "stack ends here") != NULL) {
        FAIL("ended with %d: %s%s", run.status, run.out, run.err);
    }
    for (const char *at = run.out; (at = strstr(at, "#0  ")) != NULL; at++) {
        const char *end = strstr(at, "\n\n");
        const char *code = strstr(at, "code_gen_buffer");
        end = end != NULL ? end : at + strlen(at);
        if (code == NULL || code > end) {
            continue;
        }
        const char *loop = strstr(at, "cpu_loop");
        const char *thread = strstr(at, "start_thread");
        const char *start = strstr(at, "_start+");
        CHECK(loop != NULL && loop < end);
        CHECK((thread != NULL && thread < end) || (start != NULL && start < end));
        threads++;
    }
    CHECK_EQ(threads, 2);
    test_run_done(&run);
}
