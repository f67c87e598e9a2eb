// SPDX-License-Identifier: Apache-2.0
/* `sonde stacks` of a process that waits for a file system that does not answer. The program knows
 * the file, lsof the descriptor's. sonde itself must not hang, and must not access that file
 * system. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "start.h"
#include "test.h"

struct slow {
    pid_t pid, server;
    char file[300];
    char line[1024];
};

static void start_and_look(const char *kind, struct slow *slow)
{
    char truth[512], mount[512], command[600], head[32], channel[100] = "";
    int pid = 0, server = 0;
    memset(slow, 0, sizeof *slow);
    CHECK(prctl(PR_SET_CHILD_SUBREAPER, 1) == 0);
    snprintf(truth, sizeof truth, "%s/truth", test_folder());
    snprintf(mount, sizeof mount, "%s/mnt", test_folder());
    snprintf(command, sizeof command, "mkdir -p %s", mount);
    CHECK_EQ(system(command), 0);
    const char *const argv[] = {test_program("cause", "cause_slow"), kind, truth, mount, NULL};
    slow->pid = start_program(argv);
    snprintf(command, sizeof command, "/proc/%d/wchan", (int)slow->pid);
    for (unsigned i = 0; i < 2000 && strcmp(channel, "request_wait_answer") != 0; i++) {
        usleep(5000);
        char *text = test_read_file(command, NULL);
        snprintf(channel, sizeof channel, "%s", text);
        free(text);
    }
    char *text = test_read_file(truth, NULL);
    CHECK_EQ(sscanf(text, "%d %d %299[^\n]", &pid, &server, slow->file), 3);
    free(text);
    slow->server = server;
    snprintf(command, sizeof command, "$SONDE stacks --no-names %d", (int)slow->pid);
    struct test_run run = shell(command);
    snprintf(head, sizeof head, "\nthread %d ", (int)slow->pid);
    const char *at = strstr(run.out, head);
    if (at == NULL) {
        FAIL("no thread in: %s%s", run.out, run.err);
    }
    snprintf(slow->line, sizeof slow->line, "%.*s", (int)strcspn(at + 1, "\n"), at + 1);
    test_run_done(&run);
}

static void stop(struct slow *slow)
{
    kill(slow->server, SIGKILL); /* ends all requests */
    stop_program(slow->pid);
    (void)waitpid(slow->server, NULL, 0); /* ours by then, if it outlived its parent */
}

static void check_kind(const char *kind, const char *call, bool has_descriptor)
{
    struct slow slow;
    char expected[800];
    start_and_look(kind, &slow);
    const char *fd = strstr(slow.line, "  fd ");
    if (has_descriptor) {
        CHECK(fd != NULL);
        snprintf(expected, sizeof expected, "in %s  fd %d %s", call, atoi(fd + 5), slow.file);
    } else {
        snprintf(expected, sizeof expected, "in %s  %s", call, slow.file);
    }
    CHECK_CONTAINS(slow.line, expected);
    if (has_descriptor) { /* -b: lsof itself must not ask the file system */
        snprintf(expected, sizeof expected, "lsof -b -w -a -p %d -d %d -F n", (int)slow.pid,
                 atoi(fd + 5));
        struct test_run run = shell(expected);
        CHECK_CONTAINS(run.out, slow.file);
        test_run_done(&run);
    }
    stop(&slow);
}

TEST(files_that_do_not_answer)
{
    if (geteuid() != 0 || access("/dev/fuse", R_OK | W_OK) != 0) {
        SKIP("only root mounts a FUSE file system, where the kernel has them");
    }
    check_kind("fsync", "fsync", true);
    check_kind("read", "read", true);
    check_kind("open", "openat", false);
}

TEST(paths_that_do_not_answer)
{
    struct slow slow;
    char expected[800];
    if (geteuid() != 0 || access("/dev/fuse", R_OK | W_OK) != 0) {
        SKIP("only root mounts a FUSE file system, where the kernel has them");
    }
    start_and_look("unlink", &slow);
    snprintf(expected, sizeof expected, "  %s", slow.file);
    CHECK_CONTAINS(slow.line, "in unlink");
    CHECK_CONTAINS(slow.line, expected);
    stop(&slow);
    start_and_look("rename", &slow);
    CHECK_CONTAINS(slow.line, "in rename");
    snprintf(expected, sizeof expected, "  %s and ", slow.file);
    CHECK_CONTAINS(slow.line, expected);
    CHECK_CONTAINS(slow.line, "/second");
    stop(&slow);
}

/* The kernel reads a page of a mapped file, outside of any call. */
TEST(memory_that_is_not_there)
{
    struct slow slow;
    if (geteuid() != 0 || access("/dev/fuse", R_OK | W_OK) != 0) {
        SKIP("only root mounts a FUSE file system, where the kernel has them");
    }
    start_and_look("fault", &slow);
    CHECK_CONTAINS(slow.line, "memory that is not there yet (a page fault) in request_wait_answer");
    stop(&slow);
}
