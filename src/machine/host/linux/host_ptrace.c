// SPDX-License-Identifier: Apache-2.0
#include "host_ptrace.h"

#include <elf.h>
#include <errno.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/wait.h>

#include "base_status.h"
#include "host_identity.h"
#include "host_process.h"
#include "host_regs.h"
#include "os.h"

enum { POLL_FIRST_NS = 20000, POLL_MAX_NS = 2000000 };

static enum sonde_status last_status(int32_t *ret_os_error)
{
    int error = errno;
    if (ret_os_error != NULL) {
        *ret_os_error = error;
    }
    return error == ESRCH                      ? SONDE_ABSENT
           : error == EPERM || error == EACCES ? SONDE_DENIED
           : error == ENOSYS                   ? SONDE_UNSUPPORTED
                                               : SONDE_OS;
}

/* PTRACE_SEIZE takes a bare thread number. A traced thread keeps its number until we wait for it.
 */
enum sonde_status sonde__host_ptrace_seize(int32_t pid, uint64_t tid, int32_t *ret_os_error)
{
    struct sonde__host_identity identity;
    SONDE_TRY(sonde__host_identity_take(pid, tid, &identity, ret_os_error));
    enum sonde_status status =
        ptrace(PTRACE_SEIZE, (pid_t)tid, NULL, NULL) == 0 ? SONDE_OK : last_status(ret_os_error);
    if (status == SONDE_OK && !sonde__host_identity_holds(&identity)) {
        status = SONDE_BUSY;
    }
    sonde__host_identity_drop(&identity);
    return status;
}

enum sonde_status sonde__host_ptrace_interrupt(uint64_t tid)
{
    return ptrace(PTRACE_INTERRUPT, (pid_t)tid, NULL, NULL) == 0 ? SONDE_OK : last_status(NULL);
}

/* Check once, without consuming the stop: else the kernel would not deliver the signal when the
 * tracer ends. The tracer's end also releases an ended thread. Returns OK | ABSENT | TIMEOUT (not
 * yet) | OS. */
static enum sonde_status look_for_stop(uint64_t tid, int32_t *ret_signal)
{
    siginfo_t info = {.si_pid = 0};
    if (waitid(P_PID, (id_t)tid, &info, WSTOPPED | WEXITED | WNOHANG | WNOWAIT | __WALL) != 0) {
        return errno == EINTR ? SONDE_TIMEOUT : errno == ECHILD ? SONDE_ABSENT : SONDE_OS;
    }
    if (info.si_pid == 0) {
        return SONDE_TIMEOUT;
    }
    if (info.si_code != CLD_STOPPED && info.si_code != CLD_TRAPPED) {
        return SONDE_ABSENT;
    }
    /* an event stop is ours; other stops are for a signal to the thread */
    *ret_signal = info.si_status >> 8 == 0 ? info.si_status : 0;
    return SONDE_OK;
}

/* waitid() has no time-out, and a thread in an uninterruptible wait stops only when that ends.
 * Polling starts at the time that a running thread takes to stop. */
enum sonde_status sonde__host_ptrace_wait(uint64_t tid, uint64_t timeout_ns, int32_t *ret_signal)
{
    uint64_t begin_ns = sonde__os_now_ns();
    uint64_t pause_ns = POLL_FIRST_NS;
    for (;;) {
        enum sonde_status status = look_for_stop(tid, ret_signal);
        if (status != SONDE_TIMEOUT || sonde__os_now_ns() - begin_ns >= timeout_ns) {
            return status;
        }
        sonde__host_sleep(pause_ns);
        pause_ns = pause_ns * 2 < POLL_MAX_NS ? pause_ns * 2 : POLL_MAX_NS;
    }
}

enum sonde_status sonde__host_ptrace_registers(uint64_t tid, struct sonde__regs *ret_regs,
                                               int64_t *ret_syscall, uint64_t ret_args[6])
{
    uint8_t set[512];
    struct iovec io = {set, sizeof set};
    if (ptrace(PTRACE_GETREGSET, (pid_t)tid, (void *)NT_PRSTATUS, &io) != 0) {
        return last_status(NULL);
    }
    return sonde__host_regs_decode(SONDE__ARCH_HOST, set, io.iov_len, ret_regs, ret_syscall,
                                   ret_args)
               ? SONDE_OK
               : SONDE_UNSUPPORTED;
}

/* ptrace(2), PTRACE_EVENT_STOP: the signal is that of the group stop, and else SIGTRAP. */
bool sonde__host_ptrace_group_stop(uint64_t tid)
{
    siginfo_t info;
    return ptrace(PTRACE_GETSIGINFO, (pid_t)tid, NULL, &info) == 0 &&
           info.si_code >> 8 == PTRACE_EVENT_STOP && info.si_signo != SIGTRAP;
}

bool sonde__host_ptrace_detach(uint64_t tid, int32_t signal)
{
    return ptrace(PTRACE_DETACH, (pid_t)tid, NULL, (void *)(intptr_t)signal) == 0;
}
