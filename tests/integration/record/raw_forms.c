// SPDX-License-Identifier: Apache-2.0
/* System calls that a program makes itself, in every form that matters for redirecting them. Prints
 * "right" if each worked. x86-64. */
#include "raw_forms.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline))

static pid_t parent;
/* Arguments unknown to the compiler: it would clone the functions for known ones. */
static volatile long times = RAW_AGAIN;
static volatile int *volatile tid_at;
static _Atomic unsigned wrong;

static void expect(int is_right, const char *what)
{
    if (!is_right) {
        wrong++;
        fprintf(stderr, "wrong: %s\n", what);
    }
}

NOINLINE static long raw_constant(void)
{
    long result;
    __asm__ volatile("mov $110, %%eax\n\tsyscall" : "=a"(result) : : "rcx", "r11", "memory");
    return result;
}

NOINLINE static long raw_variable(long number)
{
    long result;
    __asm__ volatile("syscall" : "=a"(result) : "0"(number) : "rcx", "r11", "memory");
    return result;
}

/* Two ways to one call. */
NOINLINE static long raw_jumped(long how)
{
    long result;
    __asm__ volatile("test $1, %%sil\n\t"
                     "mov $110, %%eax\n\t"
                     "jnz 1f\n\t"
                     "mov $110, %%ax\n\t"
                     "1: syscall\n\t"
                     "cmp $-4095, %%rax"
                     : "=a"(result)
                     : "S"(how)
                     : "rcx", "r11", "memory", "cc");
    return result;
}

NOINLINE static long raw_again(long left)
{
    long result;
    __asm__ volatile("mov $110, %%edx\n\t"
                     "1: mov %%edx, %%eax\n\t"
                     "syscall\n\t"
                     "sub $1, %%rbx\n\t"
                     "jnz 1b"
                     : "=a"(result), "+b"(left)
                     :
                     : "rcx", "rdx", "r11", "memory", "cc");
    return result;
}

/* Nothing but rax, rcx and r11 may change. */
NOINLINE static long raw_kept(void)
{
    static uint64_t after[13];
    static double vectors[2];
    long result, flags;
    __asm__ volatile("movq $77, -8(%%rsp)\n\tmovq $78, -128(%%rsp)\n\t"
                     "mov $1, %%edx\n\tmov $2, %%esi\n\tmov $3, %%edi\n\tmov $4, %%ebx\n\t"
                     "mov $5, %%r15d\n\tmov $6, %%r8d\n\tmov $7, %%r9d\n\tmov $8, %%r10d\n\t"
                     "mov $9, %%r12d\n\tmov $10, %%r13d\n\tmov $11, %%r14d\n\t"
                     "movq %%rdx, %%xmm0\n\tmovq %%rsi, %%xmm15\n\t"
                     "std\n\tstc\n\t"
                     "mov $110, %%eax\n\t"
                     "syscall\n\t"
                     "movq %%rdx, 0+%c2(%%rip)\n\tmovq %%rsi, 8+%c2(%%rip)\n\t"
                     "movq %%rdi, 16+%c2(%%rip)\n\tmovq %%rbx, 24+%c2(%%rip)\n\t"
                     "movq %%r15, 32+%c2(%%rip)\n\tmovq %%r8, 40+%c2(%%rip)\n\t"
                     "movq %%r9, 48+%c2(%%rip)\n\tmovq %%r10, 56+%c2(%%rip)\n\t"
                     "movq %%r12, 64+%c2(%%rip)\n\tmovq %%r13, 72+%c2(%%rip)\n\t"
                     "movq %%r14, 80+%c2(%%rip)\n\t"
                     "movq -8(%%rsp), %%rcx\n\tmovq %%rcx, 88+%c2(%%rip)\n\t"
                     "movq -128(%%rsp), %%rcx\n\tmovq %%rcx, 96+%c2(%%rip)\n\t"
                     "movsd %%xmm0, 0+%c3(%%rip)\n\tmovsd %%xmm15, 8+%c3(%%rip)\n\t"
                     "pushfq\n\tpop %%rcx\n\tcld"
                     : "=a"(result), "=c"(flags)
                     : "i"(after), "i"(vectors)
                     : "rdx", "rsi", "rdi", "rbx", "r8", "r9", "r10", "r11", "r12", "r13", "r14",
                       "r15", "xmm0", "xmm15", "memory", "cc");
    for (unsigned i = 0; i < 11; i++) {
        expect(after[i] == i + 1, "a register changed");
    }
    expect(after[11] == 77 && after[12] == 78, "the red zone changed");
    expect(memcmp(vectors, (const uint64_t[]){1, 2}, sizeof vectors) == 0, "a vector changed");
    expect((flags & 0x401) == 0x401, "the flags changed");
    return result;
}

