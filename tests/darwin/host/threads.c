// SPDX-License-Identifier: Apache-2.0
/* Threads: each is a thread of Linux that runs code of images on a stack of theirs.
 *
 * A thread is suspended by a signal, whose handler stores the registers and waits. They are those
 * of the image's code. If the thread is inside the host, they are those of its call of the
 * primitive. In the few instructions between, it declines, and is asked again. The handler has a
 * stack of its own, so that the memory below the thread's stack pointer is as it was.
 *
 * A thread that holds or awaits the lock declines, too, so all may spin for it. A thread inside
 * host_suspend_thread() is as one in the kernel: it counts as stopped at once, finishes its call,
 * and stops before it returns. So two threads can stop each other, and neither goes on. */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#include "host.h"

enum { THREADS_MAX = 256, STACK_BYTES = 1 << 16 };
enum { ABSENT, LIVE, ENDED };
enum { RUNS, ASKED, DECLINED, STOPPED };

static struct thread {
    uint32_t life;
    uint32_t phase;
    uint32_t suspends;
    uint32_t locks, is_suspending; /* its own code only */
    int tid;
    uint64_t function, stack_end;
    const struct host_border *border;
    void *argument;
    uint64_t words[HOST_WORDS];
    jmp_buf end;
} threads[THREADS_MAX];
static uint32_t thread_count, lock;

__thread struct host_border host_border;
static __thread struct thread *self;

static void lock_threads(void)
{
    if (self != NULL) {
        __atomic_store_n(&self->locks, 1, __ATOMIC_SEQ_CST);
    }
    while (__atomic_exchange_n(&lock, 1, __ATOMIC_ACQUIRE) != 0) {
        sched_yield();
    }
}

static void unlock_threads(void)
{
    __atomic_store_n(&lock, 0, __ATOMIC_RELEASE);
    if (self != NULL) {
        __atomic_store_n(&self->locks, 0, __ATOMIC_SEQ_CST);
    }
}

static void set_phase(struct thread *thread, uint32_t phase)
{
    __atomic_store_n(&thread->phase, phase, __ATOMIC_SEQ_CST);
    syscall(SYS_futex, &thread->phase, FUTEX_WAKE, INT32_MAX, NULL, NULL, 0);
}

static void wait_while(const struct thread *thread, uint32_t phase)
{
    while (__atomic_load_n(&thread->phase, __ATOMIC_SEQ_CST) == phase) {
        syscall(SYS_futex, &thread->phase, FUTEX_WAIT, phase, NULL, NULL, 0);
    }
}

#if defined(__x86_64__)
enum { WORD_PC = 16 };
static void take_interrupted(uint64_t *words, const ucontext_t *context)
{
    static const int order[] = {REG_RAX, REG_RBX, REG_RCX, REG_RDX, REG_RDI, REG_RSI,
                                REG_RBP, REG_RSP, REG_R8,  REG_R9,  REG_R10, REG_R11,
                                REG_R12, REG_R13, REG_R14, REG_R15, REG_RIP, REG_EFL};
    for (unsigned i = 0; i < sizeof order / sizeof *order; i++) {
        words[i] = (uint64_t)context->uc_mcontext.gregs[order[i]];
    }
}

static void take_border(uint64_t *words, const uint64_t *saved)
{
    static const uint8_t order[] = {1, 6, 7, 12, 13, 14, 15, WORD_PC};
    for (unsigned i = 0; i < sizeof order; i++) {
        words[order[i]] = saved[i];
    }
}
#else
enum { WORD_LR = 30, WORD_PC = 32 };
static void take_interrupted(uint64_t *words, const ucontext_t *context)
{
    memcpy(words, context->uc_mcontext.regs, 31 * sizeof *words);
    words[31] = context->uc_mcontext.sp;
    words[WORD_PC] = context->uc_mcontext.pc;
    words[33] = context->uc_mcontext.pstate;
}

static void take_border(uint64_t *words, const uint64_t *saved)
{
    memcpy(words + 19, saved, 13 * sizeof *words); /* x19 to sp */
    words[WORD_PC] = words[WORD_LR];
}
#endif

/* Store the registers that a suspender may see. 0: the thread is at the border. */
static int take_registers(struct thread *thread, const ucontext_t *context)
{
    memset(thread->words, 0, sizeof thread->words);
    take_interrupted(thread->words, context);
    uint64_t pc = thread->words[WORD_PC], border = (uint64_t)(uintptr_t)border_primitive;
    if (host_is_image(pc)) {
        return 1;
    }
    if (host_border.is_inside == 0 || thread->locks != 0 ||
        pc - border < (uint64_t)(uintptr_t)border_primitive_end - border) {
        return 0;
    }
    memset(thread->words, 0, sizeof thread->words);
    take_border(thread->words, host_border.words);
    return 1;
}

static void on_signal(int signal, siginfo_t *info, void *context)
{
    int before = errno;
    (void)signal;
    (void)info;
    if (self != NULL && self->phase == ASKED) {
        set_phase(self, take_registers(self, context) ? STOPPED : DECLINED);
        if (self->is_suspending == 0) {
            wait_while(self, STOPPED);
        }
    }
    errno = before;
}

