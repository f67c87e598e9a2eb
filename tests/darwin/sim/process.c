// SPDX-License-Identifier: Apache-2.0
/* Other processes, what the system says of them and of itself, and the user's folders. */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/sysctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "sim.h"

int sched_yield(void)
{
    static const uint32_t never = 0;
    host_sleep(&never, 0, 1000);
    return 0;
}

uid_t geteuid(void)
{
    return host_geteuid();
}

int seteuid(uid_t user)
{
    int64_t got = host_become(user);
    return got == 0 ? 0 : sim_fail(-got);
}

int issetugid(void)
{
    return 0;
}

pid_t fork(void)
{
    int64_t pid = host_fork();
    return pid >= 0 ? (pid_t)pid : sim_fail(-pid);
}

pid_t waitpid(pid_t pid, int *ret_status, int options)
{
    int32_t status = 0;
    int64_t got = options == 0 ? host_wait_for(pid, &status) : -ENOTSUP;
    if (got < 0) {
        return sim_fail(-got);
    }
    if (ret_status != 0) {
        *ret_status = status;
    }
    return (pid_t)got;
}

/* The two whose numbers differ, of those that a test sends. */
static int host_signal(int signal)
{
    enum { LINUX_CONT = 18, LINUX_STOP = 19 };
    return signal == SIGSTOP ? LINUX_STOP : signal == SIGCONT ? LINUX_CONT : signal;
}

int kill(pid_t pid, int signal)
{
    int64_t got = host_kill(pid, host_signal(signal));
    return got == 0 ? 0 : sim_fail(-got);
}

int raise(int signal)
{
    return kill(getpid(), signal);
}

/* The simulation sends no signals to threads. */
int pthread_sigmask(int how, const sigset_t *set, sigset_t *ret_before)
{
    (void)how;
    (void)set;
    if (ret_before != 0) {
        *ret_before = 0;
    }
    return 0;
}

/* A debugger is attached. Set by tests. */
extern int sim_traced;
int sim_traced;

int sysctl(int *name, unsigned count, void *value, size_t *size, void *new_value, size_t new_size)
{
    struct kinfo_proc *process = value;
    int32_t is_zombie = 0;
    (void)new_size;
    if (count != 4 || name[0] != CTL_KERN || name[1] != KERN_PROC || name[2] != KERN_PROC_PID ||
        new_value != 0 || *size < sizeof *process) {
        return sim_fail(ENOTSUP);
    }
    int64_t start = host_process(name[3], &is_zombie);
    if (start < 0) {
        *size = 0; /* as Apple's: no process, and no error */
        return 0;
    }
    memset(process, 0, sizeof *process);
    process->kp_proc.p_starttime.tv_sec = (long)(start / 100);
    process->kp_proc.p_starttime.tv_usec = (int)(start % 100 * 10000);
    process->kp_proc.p_stat = (char)(is_zombie ? SZOMB : SRUN);
    process->kp_proc.p_flag = sim_traced && name[3] == host_getpid() ? P_TRACED : 0;
    process->kp_proc.p_pid = name[3];
    *size = sizeof *process;
    return 0;
}

int getentropy(void *bytes, size_t size)
{
    return host_getentropy(bytes, size);
}

int putenv(char *text)
{
    return host_putenv(text);
}

void tzset(void) {}

struct tm *gmtime_r(const time_t *seconds, struct tm *ret_time)
{
    int32_t fields[9];
    if (host_utc(*seconds, fields) != 0) {
        return 0;
    }
    *ret_time = (struct tm){.tm_sec = fields[0],
                            .tm_min = fields[1],
                            .tm_hour = fields[2],
                            .tm_mday = fields[3],
                            .tm_mon = fields[4],
                            .tm_year = fields[5],
                            .tm_wday = fields[6],
                            .tm_yday = fields[7]};
    return ret_time;
}

/* --- <sysdir.h>: the user's folder for caches is the only one. State 1 is before it, 2 behind ---
 */

uint32_t sysdir_start_search_path_enumeration(uint32_t directory, uint32_t domains);
uint32_t sysdir_start_search_path_enumeration(uint32_t directory, uint32_t domains)
{
    return directory == 13 && domains == 1;
}

uint32_t sysdir_get_next_search_path_enumeration(uint32_t state, char *ret_path);
uint32_t sysdir_get_next_search_path_enumeration(uint32_t state, char *ret_path)
{
    if (state != 1) {
        return 0;
    }
    strcpy(ret_path, "~/Library/Caches");
    return 2;
}
