// SPDX-License-Identifier: Apache-2.0
/* See host_signal.h. */
#include "host_signal.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "host_perf.h"
#include "host_status.h"
#include "os.h"

/* The highest pid is 2^22, so this one does not exist. */
enum { NOBODY = 0x7ffffff0 };

static bool has_signal(const char *status, const char *name)
{
    const char *at = strstr(status, name);
    return at != NULL &&
           (strtoull(at + strlen(name), NULL, 16) >> (SONDE__HOST_SAMPLE_SIGNAL - 1) & 1) != 0;
}

/* Zeroes: unknown. */
static struct sonde__os_schedstat read_schedstat(int32_t pid, uint64_t tid)
{
    struct sonde__os_schedstat schedstat = {0};
    int32_t fd;
    if (sonde__os_thread_open(pid, tid, SONDE__OS_THREAD_SCHEDSTAT, &fd, NULL) == SONDE_OK) {
        if (sonde__os_read_schedstat(fd, &schedstat, NULL) != SONDE_OK) {
            schedstat = (struct sonde__os_schedstat){0};
        }
        sonde__os_close(fd);
    }
    return schedstat;
}

static uint64_t leaves(const char *status)
{
    return sonde__host_status_field(status, "\nvoluntary_ctxt_switches:\t") +
           sonde__host_status_field(status, "\nnonvoluntary_ctxt_switches:\t");
}

/* A thread that got a CPU once more often than it left one is running now. Without this check, a
 * thread whose wait has ended but that has no CPU yet would look like a running one. */
bool sonde__host_signal_look(int32_t pid, uint64_t tid, struct sonde__host_signal_look *ret_look)
{
    char status[SONDE__HOST_STATUS_BYTES];
    struct sonde__os_schedstat before = read_schedstat(pid, tid), after;
    if (!sonde__host_read_status(pid, tid, status)) {
        return false;
    }
    after = read_schedstat(pid, tid);
    const char *state = strstr(status, "\nState:\t");
    *ret_look = (struct sonde__host_signal_look){
        .letter = (char)(state != NULL ? state[8] : '?'),
        .caught = has_signal(status, "\nSigCgt:\t"),
        .blocked = has_signal(status, "\nSigBlk:\t"),
        .pending = has_signal(status, "\nSigPnd:\t") || has_signal(status, "\nShdPnd:\t"),
        .confined = sonde__host_is_confined(status),
        .tracer = (int32_t)sonde__host_status_field(status, "\nTracerPid:\t"),
        .on_cpu = after.slices == 0 ||
                  (before.slices == after.slices && after.slices == leaves(status) + 1),
        .cpu_ns = after.cpu_ns,
        .waits = sonde__host_status_field(status, "\nvoluntary_ctxt_switches:\t"),
    };
    return true;
}

enum sonde_status sonde__host_signal_send(int32_t pid, uint64_t tid, uint64_t value,
                                          int32_t *ret_os_error)
{
    siginfo_t info = {0};
    info.si_signo = SONDE__HOST_SAMPLE_SIGNAL;
    info.si_code = SI_QUEUE;
    info.si_pid = getpid();
    info.si_uid = getuid();
    info.si_value.sival_ptr = (void *)(uintptr_t)value;
    if (syscall(SYS_rt_tgsigqueueinfo, pid, tid, SONDE__HOST_SAMPLE_SIGNAL, &info) == 0) {
        return SONDE_OK;
    }
    *ret_os_error = errno;
    switch (errno) {
    case ESRCH:
        return SONDE_ABSENT;
    case EAGAIN:
        return SONDE_BUSY;
    case EPERM:
    case EACCES:
        return SONDE_DENIED;
    default:
        return SONDE_OS;
    }
}

bool sonde__host_may_perf(void)
{
    struct sonde__host_perf perf;
    if (sonde__host_perf_open(sonde__os_pid(), sonde__os_tid(), 1000000000u, &perf, NULL) !=
        SONDE_OK) {
        return false;
    }
    sonde__host_perf_close(&perf);
    return true;
}

bool sonde__host_may_ptrace(void)
{
    return ptrace(PTRACE_SEIZE, (pid_t)NOBODY, NULL, NULL) == 0 || errno == ESRCH;
}
