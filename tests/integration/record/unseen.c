// SPDX-License-Identifier: Apache-2.0
/* Calls getppid() once, then escapes the recorder in the named way: makes a process, or executes
 * another program. The calls of the other one cannot be recorded. */
#include <linux/sched.h>
#include <pty.h>
#include <signal.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;
static char *arguments[] = {"true", NULL};

static int wait_for(pid_t pid)
{
    return pid > 0 && waitpid(pid, NULL, 0) == pid ? 0 : 1;
}

static int child_or_wait(pid_t pid)
{
    if (pid == 0) {
        _exit(getppid() > 0 ? 0 : 1);
    }
    return wait_for(pid);
}

static int by_fork(void)
{
    return child_or_wait(fork());
}

static int by_vfork(void)
{
    pid_t pid = vfork();
    if (pid == 0) {
        _exit(0);
    }
    return wait_for(pid);
}

static int by_clone_number(void)
{
    return child_or_wait((pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0));
}

static int by_clone3_number(void)
{
    struct clone_args how = {.exit_signal = SIGCHLD};
    pid_t pid = (pid_t)syscall(SYS_clone3, &how, sizeof how);
    return pid < 0 ? child_or_wait(fork()) : child_or_wait(pid); /* where a filter refuses it */
}

/* The instruction itself: no function can be hooked. */
static inline __attribute__((always_inline)) long own_call(long number, long first, long second,
                                                           long third)
{
    long result;
#if defined(__x86_64__)
    register long fourth __asm__("r10") = 0, fifth __asm__("r8") = 0;
    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"(number), "D"(first), "S"(second), "d"(third), "r"(fourth), "r"(fifth)
                     : "rcx", "r11", "memory");
#else
    register long x8 __asm__("x8") = number, x0 __asm__("x0") = first;
    register long x1 __asm__("x1") = second, x2 __asm__("x2") = third;
    register long x3 __asm__("x3") = 0, x4 __asm__("x4") = 0;
    __asm__ volatile("svc #0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4) : "memory");
    result = x0;
#endif
    return result;
}

static int by_own_clone(void)
{
    return child_or_wait((pid_t)own_call(SYS_clone, SIGCHLD, 0, 0));
}

static int by_own_exec(void)
{
    return (int)own_call(SYS_execve, (long)"/bin/true", (long)arguments, (long)environ);
}

static int by_system(void)
{
    return system("true");
}

static int by_popen(void)
{
    FILE *file = popen("true", "r");
    return file == NULL ? 1 : pclose(file);
}

static int by_posix_spawn(void)
{
    pid_t pid;
    return posix_spawnp(&pid, "true", NULL, NULL, arguments, environ) != 0 || wait_for(pid) != 0;
}

static int by_forkpty(void)
{
    int terminal;
    pid_t pid = forkpty(&terminal, NULL, NULL, NULL);
    return pid < 0 ? child_or_wait(fork()) : child_or_wait(pid); /* where there is no /dev/pts */
}

static int by_daemon(void)
{
    return daemon(1, 1) != 0 || getppid() < 0;
}

static int by_exec(void)
{
    return execvp("true", arguments);
}

static int by_exec_number(void)
{
    return (int)syscall(SYS_execve, "/bin/true", arguments, environ);
}

static int by_nothing(void)
{
    return syscall(SYS_gettid) > 0 ? 0 : 1;
}

static const struct {
    const char *name;
    int (*leave)(void);
} ways[] = {
    {"fork", by_fork},
    {"vfork", by_vfork},
    {"clone-number", by_clone_number},
    {"own-clone", by_own_clone},
    {"own-exec", by_own_exec},
    {"system", by_system},
    {"popen", by_popen},
    {"posix_spawn", by_posix_spawn},
    {"exec", by_exec},
    {"exec-number", by_exec_number},
    {"clone3-number", by_clone3_number},
    {"daemon", by_daemon},
    {"forkpty", by_forkpty},
    {"nothing", by_nothing},
};

int main(int argc, char **argv)
{
    if (getppid() < 0 || argc < 2) {
        return 1;
    }
    for (size_t i = 0; i < sizeof ways / sizeof ways[0]; i++) {
        if (strcmp(argv[1], ways[i].name) == 0) {
            return ways[i].leave();
        }
    }
    return 2;
}
