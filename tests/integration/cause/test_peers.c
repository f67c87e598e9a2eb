// SPDX-License-Identifier: Apache-2.0
/* `sonde stacks` of a process that waits for another one, against Debian's tools that list
 * descriptors, sockets and locks. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "start.h"
#include "test.h"

struct peers {
    pid_t pid, other;
    char more[256];
    char line[1024]; /* its thread's line in the text */
    char top[1024];  /* the line below the heading */
    int fd;          /* descriptor that it waits for; -1: none is named */
};

static void look(struct peers *peers, const char *options)
{
    char command[1200];
    snprintf(command, sizeof command, "%s $SONDE stacks --no-names %d", options, (int)peers->pid);
    struct test_run run = shell(command);
    char head[32];
    snprintf(head, sizeof head, "\nthread %d ", (int)peers->pid);
    const char *at = strstr(run.out, head), *top = strchr(run.out, '\n');
    if (at == NULL) {
        FAIL("thread %d is not in: %s %s", (int)peers->pid, run.out, run.err);
    }
    snprintf(peers->line, sizeof peers->line, "%.*s", (int)strcspn(at + 1, "\n"), at + 1);
    snprintf(peers->top, sizeof peers->top, "%.*s", (int)strcspn(top + 1, "\n"), top + 1);
    const char *fd = strstr(peers->line, "  fd ");
    peers->fd = fd != NULL ? atoi(fd + 5) : -1;
    test_run_done(&run);
}

/* Wait until it is blocked in this call, by the kernel's data; also in state D. */
static void wait_in(pid_t pid, long number)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/syscall", (int)pid);
    for (unsigned i = 0; i < 2000; i++) {
        char *text = test_read_file(path, NULL);
        bool is_there = text[0] >= '0' && text[0] <= '9' && (number < 0 || atol(text) == number);
        free(text);
        if (is_there) {
            return;
        }
        usleep(5000);
    }
    FAIL("process %d does not wait", (int)pid);
}

static void start_peers(const char *how, struct peers *peers)
{
    char path[512];
    const char *folder = test_folder();
    CHECK(prctl(PR_SET_CHILD_SUBREAPER, 1) == 0);
    memset(peers, 0, sizeof *peers);
    snprintf(path, sizeof path, "%s/truth", folder);
    const char *const argv[] = {test_program("cause", "cause_peers"), how, path, folder, NULL};
    peers->pid = start_program(argv);
    wait_in(peers->pid, -1);
    char *truth = test_read_file(path, NULL);
    int pid = 0, other = 0;
    CHECK(sscanf(truth, "%d %d %255[^\n]", &pid, &other, peers->more) >= 2);
    CHECK_EQ(pid, peers->pid);
    peers->other = other;
    free(truth);
}

/* The other process becomes our child when its parent ends. */
static void stop_with(pid_t pid, pid_t other)
{
    stop_program(pid);
    if (other > 0 && other != pid) {
        kill(other, SIGKILL);
        CHECK_EQ(waitpid(other, NULL, 0), other);
    }
}

static void stop(const struct peers *peers)
{
    stop_with(peers->pid, peers->other);
}

static void start_and_look(const char *how, struct peers *peers)
{
    start_peers(how, peers);
    usleep(20000);
    wait_in(peers->pid, -1);
    look(peers, "");
}

/* The line has "process 4711 (" of the other process. */
static void check_other(const struct peers *peers, const char *words)
{
    char expected[500];
    snprintf(expected, sizeof expected, "%s process %d (", words, (int)peers->other);
    CHECK_CONTAINS(peers->line, expected);
}

/* The output of another tool has `part`. */
static void check_tool(const char *command, const char *part)
{
    struct test_run run = shell(command);
    if (strstr(run.out, part) == NULL) {
        FAIL("%s: no \"%s\" in: %s%s", command, part, run.out, run.err);
    }
    test_run_done(&run);
}

/* lsof and sonde name the same other end of the descriptor: "4711,cause_pee,5w". */
static void check_lsof(const struct peers *peers)
{
    char command[100], part[32];
    CHECK(peers->fd >= 0);
    snprintf(command, sizeof command, "lsof +E -a -p %d -d %d", (int)peers->pid, peers->fd);
    snprintf(part, sizeof part, " %d,cause", (int)peers->other);
    check_tool(command, part);
}

TEST(pipes)
{
    static const char *const ways[][2] = {{"pipe", "written by"}, {"pipe-full", "read by"}};
    struct peers peers;
    for (unsigned i = 0; i < 2; i++) {
        start_and_look(ways[i][0], &peers);
        check_other(&peers, ways[i][1]);
        check_lsof(&peers);
        stop(&peers);
    }
    start_and_look("pipe-own", &peers);
    CHECK_CONTAINS(peers.line, "written by this process itself");
    stop(&peers);
}

