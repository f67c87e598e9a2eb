// SPDX-License-Identifier: Apache-2.0
/* An event loop with one long turn, in which it uses the watch's signal in some way of its own:
 * asked MODE. It prints the same with and without the watch. */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

static int turn_ms = 500; /* times SLACK, when that is in the environment */

static volatile sig_atomic_t own_calls;
static volatile unsigned sink;

static int64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

__attribute__((noinline)) static void burn(int ms)
{
    int64_t end = now_ns() + (int64_t)ms * 1000000;
    while (now_ns() < end) {
        for (unsigned i = 0; i < 20000; i++) {
            sink += i;
        }
    }
}

static void own_handler(int signal)
{
    (void)signal;
    own_calls++;
}

static void say_action(void)
{
    struct sigaction now;
    if (sigaction(SIGURG, NULL, &now) != 0) {
        puts("sigaction failed");
        return;
    }
    printf("SIGURG: %s, flags %d\n",
           now.sa_handler == SIG_DFL       ? "default"
           : now.sa_handler == SIG_IGN     ? "ignored"
           : now.sa_handler == own_handler ? "own"
                                           : "foreign",
           now.sa_flags & ~0x4000000);
}

static void say_pending(void)
{
    sigset_t pending;
    sigpending(&pending);
    printf("pending: %d\n", sigismember(&pending, SIGURG));
}

static sigset_t block(bool all)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGURG);
    if (all) {
        sigfillset(&set);
    }
    pthread_sigmask(SIG_BLOCK, &set, NULL);
    sigemptyset(&set);
    sigaddset(&set, SIGURG);
    return set;
}

/* --- the modes --- */

static void plain(void)
{
    errno = 77;
    burn(turn_ms);
    printf("errno %d\n", errno);
    say_action();
    say_pending();
}

static void own(void)
{
    const struct sigaction mine = {.sa_handler = own_handler};
    sigaction(SIGURG, &mine, NULL);
    burn(turn_ms / 2);
    raise(SIGURG);
    burn(turn_ms / 2);
    printf("calls %d\n", (int)own_calls);
    say_action();
}

static void late(void)
{
    burn(turn_ms);
    printf("before: %s\n", signal(SIGURG, own_handler) == SIG_DFL ? "default" : "another");
    burn(turn_ms);
    raise(SIGURG);
    raise(SIGURG);
    printf("calls %d\n", (int)own_calls);
    say_action();
    say_pending();
}

static void ignore(void)
{
    signal(SIGURG, SIG_IGN);
    burn(turn_ms);
    say_action();
    if (fork() == 0) { /* what an executed program would inherit */
        say_action();
        fflush(stdout);
        _exit(0);
    }
    wait(NULL);
}

static void blocked(void)
{
    block(true);
    burn(turn_ms);
    say_pending();
    say_action();
}

static void wait_for_it(void)
{
    const struct timespec none = {0, 0};
    siginfo_t info = {0};
    sigset_t set = block(false);
    burn(turn_ms);
    printf("sigtimedwait %d\n", sigtimedwait(&set, &info, &none));
    raise(SIGURG);
    printf("sigtimedwait %d", sigtimedwait(&set, &info, &none));
    printf(" code %d\n", info.si_code);
    printf("sigtimedwait %d\n", sigtimedwait(&set, &info, &none));
}

static void by_descriptor(void)
{
    struct signalfd_siginfo info;
    sigset_t set = block(false);
    int fd = signalfd(-1, &set, SFD_NONBLOCK);
    burn(turn_ms);
    printf("read %zd\n", read(fd, &info, sizeof info));
    raise(SIGURG);
    printf("read %zd\n", read(fd, &info, sizeof info));
    printf("read %zd\n", read(fd, &info, sizeof info));
}

/* Behind libc's back, as other runtimes do it. */
#if defined(__x86_64__)
void asked_restorer(void);
__asm__("asked_restorer: mov $15, %eax\n syscall\n");
#endif
static void raw(void)
{
    struct {
        void (*handler)(int);
        unsigned long flags;
        void (*restorer)(void);
        uint64_t mask;
    } action = {.handler = own_handler};
#if defined(__x86_64__)
    action.flags = 0x04000000; /* SA_RESTORER */
    action.restorer = asked_restorer;
#endif
    if (syscall(SYS_rt_sigaction, SIGURG, &action, NULL, 8) != 0) {
        perror("rt_sigaction");
    }
    burn(turn_ms);
    printf("strays %d\n", (int)own_calls);
}

static ucontext_t outside, inside;

static void burn_and_return(void)
{
    burn(turn_ms);
    sink++; /* prevents a tail call */
}

/* On a stack of three pages with nothing behind it. */
static void coroutine(void)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE), size = 16384;
    char *stack = mmap(NULL, size + 2 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    mprotect(stack + page, size, PROT_READ | PROT_WRITE);
    getcontext(&inside);
    inside.uc_stack.ss_sp = stack + page;
    inside.uc_stack.ss_size = size;
    inside.uc_link = &outside;
    makecontext(&inside, burn_and_return, 0);
    swapcontext(&outside, &inside);
    puts("back");
}

/* A filter of its own, that allows everything. */
static void filtered(void)
{
    struct sock_filter code[] = {BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
    struct sock_fprog program = {1, code};
    printf("filter %d %d\n", prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0),
           prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program));
    burn(turn_ms);
}

static void *burn_beside(void *unused)
{
    (void)unused;
    burn(turn_ms);
    return NULL;
}

/* The loop waits for a thread that burns. */
static void beside(void)
{
    pthread_t thread;
    pthread_create(&thread, NULL, burn_beside, NULL);
    pthread_join(thread, NULL);
    puts("joined");
}

static const struct {
    const char *name;
    void (*turn)(void);
} modes[] = {{"plain", plain},
             {"own", own},
             {"late", late},
             {"ignore", ignore},
             {"blocked", blocked},
             {"sigwait", wait_for_it},
             {"raw", raw},
             {"beside", beside},
             {"signalfd", by_descriptor},
             {"coroutine", coroutine},
             {"filtered", filtered}};

int main(int argc, char **argv)
{
    int channel[2];
    if (argc != 2 || pipe(channel) != 0) {
        return 2;
    }
    if (getenv("SLACK") != NULL) {
        turn_ms *= atoi(getenv("SLACK"));
    }
    struct pollfd p = {channel[0], POLLIN, 0};
    for (int i = 0; i < 10; i++) {
        poll(&p, 1, 5);
    }
    for (size_t i = 0; i < sizeof modes / sizeof modes[0]; i++) {
        if (strcmp(argv[1], modes[i].name) == 0) {
            modes[i].turn();
            poll(&p, 1, 5);
            poll(&p, 1, 100);
            return 0;
        }
    }
    return 2;
}
