// SPDX-License-Identifier: Apache-2.0
#include "traced.h"

#include <errno.h>
#include <stdarg.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "counted.h"

static void (*before_call)(uint64_t tid);
static enum __ptrace_request before_which;
int refusal;

long ptrace(enum __ptrace_request request, ...)
{
    va_list list;
    va_start(list, request);
    pid_t pid = va_arg(list, pid_t);
    void *address = va_arg(list, void *);
    void *data = va_arg(list, void *);
    va_end(list);
    if (request == before_which && before_call != NULL) {
        before_call((uint64_t)pid);
    }
    if (request == before_which && refusal != 0) {
        errno = refusal;
        return -1;
    }
    long result = syscall(SYS_ptrace, (long)request, pid, address, data);
    if (request == PTRACE_INTERRUPT && shared != NULL) {
        atomic_store(&shared->interrupted, true);
    }
    return result;
}

void (*after_vain_look)(uint64_t tid);

int waitid(idtype_t which, id_t id, siginfo_t *info, int options)
{
    int result = (int)syscall(SYS_waitid, which, id, info, options, NULL);
    void (*what)(uint64_t tid) = after_vain_look;
    if (what != NULL && (options & WNOHANG) != 0 && result == 0 && info->si_pid == 0) {
        after_vain_look = NULL;
        what((uint64_t)id);
    }
    return result;
}

void before(enum __ptrace_request which, void (*what)(uint64_t tid))
{
    before_which = which;
    before_call = what;
}

struct sonde__capture capture_stopping(unsigned i)
{
    struct sonde__target *target = open_program(SONDE__TARGET_PASSIVE, SONDE__TARGET_BY_PTRACE);
    struct sonde__capture captured = capture_running(target, i);
    before(0, NULL);
    sonde__target_close(target);
    return captured;
}
