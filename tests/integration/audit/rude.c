// SPDX-License-Identifier: Apache-2.0
/* A program that does to its process what it likes, and counts its own calls of getenv():
 * it closes all descriptors but three, forks, drops privileges, changes its root, forbids new
 * descriptors, limits its system calls, and executes another program. */
#include "rude.h"

#include <dlfcn.h>
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
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

/* Any of these calls is the end. The program makes none of them. */
static void limit_calls(const char *mode)
{
    static const long ends[] = {SYS_process_vm_readv, SYS_pipe2,      SYS_prctl,
                                SYS_seccomp,          SYS_readlinkat, SYS_kill};
    enum { COUNT = sizeof ends / sizeof *ends };
    struct sock_filter steps[COUNT + 3] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr))};
    for (unsigned i = 0; i < COUNT; i++) {
        steps[1 + i] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)ends[i],
                                                    (unsigned char)(COUNT - i), 0);
    }
    steps[COUNT + 1] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    steps[COUNT + 2] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS);
    struct sock_fprog filter = {COUNT + 3, steps};
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    if (strcmp(mode, "strict") == 0 ? prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT, 0, 0, 0) != 0
        : strcmp(mode, "number") == 0
            ? syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &filter) != 0
            : prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter, 0, 0) != 0) {
        exit(1);
    }
}

static int run_limited(const char *mode)
{
    ask(FIRST_CALLS);
    puts("output");
    fflush(stdout);
    limit_calls(mode);
    ask(LIMITED_CALLS);
    if (strcmp(mode, "strict") == 0) {
        syscall(SYS_exit, 8); /* exit_group() is not allowed */
    }
    if (dlopen("libm.so.6", RTLD_NOW) == NULL) {
        return 1;
    }
    make_child();
    ask(LIMITED_CALLS);
    return 9;
}

int main(int argc, char **argv)
{
    if (argc > 1 && argv[1][0] == '-') {
        return run_limited(argv[1] + 1);
    }
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