TEST(fifos)
{
    struct peers peers;
    char text[600];
    start_and_look("fifo-open", &peers);
    snprintf(text, sizeof text, "%s, a FIFO whose other end nobody has opened", peers.more);
    CHECK_CONTAINS(peers.line, text);
    stop(&peers);
    start_and_look("fifo-read", &peers);
    check_other(&peers, "written by");
    CHECK_CONTAINS(peers.line, peers.more);
    char command[600], part[32];
    snprintf(command, sizeof command, "fuser %s 2>/dev/null", peers.more);
    snprintf(part, sizeof part, " %d", (int)peers.other);
    check_tool(command, part);
    stop(&peers);
}

TEST(sockets)
{
    static const char *const ways[] = {"pair", "unix", "tcp", "tcp6"};
    for (unsigned i = 0; i < sizeof ways / sizeof ways[0]; i++) {
        struct peers peers;
        char text[300];
        start_and_look(ways[i], &peers);
        check_other(&peers, ", peer");
        check_lsof(&peers);
        snprintf(text, sizeof text, " to %s, peer", peers.more);
        if (peers.more[0] != '\0') {
            CHECK_CONTAINS(peers.line, text);
        }
        stop(&peers);
    }
}

TEST(sockets_that_nobody_accepts)
{
    struct peers peers;
    char text[400], part[32];
    start_and_look("tcp-backlog", &peers);
    snprintf(text, sizeof text, " to %s, no answer yet, peer", peers.more);
    CHECK_CONTAINS(peers.line, "in connect");
    check_other(&peers, text);
    snprintf(text, sizeof text, "ss -tlnp 'sport = %s'", strrchr(peers.more, ':'));
    snprintf(part, sizeof part, "pid=%d,", (int)peers.other);
    check_tool(text, part);
    stop(&peers);
    start_and_look("unix-backlog", &peers);
    snprintf(text, sizeof text, " unix to %s, no answer yet, peer", peers.more);
    check_other(&peers, text);
    snprintf(text, sizeof text, "ss -xlp | grep %s", peers.more);
    snprintf(part, sizeof part, "pid=%d,", (int)peers.other);
    check_tool(text, part);
    stop(&peers);
}

/* The server is in its own namespaces, outside of sonde's. */
TEST(a_name_server_that_does_not_answer)
{
    struct peers peers;
    if (geteuid() != 0) {
        SKIP("only root makes the namespaces");
    }
    start_and_look("dns", &peers);
    CHECK_CONTAINS(peers.line, "in poll  fd ");
    CHECK_CONTAINS(peers.line, " udp 127.0.0.1:");
    check_other(&peers, " to 127.0.0.1:53, a name server (DNS), peer");
    char command[200], part[32];
    snprintf(command, sizeof command, "nsenter -t %d -n ss -ulnp 'sport = :53'", (int)peers.pid);
    snprintf(part, sizeof part, "pid=%d,", (int)peers.other);
    check_tool(command, part);
    stop(&peers);
}

TEST(file_locks)
{
    static const char *const ways[] = {"flock", "posix"};
    struct peers peers;
    for (unsigned i = 0; i < 2; i++) {
        char command[200], part[32];
        start_and_look(ways[i], &peers);
        check_other(&peers, ", locked by");
        CHECK_CONTAINS(peers.line, peers.more);
        snprintf(command, sizeof command, "lslocks -n -o PID,BLOCKER -p %d", (int)peers.pid);
        snprintf(part, sizeof part, "%d %d", (int)peers.pid, (int)peers.other);
        strcat(command, " | tr -s ' '");
        check_tool(command, part);
        stop(&peers);
    }
    start_and_look("ofd", &peers); /* lslocks does not know the owner, either */
    CHECK_CONTAINS(peers.line, "locked by an open file, of which process is not recorded");
    stop(&peers);
}

TEST(circles_of_processes)
{
    struct peers peers;
    char first[64], second[64];
    start_and_look("flock-circle", &peers);
    snprintf(first, sizeof first, "deadlock: thread %d ", (int)peers.pid);
    snprintf(second, sizeof second, "; process %d (", (int)peers.other);
    CHECK(strncmp(peers.top, first, strlen(first)) == 0);
    CHECK_CONTAINS(peers.top, second);
    stop(&peers);
    start_and_look("mutual", &peers); /* a signal could end the wait: no deadlock is claimed */
    snprintf(first, sizeof first, "circle of waits: thread %d ", (int)peers.pid);
    snprintf(second, sizeof second, "; process %d (", (int)peers.other);
    CHECK(strncmp(peers.top, first, strlen(first)) == 0);
    CHECK_CONTAINS(peers.top, second);
    stop(&peers);
}

