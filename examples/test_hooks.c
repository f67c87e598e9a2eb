// SPDX-License-Identifier: Apache-2.0
/* Loops of the installed GLib, libuv, libevent and sd-event, under the hooks of
 * include/sonde/hooks. The watch reports what the examples inject, in the right thread, with its
 * duration and stack, and nothing else. The truth is what the examples print, by their own
 * clock. */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "test.h"

static const char *path_of(const char *name, char path[4096])
{
    snprintf(path, 4096, "%s/examples/example_%s", test_build_dir(), name);
    if (access(path, X_OK) != 0) {
        SKIP("%s is not built: its library is not installed", name);
    }
    return path;
}

static struct test_run run_loop(const char *name, const char *argument)
{
    char path[4096];
    const char *const argv[] = {path_of(name, path), argument, NULL};
    struct test_run run = test_run(argv, NULL, NULL, 60);
    if (run.status != 0 && strstr(run.err, "no watch: ") != NULL) {
        SKIP("%s", run.err);
    }
    if (run.status != 0) {
        FAIL("%s ended with %d: %s%s", name, run.status, run.out, run.err);
    }
    CHECK_STR(run.err, "");
    return run;
}

static unsigned count_of(const char *text, const char *part)
{
    unsigned count = 0;
    for (const char *at = text; (at = strstr(at, part)) != NULL; at++) {
        count++;
    }
    return count;
}

/* Each "found" belongs to the "injected" before it: the same thread, and its duration or a little
 * more, the rest of the turn. The clock of turns ticks each 4 to 10 ms. */
static void check_truth(const char *out, unsigned stalls)
{
    char last[32];
    long long injected[8], found_ms;
    int threads[8], thread;
    unsigned truths = 0, found = 0;
    for (const char *line = out; line != NULL; line = strchr(line, '\n')) {
        line += *line == '\n';
        if (truths < 8 && sscanf(line, "injected %lld ms in thread %d", &injected[truths],
                                 &threads[truths]) == 2) {
            truths++;
        } else if (sscanf(line, "found %lld ms in thread %d", &found_ms, &thread) == 2) {
            CHECK(found < truths);
            if (thread != threads[found] || found_ms + 25 < injected[found] ||
                found_ms > injected[found] + 25 + injected[found] / 5) {
                FAIL("found %lld ms in thread %d, injected were %lld ms in %d", found_ms, thread,
                     injected[found], threads[found]);
            }
            found++;
        }
    }
    snprintf(last, sizeof last, "stalls: %u\n", stalls);
    CHECK_CONTAINS(out, last);
    CHECK_EQ(found, stalls);
    CHECK(count_of(out, "save_document") >= stalls); /* the stacks have it */
}

TIMED_TEST(glib, 120)
{
    struct test_run run = run_loop("watch_glib", NULL);
    check_truth(run.out, 1);
    CHECK_CONTAINS(run.out, "loop was  check and dispatch");
    CHECK_CONTAINS(run.out, "g_main_context_dispatch");
    test_run_done(&run);
}

/* Stalls in callbacks that libuv calls from within its wait, and in others. */
TIMED_TEST(libuv, 120)
{
    struct test_run run = run_loop("watch_uv", NULL);
    check_truth(run.out, 2);
    CHECK_CONTAINS(run.out, "loop was  I/O callbacks");
    CHECK_CONTAINS(run.out, "on_read");
    CHECK_CONTAINS(run.out, "loop was  check, closing, timers");
    CHECK_CONTAINS(run.out, "on_last");
    CHECK_CONTAINS(run.out, "handles left: 0\n");
    test_run_done(&run);
}

TIMED_TEST(libevent, 120)
{
    struct test_run run = run_loop("watch_event", NULL);
    check_truth(run.out, 1);
    CHECK_CONTAINS(run.out, "loop was  callbacks");
    CHECK_CONTAINS(run.out, "on_byte");
    CHECK_CONTAINS(run.out, "signal 10\n");
    CHECK_CONTAINS(run.out, "ended with 0\n");
    test_run_done(&run);
}

