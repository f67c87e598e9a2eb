// SPDX-License-Identifier: Apache-2.0
/* Control that is no call and return: signals, jumps out of functions, coroutines, vfork, stacks
 * that are realigned, the loader's ways to bind a function. */
#include <setjmp.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#include "victim.h"

#ifdef VICTIM_SWITCHES_ONLY /* an emulator takes half a millisecond for an instruction */
enum { DIG_DEPTH = 2 };
#else
enum { DIG_DEPTH = 20 };
#endif

extern char **environ;

static volatile sig_atomic_t handled;
static sigjmp_buf escape;
static jmp_buf nearby;
static ucontext_t main_context;
static ucontext_t fibers[2];
static unsigned turns;

static void on_signal(int number)
{
    char text[32];
    handled++;
    snprintf(text, sizeof text, "%d", number);
    if (number == SIGUSR1) {
        (void)raise(SIGUSR2);
    }
}

static void on_escape(int number)
{
    (void)number;
    siglongjmp(escape, 1);
}

NOINLINE static void signals(void)
{
    static char alternate[65536] __attribute__((aligned(16)));
    stack_t stack = {.ss_sp = alternate, .ss_size = sizeof alternate};
    struct sigaction action = {.sa_handler = on_signal};
    (void)sigaction(SIGUSR1, &action, NULL);
    (void)sigaction(SIGUSR2, &action, NULL);
    (void)raise(SIGUSR1);
    (void)sigaltstack(&stack, NULL);
    action.sa_flags = SA_ONSTACK | SA_RESTART;
    (void)sigaction(SIGUSR2, &action, NULL);
    (void)raise(SIGUSR2);
    action.sa_handler = on_escape;
    (void)sigaction(SIGUSR2, &action, NULL);
    if (sigsetjmp(escape, 1) == 0) {
        (void)raise(SIGUSR2);
    }
    action.sa_flags = 0;
    (void)sigaction(SIGSEGV, &action, NULL);
    if (sigsetjmp(escape, 1) == 0) {
        *(volatile int *)8 = 1;
    }
}

NOINLINE static int dig(unsigned depth)
{
    char room[64];
    if (depth == 0) {
        longjmp(nearby, 1);
    }
    snprintf(room, sizeof room, "%u", depth);
    return dig(depth - 1) + room[0];
}

NOINLINE static void jumps(void)
{
    if (setjmp(nearby) == 0) {
        (void)dig(DIG_DEPTH);
    }
    if (setjmp(nearby) == 0) {
        longjmp(nearby, 1);
    }
}

/* Never returns: a return leads to makecontext's trampoline, whose call frame information is
 * wrong. */
static void turn(int which)
{
    for (unsigned i = 0;; i++) {
        char text[32];
        turns++;
#ifndef VICTIM_SWITCHES_ONLY
        snprintf(text, sizeof text, "%d %u", which, turns);
#endif
        (void)text;
        (void)swapcontext(&fibers[which], which == 0 && i < 2 ? &fibers[1] : &main_context);
    }
}

NOINLINE static void coroutines(void)
{
    enum { BYTES = 65536 };
    char *stacks[2];
    for (int i = 0; i < 2; i++) {
        /* apart from each other, as coroutines' stacks usually are */
        char *area = mmap(NULL, BYTES + 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        (void)mprotect(area + 4096, BYTES, PROT_READ | PROT_WRITE);
        stacks[i] = area + 4096;
        (void)getcontext(&fibers[i]);
        fibers[i].uc_stack.ss_sp = stacks[i];
        fibers[i].uc_stack.ss_size = BYTES;
        fibers[i].uc_link = &main_context;
        makecontext(&fibers[i], (void (*)(void))turn, 1, i);
    }
    for (unsigned i = 0; i < 8 && turns < 6; i++) {
        (void)swapcontext(&main_context, &fibers[i % 2]);
    }
    volatile int again = 1;
    (void)getcontext(&main_context);
    if (again) {
        again = 0;
        (void)setcontext(&main_context);
    }
}

NOINLINE static void processes(void)
{
    char *const argv[] = {"true", NULL};
    int status = 0;
    pid_t pid = vfork();
    if (pid == 0) {
        execv("/bin/true", argv);
        _exit(1);
    }
    (void)waitpid(pid, &status, 0);
    if (posix_spawn(&pid, "/bin/true", NULL, NULL, argv, environ) == 0) {
        (void)waitpid(pid, &status, 0);
    }
}

/* The compiler realigns the stack, and has its arguments by a pointer. */
NOINLINE static int realigned(int size, int depth)
{
    char wide[64] __attribute__((aligned(64)));
    char room[size];
    snprintf(room, (size_t)size, "%d", depth);
    snprintf(wide, sizeof wide, "%s", room);
    return depth == 0 ? wide[0] : realigned(size + 8, depth - 1) + wide[0];
}

static int plain_work(int a)
{
    return a * 3;
}

typedef int work_function(int);

__attribute__((used)) static work_function *choose_work(void)
{
    return plain_work;
}

int chosen_work(int a) __attribute__((ifunc("choose_work")));

static void at_end(void)
{
    (void)write(1, "end\n", 4);
}

int main(int argc, char **argv)
{
    unsigned rounds = argc > 1 ? (unsigned)atoi(argv[1]) : 1;
    if (argc > 2) {
        MARK();
    }
    (void)argv;
    (void)atexit(at_end);
    for (unsigned i = 0; i < rounds; i++) {
#ifdef VICTIM_SWITCHES_ONLY
        jumps();
        coroutines();
#else
        (void)realigned(32 + chosen_work((int)i), 3);
        signals();
        jumps();
        if (i == 0) {
            coroutines();
        }
        processes();
#endif
    }
    return 0;
}
