// SPDX-License-Identifier: Apache-2.0
/* Runs a program as a container with a strict profile does: refuse WHAT[,WHAT...] PROGRAM ARG...
 *
 *     perf      perf events: EPERM
 *     ptrace    tracing: EPERM
 *     memory    process_vm_readv: EPERM
 *     no-memory process_vm_readv: ENOSYS, as under an emulator
 *     pidfd     pidfd_open: EPERM
 *     pidfd-signal  pidfd_send_signal: EPERM
 *     waits     the /proc files `syscall` of threads: EACCES
 *
 * The refusal is inherited. */
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static const struct {
    const char *name;
    unsigned call, answer;
} refusals[] = {
    {"perf", SYS_perf_event_open, SECCOMP_RET_ERRNO | EPERM},
    {"ptrace", SYS_ptrace, SECCOMP_RET_ERRNO | EPERM},
    {"memory", SYS_process_vm_readv, SECCOMP_RET_ERRNO | EPERM},
    {"no-memory", SYS_process_vm_readv, SECCOMP_RET_ERRNO | ENOSYS},
    {"pidfd", SYS_pidfd_open, SECCOMP_RET_ERRNO | EPERM},
    {"pidfd-signal", SYS_pidfd_send_signal, SECCOMP_RET_ERRNO | EPERM},
    {"waits", SYS_openat, SECCOMP_RET_USER_NOTIF},
};
enum { REFUSALS = sizeof refusals / sizeof refusals[0] };

static void fail(const char *what)
{
    perror(what);
    exit(2);
}

/* Install the filter of the refusals in `list`. Returns its listener, or -1 if it needs none. */
static int install(const char *list)
{
    struct sock_filter code[2 * REFUSALS + 2];
    struct sock_fprog program = {0, code};
    unsigned flags = 0;
    char words[200];
    code[program.len++] =
        (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
    snprintf(words, sizeof words, "%s", list);
    for (char *word = strtok(words, ","); word != NULL; word = strtok(NULL, ",")) {
        unsigned i = 0;
        while (i < REFUSALS && strcmp(word, refusals[i].name) != 0) {
            i++;
        }
        if (i == REFUSALS || program.len > 2 * REFUSALS) {
            fprintf(stderr, "refuse: what is %s?\n", word);
            exit(2);
        }
        code[program.len++] =
            (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, refusals[i].call, 0, 1);
        code[program.len++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, refusals[i].answer);
        flags |=
            refusals[i].answer == SECCOMP_RET_USER_NOTIF ? SECCOMP_FILTER_FLAG_NEW_LISTENER : 0;
    }
    code[program.len++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) {
        fail("no_new_privs");
    }
    long listener = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &program);
    if (listener < 0) {
        fail("seccomp");
    }
    return flags != 0 ? (int)listener : -1;
}

static bool is_wait_file(const struct seccomp_notif *asked)
{
    char memory[64], path[256] = "";
    snprintf(memory, sizeof memory, "/proc/%u/mem", asked->pid);
    int fd = open(memory, O_RDONLY | O_CLOEXEC);
    ssize_t n = pread(fd, path, sizeof path - 1, (off_t)asked->data.args[1]);
    close(fd);
    path[n > 0 ? n : 0] = '\0';
    size_t length = strlen(path);
    return strncmp(path, "/proc/", 6) == 0 && length > 8 &&
           strcmp(path + length - 8, "/syscall") == 0;
}

/* Answer each open() of a descendant, until no descendant is left. */
static void answer(int listener)
{
    struct pollfd wait = {listener, POLLIN, 0};
    while (poll(&wait, 1, -1) == 1 && (wait.revents & POLLIN) != 0) {
        struct seccomp_notif asked = {0};
        if (ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, &asked) != 0) {
            continue; /* the caller was killed meanwhile */
        }
        struct seccomp_notif_resp response = {.id = asked.id};
        if (is_wait_file(&asked)) {
            response.error = -EACCES;
        } else {
            response.flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE;
        }
        (void)ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, &response);
    }
}

/* Run the program as a child and take its listener. */
static int run_answered(char **argv)
{
    int ends[2], go[2], status;
    int listener = -1;
    if (pipe2(ends, O_CLOEXEC) != 0 || pipe2(go, O_CLOEXEC) != 0) {
        fail("pipe");
    }
    pid_t child = fork();
    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        listener = install(argv[1]);
        (void)!write(ends[1], &listener, sizeof listener);
        (void)!read(go[0], &status, sizeof status); /* until the parent has the listener */
        close(listener); /* else the parent never learns that nobody is left */
        execvp(argv[2], &argv[2]);
        _exit(127);
    }
    if (read(ends[0], &listener, sizeof listener) != sizeof listener) {
        fail("listener");
    }
    listener = (int)syscall(SYS_pidfd_getfd, syscall(SYS_pidfd_open, child, 0), listener, 0);
    if (listener < 0) {
        fail("pidfd_getfd");
    }
    (void)!write(go[1], "goes", sizeof status);
    answer(listener);
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

int main(int argc, char **argv)
{
    if (argc < 3) {
        return 2;
    }
    if (strstr(argv[1], "waits") != NULL) {
        return run_answered(argv);
    }
    (void)install(argv[1]);
    execvp(argv[2], &argv[2]);
    perror(argv[2]);
    return 127;
}
