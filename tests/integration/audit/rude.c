// SPDX-License-Identifier: Apache-2.0
/* A program that does to its process what it likes, and counts its own calls of getenv():
 * it closes all descriptors but three, forks, drops privileges, changes its root, forbids new
 * descriptors, and executes another program. */
#include "rude.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static void ask(unsigned times)
{
    for (unsigned i = 0; i < times; i++) {
        (void)!getenv("RUDE");
    }
}

static void close_all(void)
{
    if (syscall(SYS_close_range, 3, ~0U, 0) != 0) {
        for (int fd = 3; fd < 4096; fd++) {
            close(fd);
        }
    }
}

/* Its calls are not those of the process that is recorded. */
static void make_child(void)
{
    int status = -1;
    pid_t child = fork();
    if (child == 0) {
        ask(CHILD_CALLS);
        _exit(0);
    }
    if (child < 0 || waitpid(child, &status, 0) != child || status != 0) {
        exit(1);
    }
}

/* As root only; else it goes on with what it has. */
static void drop_privileges(void)
{
    const struct rlimit none = {3, 3};
    if (geteuid() == 0 &&
        (chroot("/proc") != 0 || chdir("/") != 0 || setgid(65534) != 0 || setuid(65534) != 0)) {
        fprintf(stderr, "privileges were not dropped: %s\n", strerror(errno));
    }
    if (setrlimit(RLIMIT_NOFILE, &none) != 0) {
        exit(1);
    }
}

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "again") == 0) {
        ask(CHILD_CALLS); /* the program that takes its place is another one */
        return 7;
    }
    ask(FIRST_CALLS);
    close_all();
    ask(CLOSED_CALLS);
    make_child();
    ask(FORKED_CALLS);
    puts("output");
    fflush(stdout);
    if (argc > 1) {
        execl("/proc/self/exe", argv[0], "again", (char *)NULL);
        return 1;
    }
    drop_privileges();
    ask(DROPPED_CALLS);
    return 5;
}
