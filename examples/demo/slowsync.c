// SPDX-License-Identifier: Apache-2.0
/* Slow storage for the demo where no file system can be mounted: a seccomp filter on a command and
 * its children passes every fsync and fdatasync to this program, which delays it
 * (seccomp_unotify(2)).
 *
 *     slowsync SYNC_MS COMMAND [ARGUMENT...]
 *
 * Ends with the command's exit status. */
#define _GNU_SOURCE

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#ifndef SECCOMP_USER_NOTIF_FLAG_CONTINUE
#    define SECCOMP_USER_NOTIF_FLAG_CONTINUE 1
#endif

static int listen_to_syncs(void)
{
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_fsync, 1, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_fdatasync, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {sizeof code / sizeof code[0], code};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) {
        return -1;
    }
    return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER,
                        &program);
}

static void serve(int listener, long sync_ms)
{
    const struct timespec pause = {sync_ms / 1000, sync_ms % 1000 * 1000000};
    struct pollfd ready = {listener, POLLIN, 0};
    /* POLLHUP: the last program under the filter has ended */
    while (poll(&ready, 1, -1) > 0 && (ready.revents & POLLIN) != 0) {
        struct seccomp_notif call = {0};
        struct seccomp_notif_resp answer = {0};
        if (ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, &call) != 0) {
            continue; /* the caller has ended */
        }
        nanosleep(&pause, NULL);
        answer.id = call.id;
        answer.flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE;
        (void)ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, &answer);
    }
}

int main(int argc, char **argv)
{
    volatile int *listener;
    int ready[2], status;
    char byte;
    long child;
    if (argc < 3) {
        fprintf(stderr, "usage: slowsync SYNC_MS COMMAND [ARGUMENT...]\n");
        return 2;
    }
    listener =
        mmap(NULL, sizeof *listener, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (listener == MAP_FAILED || pipe2(ready, O_CLOEXEC) != 0) {
        perror("slowsync");
        return 1;
    }
    /* Parent and child share one descriptor table until the child's exec, so the listener that the
     * child makes is ours. The command does not keep it: exec closes it there. */
    child = syscall(SYS_clone, CLONE_FILES | SIGCHLD, NULL, NULL, NULL, NULL);
    if (child == 0) {
        *listener = listen_to_syncs();
        if (*listener < 0) {
            fprintf(stderr, "slowsync: no seccomp listener: %s\n", strerror(errno));
        }
        (void)!write(ready[1], "", 1);
        execvp(argv[2], argv + 2);
        fprintf(stderr, "slowsync: %s: %s\n", argv[2], strerror(errno));
        _exit(127);
    }
    if (child < 0) {
        perror("slowsync: clone");
        return 1;
    }
    (void)!read(ready[0], &byte, 1);
    if (*listener >= 0) {
        serve(*listener, strtol(argv[1], NULL, 10));
    }
    while (waitpid((pid_t)child, &status, 0) < 0 && errno == EINTR) {
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
