// SPDX-License-Identifier: Apache-2.0
#include "host_self.h"

#include <dlfcn.h>
#include <link.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "host_signal.h"
#include "host_status.h"
#include "os.h"

void sonde__host_name_thread(const char *name)
{
    (void)prctl(PR_SET_NAME, name);
}

int sonde__host_start_thread(pthread_t *ret_thread, void *(*run)(void *ctx), void *ctx)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int failed = pthread_create(ret_thread, NULL, run, ctx);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return failed;
}

/* The clock of a thread's CPU time is its tid: ~(clock >> 3), with bit 2 for "thread" and 2 for the
 * kind of time (Linux, include/linux/posix-timers_types.h: CPUCLOCK_PID, CPUCLOCK_PERTHREAD_MASK,
 * CPUCLOCK_SCHED). C libraries offer no other way from a pthread_t to the tid. */
enum sonde_status sonde__host_thread_number(pthread_t thread, uint64_t *ret_tid)
{
    clockid_t clock;
    int32_t tid;
    if (pthread_getcpuclockid(thread, &clock) != 0) {
        return SONDE_ABSENT;
    }
    tid = ~(clock >> 3);
    if ((clock & 7) != 6 || tid <= 0) {
        return SONDE_UNSUPPORTED;
    }
    *ret_tid = (uint64_t)tid;
    return SONDE_OK;
}

const char *sonde__host_environment(const char *name)
{
    return secure_getenv(name);
}

bool sonde__host_is_journal(int32_t fd)
{
    const char *text = sonde__host_environment("JOURNAL_STREAM");
    unsigned long long device, inode;
    struct stat st;
    return text != NULL && sscanf(text, "%llu:%llu", &device, &inode) == 2 && fstat(fd, &st) == 0 &&
           st.st_dev == device && st.st_ino == inode;
}

bool sonde__host_is_secure(void)
{
    return getauxval(AT_SECURE) != 0;
}

char *const *sonde__host_environ(void)
{
    return environ;
}

bool sonde__host_signal_waits_here(void)
{
    static const char key[] = "\nShdPnd:\t";
    char status[SONDE__HOST_STATUS_BYTES];
    if (!sonde__host_read_status(sonde__os_pid(), sonde__os_tid(), status)) {
        return false;
    }
    const char *at = strstr(status, key);
    return at != NULL &&
           (strtoull(at + sizeof key - 1, NULL, 16) >> (SONDE__HOST_SAMPLE_SIGNAL - 1) & 1) != 0;
}

bool sonde__host_loader_symbol(uint64_t pc, struct sonde__host_symbol *ret_symbol)
{
    struct link_map *map = NULL;
    Dl_info info;
    if (dladdr1((void *)(uintptr_t)pc, &info, (void **)&map, // NOLINT(performance-no-int-to-ptr)
                RTLD_DL_LINKMAP) == 0 ||
        info.dli_fname == NULL || info.dli_fname[0] == '\0') {
        return false;
    }
    *ret_symbol = (struct sonde__host_symbol){
        .path = info.dli_fname,
        .bias = map != NULL ? (uint64_t)map->l_addr : 0,
        .name = info.dli_sname != NULL ? info.dli_sname : "",
        .start = (uint64_t)(uintptr_t)info.dli_saddr,
    };
    return true;
}
