// SPDX-License-Identifier: Apache-2.0
/* clone() as vfork(), with shared memory but its own signal handlers: this thread sleeps until the
 * other process has ended. That process gets a copy of the handler table and replaces the fault
 * handlers in its copy. It sends no signal when it ends, so the program's waits do not see it. It
 * uses this thread's thread pointer, while this thread sleeps. */
#include "host_apart.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "os.h"

enum { STACK_BYTES = 1 << 16, RAN = 1, FAULTED = 2 };

struct apart {
    void (*function)(void *ctx);
    void *ctx;
    volatile int state; /* 0: nothing ran, or not in our memory */
    volatile uint64_t fault;
};

#ifndef SONDE_SANITIZED
static __thread struct apart *running;

/* End the other process, without the exit handlers of the program. */
static void leave(void)
{
    syscall(SYS_exit, 0);
}

static void on_fault(int signal, siginfo_t *info, void *context)
{
    (void)signal, (void)context;
    running->fault = (uint64_t)(uintptr_t)info->si_addr;
    running->state = FAULTED;
    leave();
}

static int run(void *argument)
{
    struct apart *apart = argument;
    struct sigaction action = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO};
    sigset_t faults;
    sigfillset(&action.sa_mask);
    sigemptyset(&faults);
    sigaddset(&faults, SIGSEGV);
    sigaddset(&faults, SIGBUS);
    if (sigaction(SIGSEGV, &action, NULL) == 0 && sigaction(SIGBUS, &action, NULL) == 0 &&
        sigprocmask(SIG_UNBLOCK, &faults, NULL) == 0) {
        apart->function(apart->ctx);
        apart->state = RAN;
    }
    leave();
    return 0;
}
#endif

enum sonde_status sonde__host_apart(void (*function)(void *ctx), void *ctx, uint64_t *ret_fault)
{
#ifdef SONDE_SANITIZED
    (void)function, (void)ctx, (void)ret_fault;
    return SONDE_UNSUPPORTED;
#else
    struct apart apart = {.function = function, .ctx = ctx};
    sigset_t all, before;
    char *stack = sonde__os_map(STACK_BYTES);
    int pid, why;
    if (stack == NULL) {
        return SONDE_OS;
    }
    running = &apart;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    pid = clone(run, stack + STACK_BYTES, CLONE_VM | CLONE_VFORK | CLONE_FILES, &apart);
    why = errno;
    while (pid > 0 && waitpid(pid, NULL, __WALL) == -1 && errno == EINTR) {
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    running = NULL;
    sonde__os_unmap(stack, STACK_BYTES);
    if (pid == -1) {
        return why == ENOSYS || why == EPERM || why == EINVAL ? SONDE_UNSUPPORTED : SONDE_OS;
    }
    if (apart.state == FAULTED) {
        *ret_fault = apart.fault;
        return SONDE_UNREADABLE;
    }
    return apart.state == RAN ? SONDE_OK : SONDE_UNSUPPORTED;
#endif
}