TEST(children)
{
    static const char *const ways[] = {"child", "child-any", "child-id", "child-fd"};
    struct peers peers;
    char text[200];
    for (unsigned i = 0; i < 4; i++) {
        start_and_look(ways[i], &peers);
        snprintf(text, sizeof text, "child process %d (sleep 4711)", (int)peers.other);
        CHECK_CONTAINS(peers.line, text);
        stop(&peers);
        if (i == 3) { /* the waiter's other child */
            CHECK(waitpid(-1, NULL, 0) > 0);
        }
    }
    start_and_look("vfork", &peers);
    snprintf(text, sizeof text, "ps -o pid= --ppid %d", (int)peers.pid);
    struct test_run run = shell(text);
    snprintf(text, sizeof text, "blocked in vfork (uninterruptible)  child process %d (",
             atoi(run.out));
    CHECK(atoi(run.out) > 0);
    CHECK_CONTAINS(peers.line, text);
    CHECK_CONTAINS(peers.line, "), which shares its memory until it executes a program (vfork)");
    peers.other = atoi(run.out);
    test_run_done(&run);
    snprintf(text, sizeof text, "$SONDE stacks --json %d", (int)peers.pid);
    run = shell(text); /* the report has it, too */
    const char *resource = strstr(run.out, "\"resource\"");
    CHECK(resource != NULL);
    CHECK_CONTAINS(resource, "which shares its memory until it executes a program (vfork)\"");
    kill(peers.other, SIGKILL);
    test_run_done(&run);
    stop(&peers);
}

/* A fork() that blocks does not wait for the child. */
TEST(a_fork_that_waits)
{
    struct peers peers;
    start_and_look("fork", &peers);
    if (strcmp(peers.more, "watched") != 0) {
        SKIP("userfaultfd is refused here");
    }
    CHECK_CONTAINS(peers.line, "blocked in clone");
    CHECK(strstr(peers.line, "child") == NULL);
    CHECK(strstr(peers.line, "vfork") == NULL);
    stop(&peers);
}

TEST(sets_of_descriptors)
{
    struct peers peers;
    char text[200];
    int event, timer, set;
    start_and_look("eventfd", &peers);
    CHECK_EQ(sscanf(peers.more, "%d %d %d", &event, &timer, &set), 3);
    snprintf(text, sizeof text, "in read  fd %d anon_inode:[eventfd]", event);
    CHECK_CONTAINS(peers.line, text);
    stop(&peers);
    start_and_look("epoll", &peers);
    CHECK_EQ(sscanf(peers.more, "%d %d %d", &event, &timer, &set), 3);
    snprintf(text, sizeof text, "in epoll_wait  fd %d epoll of ", set);
    CHECK_CONTAINS(peers.line, text);
    snprintf(text, sizeof text, "fd %d anon_inode:[eventfd]", event);
    CHECK_CONTAINS(peers.line, text);
    snprintf(text, sizeof text, "fd %d anon_inode:[timerfd]", timer);
    CHECK_CONTAINS(peers.line, text);
    stop(&peers);
    start_and_look("poll", &peers);
    CHECK_EQ(sscanf(peers.more, "%d %d %d", &event, &timer, &set), 3);
    snprintf(text, sizeof text, "in poll  fd %d anon_inode:[eventfd], fd %d anon_inode:[timerfd]",
             event, timer);
    CHECK_CONTAINS(peers.line, text);
    stop(&peers);
}

/* root has the other end; the reader and sonde are not root. sonde names nobody, and says why. */
TEST(processes_of_another_user)
{
    struct peers peers;
    if (geteuid() != 0) {
        SKIP("only root has other users' processes");
    }
    start_peers("pipe-hidden", &peers);
    look(&peers, "setpriv --reuid=65534 --regid=65534 --clear-groups");
    CHECK_CONTAINS(peers.line, "written by nobody that was seen; ");
    CHECK_CONTAINS(peers.line, " could not be looked into");
    stop(&peers);
}

/* 20,000 descriptors: sonde reads each, or reports that it did not read all. */
TEST(a_process_of_many_descriptors)
{
    struct peers peers;
    start_and_look("pipe-many", &peers);
    if (strstr(peers.line, "not all processes were looked into") == NULL) {
        check_other(&peers, "written by");
    }
    stop(&peers);
}