/* Notes, phase and tags; a stall of a worker's scope; and a pause in which nothing is a stall. */
TIMED_TEST(sd_event, 120)
{
    char folder[4096];
    snprintf(folder, sizeof folder, "%s/spool", test_folder());
    struct test_run run = run_loop("watch_service", folder);
    CHECK_CONTAINS(run.out, "watchdog: 0\n");
    CHECK_CONTAINS(run.out, "stalls: 2\n");
    CHECK_EQ(count_of(run.out, "\nfound "), 2);
    CHECK_CONTAINS(run.out, "loop was  dispatch");
    CHECK_CONTAINS(run.out, "in        \"serving\", consent given");
    CHECK_CONTAINS(run.out, "noted     documents = 3");
    CHECK_CONTAINS(run.out, ", the loop, in save_document\n");
    CHECK_CONTAINS(run.out, ", \"index the archive\", limit 200 ms, in save_document\n");
    test_run_done(&run);
}

/* --- systemd's watchdog --- */

/* A socket like that of the service manager. */
static int make_manager(char path[108])
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    snprintf(path, 108, "/tmp/sonde-manager-%d", (int)getpid());
    unlink(path);
    memcpy(address.sun_path, path, strlen(path) + 1);
    CHECK_OK(bind(fd, (struct sockaddr *)&address, sizeof address));
    return fd;
}

static pid_t start_service(const char *manager, int out)
{
    char path[4096], notify[128];
    path_of("watch_service", path);
    snprintf(notify, sizeof notify, "%s", manager);
    pid_t pid = fork();
    if (pid == 0) {
        dup2(out, 1);
        setenv("NOTIFY_SOCKET", notify, 1);
        setenv("WATCHDOG_USEC", "400000", 1); /* a message each 100 ms */
        unsetenv("WATCHDOG_PID");
        execl(path, path, (char *)NULL);
        _exit(127);
    }
    return pid;
}

/* Counts messages until another line is printed; -1: the program ended before. */
static int messages_until(int manager, int out, const char *line, char *text, size_t *used)
{
    char message[256], *from = text + *used;
    int messages = 0;
    while (strstr(from, line) == NULL) {
        struct pollfd fds[] = {{manager, POLLIN, 0}, {out, POLLIN, 0}};
        CHECK(poll(fds, 2, 60000) > 0);
        if ((fds[0].revents & POLLIN) != 0) {
            ssize_t size = recv(manager, message, sizeof message - 1, 0);
            CHECK(size > 0);
            message[size] = '\0';
            CHECK_STR(message, "WATCHDOG=1");
            messages++;
        } else if (fds[1].revents != 0) {
            ssize_t size = read(out, text + *used, 65535 - *used);
            if (size <= 0) {
                return -1;
            }
            *used += (size_t)size;
            text[*used] = '\0';
        }
    }
    return messages;
}

/* While the worker hangs and the loop does not, no message comes, although the loop's timer fires
 * five times. Without the hook the loop would continue to send. */
TIMED_TEST(watchdog_messages_stop_while_a_worker_hangs, 120)
{
    char manager_path[108], *text = calloc(1, 65536);
    int manager = make_manager(manager_path), ends[2], status;
    size_t used = 0;
    CHECK_OK(pipe(ends));
    pid_t pid = start_service(manager_path, ends[1]);
    close(ends[1]);
    int before = messages_until(manager, ends[0], "the loop, in", text, &used);
    if (before < 0) {
        unlink(manager_path);
        SKIP("the service did not start");
    }
    int until_worker = messages_until(manager, ends[0], "\"index the archive\"", text, &used);
    int while_worker = messages_until(manager, ends[0], "injected ", text, &used);
    int after = messages_until(manager, ends[0], "stalls: ", text, &used);
    close(ends[0]);
    close(manager);
    unlink(manager_path);
    CHECK_EQ(waitpid(pid, &status, 0), pid);
    CHECK_EQ(status, 0);
    CHECK_CONTAINS(text, "watchdog: 1\n");
    CHECK(before >= 1);
    CHECK(until_worker >= 0);
    CHECK(while_worker <= 1); /* at most one, which was already sent */
    CHECK(after >= 2);
    free(text);
}
