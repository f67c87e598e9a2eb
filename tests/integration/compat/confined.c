// SPDX-License-Identifier: Apache-2.0
/* An event loop under a seccomp filter: after its start it may poll, read, write and exit, and any
 * other system call ends it, as a sandboxed worker of a browser or a server has it.
 *
 *     confined strict       the kernel's own strict mode: read, write, exit
 *     confined kill         poll, read, write, exit; anything else kills the process
 *     confined deny         the same; anything else fails with EPERM
 *
 * The loop rests for three seconds in the middle: a probe that sleeps while nothing happens must
 * not wake up by a call that the program may not make. */
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static int channel[2];

static int confine(unsigned otherwise)
{
    static const unsigned allowed[] = {SYS_read, SYS_write, SYS_exit_group, SYS_exit,
#ifdef SYS_poll
                                       SYS_poll,
#endif
                                       SYS_ppoll};
    enum { COUNT = sizeof allowed / sizeof allowed[0] };
    struct sock_filter code[COUNT * 2 + 2];
    size_t n = 0;
    code[n++] =
        (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
    for (size_t i = 0; i < COUNT; i++) {
        code[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, allowed[i], 0, 1);
        code[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    }
    code[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, otherwise);
    struct sock_fprog program = {(unsigned short)n, code};
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
           prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0;
}

static void turn(int count, int wait_ms)
{
    struct pollfd p = {channel[0], POLLIN, 0};
    for (int i = 0; i < count; i++) {
        poll(&p, 1, wait_ms);
    }
}

static void say(const char *text)
{
    if (write(STDOUT_FILENO, text, strlen(text)) < 0) {
        _exit(3);
    }
}

static void burn_ms(int ms)
{
    struct timespec begin, now;
    clock_gettime(CLOCK_MONOTONIC, &begin);
    do {
        clock_gettime(CLOCK_MONOTONIC, &now);
    } while ((now.tv_sec - begin.tv_sec) * 1000 + (now.tv_nsec - begin.tv_nsec) / 1000000 < ms);
}

int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "";
    char text[64];
    if (pipe(channel) != 0) {
        return 2;
    }
    burn_ms(1); /* the clock's first use makes its system calls before the filter */
    turn(10, 5);
    if (strcmp(how, "strict") == 0) {
        prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT);
        ssize_t size = read(STDIN_FILENO, text, sizeof text);
        say(size > 0 ? "strict: read\n" : "strict: end\n");
        syscall(SYS_exit, 4); /* exit_group is not in that mode */
    }
    if (confine(strcmp(how, "kill") == 0 ? SECCOMP_RET_KILL_PROCESS
                                         : SECCOMP_RET_ERRNO | (EPERM & SECCOMP_RET_DATA)) != 0) {
        return 2;
    }
    turn(10, 20);
    say("turned\n");
    turn(1, 3000);
    say("rested\n");
    burn_ms(400);
    turn(20, 20);
    say("burnt\n");
    exit(5);
}