static void become(struct thread *thread)
{
    stack_t stack = {.ss_sp = malloc(STACK_BYTES), .ss_size = STACK_BYTES};
    if (stack.ss_sp == NULL || sigaltstack(&stack, NULL) != 0) {
        host_fail("no stack for signals");
    }
    host_make_thread_locals();
    thread->tid = (int)syscall(SYS_gettid);
    self = thread;
    thread->border = &host_border;
    __atomic_store_n(&thread->life, LIVE, __ATOMIC_SEQ_CST);
}

void host_begin_threads(void)
{
    struct sigaction action = {.sa_sigaction = on_signal,
                               .sa_flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK};
    sigaction(SIGRTMIN, &action, NULL);
    become(&threads[thread_count++]);
}

void host_keep_own_thread(void)
{
    for (uint32_t i = 0; i < thread_count; i++) {
        threads[i].life = &threads[i] == self ? LIVE : ENDED;
    }
    self->tid = (int)syscall(SYS_gettid);
    lock = 0; /* another thread may have had it */
}

/* A thread leaves by longjmp, from a stack that nothing returns to. */
static void *run(void *argument)
{
    struct thread *thread = argument;
    if (setjmp(thread->end) == 0) {
        become(thread);
        border_start(thread->function, thread->stack_end, 0, thread->argument, NULL, 0);
    }
    return NULL;
}

int32_t host_start_thread(uint64_t function, uint64_t stack_end, void *argument)
{
    pthread_t made;
    lock_threads();
    struct thread *thread = thread_count < THREADS_MAX ? &threads[thread_count++] : NULL;
    unlock_threads();
    if (thread == NULL) {
        return -1;
    }
    thread->function = function;
    thread->stack_end = stack_end;
    thread->argument = argument;
    if (pthread_create(&made, NULL, run, thread) != 0) {
        return -1;
    }
    pthread_detach(made);
    while (__atomic_load_n(&thread->life, __ATOMIC_SEQ_CST) == ABSENT) {
        sched_yield();
    }
    return (int32_t)(thread - threads);
}

void host_end_thread(void)
{
    lock_threads();
    while (self->suspends > 0) { /* somebody asks */
        unlock_threads();
        sched_yield();
        lock_threads();
    }
    __atomic_store_n(&self->life, ENDED, __ATOMIC_SEQ_CST);
    unlock_threads();
    longjmp(self->end, 1);
}

uint32_t host_count_threads(void)
{
    return __atomic_load_n(&thread_count, __ATOMIC_SEQ_CST);
}

int32_t host_is_thread(uint32_t index)
{
    return index < THREADS_MAX && __atomic_load_n(&threads[index].life, __ATOMIC_SEQ_CST) == LIVE
               ? 0
               : -1;
}

/* A live thread, whose border can be read, ends only with the lock. */
int32_t host_is_waiting(uint32_t index)
{
    lock_threads();
    int32_t result = host_is_thread(index);
    if (result == 0) {
        result = (int32_t)__atomic_load_n(&threads[index].border->is_waiting, __ATOMIC_SEQ_CST);
    }
    unlock_threads();
    return result;
}

/* The clock of a thread's CPU time is its tid (Linux, posix-timers_types.h). */
int32_t host_read_cpu(uint32_t index, uint64_t *ret_ns)
{
    struct timespec time;
    if (host_is_thread(index) != 0 ||
        clock_gettime((clockid_t)((~(uint32_t)threads[index].tid << 3) | 6), &time) != 0) {
        return -1;
    }
    *ret_ns = (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
    return 0;
}

/* A thread that declines gets the processor first: it may wait for it, at the border. */
static void stop(struct thread *thread)
{
    for (;;) {
        __atomic_store_n(&thread->phase, ASKED, __ATOMIC_SEQ_CST);
        syscall(SYS_tgkill, getpid(), thread->tid, SIGRTMIN);
        wait_while(thread, ASKED);
        if (thread->phase != DECLINED) {
            return;
        }
        sched_yield();
    }
}

int32_t host_suspend_thread(uint32_t index)
{
    int32_t result = -1;
    uint32_t before = 0;
    struct thread *thread = &threads[index % THREADS_MAX];
    __atomic_store_n(&self->is_suspending, 1, __ATOMIC_SEQ_CST);
    lock_threads();
    if (host_is_thread(index) == 0 && thread != self) {
        before = thread->suspends++;
        result = 0;
    }
    unlock_threads();
    if (result == 0 && before == 0) {
        stop(thread);
    }
    while (result == 0 && __atomic_load_n(&thread->phase, __ATOMIC_SEQ_CST) != STOPPED) {
        sched_yield(); /* another thread asks */
    }
    __atomic_store_n(&self->is_suspending, 0, __ATOMIC_SEQ_CST);
    wait_while(self, STOPPED);
    return result;
}

int32_t host_resume_thread(uint32_t index)
{
    int32_t result = -1;
    lock_threads();
    if (host_is_thread(index) == 0 && threads[index].suspends > 0) {
        if (--threads[index].suspends == 0) {
            set_phase(&threads[index], RUNS);
        }
        result = 0;
    }
    unlock_threads();
    return result;
}

int32_t host_get_registers(uint32_t index, uint64_t *ret_words)
{
    if (host_is_thread(index) != 0 || threads[index].suspends == 0) {
        return -1;
    }
    memcpy(ret_words, threads[index].words, sizeof threads[index].words);
    return 0;
}