/* openat() of a constant path: the instruction before the call is relative. */
NOINLINE static long raw_relative(void)
{
    long result;
    __asm__ volatile("mov %2, %%rdi\n\t"
                     "xor %%edx, %%edx\n\t"
                     "mov $257, %%eax\n\t"
                     "lea raw_path(%%rip), %%rsi\n\t"
                     "syscall\n\t"
                     ".pushsection .rodata\n\t"
                     "raw_path: .asciz \"/dev/null\"\n\t"
                     ".popsection"
                     : "=a"(result)
                     : "0"(0), "i"(AT_FDCWD)
                     : "rcx", "rdx", "rdi", "rsi", "r11", "memory", "cc");
    return result;
}

/* A switch that is a table of places. */
NOINLINE static long raw_table(unsigned which)
{
    long result;
    __asm__ volatile("lea 9f(%%rip), %%rdx\n\t"
                     "movslq (%%rdx, %%rsi, 4), %%rax\n\t"
                     "add %%rdx, %%rax\n\t"
                     "notrack jmp *%%rax\n\t"
                     ".pushsection .rodata\n\t"
                     "9: .long 1f - 9b, 2f - 9b\n\t"
                     ".popsection\n\t"
                     "1: nop\n\t"
                     "2: mov $110, %%eax\n\t"
                     "syscall"
                     : "=a"(result)
                     : "S"((unsigned long)which)
                     : "rcx", "rdx", "r11", "memory", "cc");
    return result;
}

/* No room for a jump: branches reach both sides. */
NOINLINE static long raw_no_room(void)
{
    long result;
    __asm__ volatile("mov $1, %%esi\n\t"
                     "mov $110, %%eax\n\t"
                     "jmp 1f\n\t"
                     "1: syscall\n\t"
                     "2: dec %%esi\n\t"
                     "jz 2b"
                     : "=a"(result)
                     :
                     : "rcx", "rsi", "r11", "memory", "cc");
    return result;
}

/* vfork() as a program would write it: the child runs on this very stack. */
NOINLINE static long raw_vfork(void)
{
    long result;
    __asm__ volatile("mov $58, %%eax\n\t"
                     "syscall\n\t"
                     "test %%rax, %%rax\n\t"
                     "jnz 1f\n\t"
                     "mov $7, %%edi\n\t"
                     "mov $231, %%eax\n\t"
                     "syscall\n\t"
                     "1:"
                     : "=a"(result)
                     :
                     : "rcx", "rdi", "r11", "memory", "cc");
    return result;
}

NOINLINE static long raw_fork(void)
{
    return raw_variable(SYS_fork);
}

/* A thread that has nothing of its own but its stack. */
NOINLINE static long raw_clone(void *stack_end, volatile int *ret_tid)
{
    long result;
    register volatile int *tid __asm__("r10") = ret_tid;
    __asm__ volatile("mov $56, %%eax\n\t"
                     "syscall\n\t"
                     "test %%rax, %%rax\n\t"
                     "jnz 1f\n\t"
                     "xor %%ebp, %%ebp\n\t"
                     "call raw_stranger\n\t"
                     "xor %%edi, %%edi\n\t"
                     "mov $60, %%eax\n\t"
                     "syscall\n\t"
                     "1:"
                     : "=a"(result)
                     : "D"(CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD |
                           CLONE_SYSVSEM | CLONE_CHILD_CLEARTID),
                       "S"(stack_end), "r"(tid), "d"(0)
                     : "rcx", "r8", "r11", "memory", "cc");
    return result;
}

