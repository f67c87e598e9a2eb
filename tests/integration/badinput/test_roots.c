// SPDX-License-Identifier: Apache-2.0
/* Programs with another root: sonde still finds their files, and calls none deleted. */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "start.h"
#include "test.h"

/* Put the waiter and its libraries below the test's folder; then `enter` runs it there. */
static void look_below_root(const char *enter)
{
    char command[1024], pid_text[16];
    const char *const start[] = {"sh", "-c", command, "sh", test_folder(), NULL};
    const char *const look[] = {sonde_program(), "stacks", pid_text, NULL};
    struct test_run run;
    pid_t pid;
    if (geteuid() != 0) {
        SKIP("only root may change its root");
    }
    snprintf(command, sizeof command,
             "set -e; cd \"$1\"; mkdir r; cp '%s' r/waiter; for f in $(ldd r/waiter | "
             "grep -o '/[^ ]*'); do mkdir -p r/${f%%/*}; cp -L $f r/$f; done; %s",
             test_program("support", "waiter"), enter);
    pid = start_program(start);
    wait_blocked(pid);
    snprintf(pid_text, sizeof pid_text, "%d", (int)pid);
    run = test_run(look, NULL, NULL, 60);
    stop_program(pid);
    CHECK_EQ(run.status, 0);
    CHECK_CONTAINS(run.out, "wait_in_main+");
    CHECK_CONTAINS(run.out, "lock_thread+");
    if (strstr(run.out, "deleted") != NULL) {
        FAIL("a file is there and was not found: %s", run.out);
    }
    test_run_done(&run);
}

TEST(chroot_in_our_mount_namespace)
{
    look_below_root("exec chroot r /waiter");
}

TEST(chroot_in_another_mount_namespace)
{
    look_below_root("exec unshare --mount --root=r /waiter");
}

TEST(pivoted_root_in_another_mount_namespace)
{
    look_below_root("exec unshare --mount sh -c 'mount --bind r r; cd r; mkdir old; "
                    "pivot_root . old; exec ./waiter'");
}