void raw_stranger(void);
__attribute__((used, noinline)) void raw_stranger(void)
{
    for (int i = 0; i < RAW_STRANGER; i++) {
        long result;
        __asm__ volatile("syscall" : "=a"(result) : "0"(110) : "rcx", "r11", "memory");
    }
}

static void raw_handler(int signal)
{
    (void)signal;
    expect(raw_variable(SYS_getppid) == parent, "in a handler");
}

static void *raw_thread(void *arg)
{
    for (int i = 0; i < RAW_THREAD; i++) {
        expect(raw_constant() == parent, "in a thread");
    }
    return arg;
}

static void check_twice(void)
{
    int status;
    for (int i = 0; i < RAW_TWICE; i++) {
        long child = raw_vfork();
        expect(waitpid((pid_t)child, &status, 0) == child && WIFEXITED(status) &&
                   WEXITSTATUS(status) == 7,
               "vfork");
    }
    long child = raw_fork();
    if (child == 0) {
        for (int i = 0; i < RAW_FORKED; i++) {
            raw_constant();
        }
        raw_variable(SYS_exit_group);
    }
    expect(waitpid((pid_t)child, &status, 0) == child, "fork");
}

static void check_stranger(void)
{
    static volatile int tid = 1;
    size_t size = 1 << 18;
    char *stack = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    tid_at = &tid;
    long child = raw_clone(stack + size, tid_at);
    expect(child > 0, "clone");
    unsigned long long beside = 0;
    for (; tid != 0; beside++) { /* the main thread makes calls at the same time */
        expect(raw_variable(SYS_getppid) == parent, "beside");
    }
    printf("%llu ", beside);
}

static void nothing(void) {}

int main(int argc, char **argv)
{
    pthread_t threads[2];
    parent = getppid();
    for (int i = 0; i < RAW_CONSTANT; i++) {
        expect(raw_constant() == parent, "constant");
    }
    for (int i = 0; i < RAW_VARIABLE; i++) {
        expect(raw_variable(SYS_getppid) == parent, "variable");
    }
    for (int i = 0; i < RAW_JUMPED; i++) {
        expect(raw_jumped(i) == parent, "jumped");
    }
    expect(raw_again(times) == parent, "again");
    for (int i = 0; i < RAW_KEPT; i++) {
        expect(raw_kept() == parent, "kept");
    }
    for (int i = 0; i < RAW_RELATIVE; i++) {
        expect(close((int)raw_relative()) == 0, "relative");
    }
    for (unsigned i = 0; i < RAW_TABLE; i++) {
        expect(raw_table(i % 2) == parent, "table");
    }
    for (int i = 0; i < RAW_NO_ROOM; i++) {
        expect(raw_no_room() == parent, "no room");
    }
    for (int i = 0; i < RAW_NAMED; i++) {
        expect(syscall(SYS_getppid) == parent, "named");
    }
    signal(SIGUSR1, raw_handler);
    for (int i = 0; i < RAW_HANDLER; i++) {
        raise(SIGUSR1);
    }
    check_twice();
    void *library = argc > 1 ? dlopen(argv[1], RTLD_NOW) : NULL;
    long (*loaded)(void) =
        library != NULL ? (long (*)(void))(uintptr_t)dlsym(library, "raw_loaded") : NULL;
    expect(loaded != NULL, "the library");
    for (int i = 0; i < RAW_LOADED && loaded != NULL; i++) {
        expect(loaded() == parent, "loaded");
    }
    long (*pads)(long, void (*)(void)) =
        library != NULL ? (long (*)(long, void (*)(void)))(uintptr_t)dlsym(library, "raw_pads")
                        : NULL;
    for (int i = 0; i < RAW_PADS && pads != NULL; i++) {
        expect(pads(SYS_getppid, nothing) == parent, "pads");
    }
    for (int i = 0; i < 2; i++) {
        pthread_create(&threads[i], NULL, raw_thread, NULL);
    }
    for (int i = 0; i < 2; i++) {
        pthread_join(threads[i], NULL);
    }
    if (argc > 2) {
        check_stranger();
    }
    puts(wrong == 0 ? "right" : "wrong");
    fflush(stdout);
    return wrong != 0;
}
