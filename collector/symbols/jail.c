// SPDX-License-Identifier: Apache-2.0
#include "jail.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

/* A sanitizer's runtime maps terabytes and reads its own files. */
#ifdef SONDE_SANITIZED
enum { HAS_JAIL = 0 };
#else
enum { HAS_JAIL = 1 };
#endif

/* Memory, reading and writing what is open, time, and the end. glibc's qsort() asks how much memory
 * there is when it sorts more than a kilobyte (sysinfo). */
static const uint16_t allowed[] = {
    SYS_read,         SYS_pread64, SYS_write,   SYS_pwrite64,      SYS_lseek,     SYS_fstat,
    SYS_ftruncate,    SYS_close,   SYS_mmap,    SYS_munmap,        SYS_mremap,    SYS_mprotect,
    SYS_madvise,      SYS_brk,     SYS_futex,   SYS_clock_gettime, SYS_getrandom, SYS_exit_group,
    SYS_rt_sigreturn, SYS_exit,    SYS_sysinfo,
};
/* Attempts to open a file, which libraries make. */
static const uint16_t absent[] = {SYS_openat, SYS_newfstatat};
enum {
    ALLOWED = sizeof allowed / sizeof *allowed,
    ABSENT = sizeof absent / sizeof *absent,
    RULES = 2 * (ALLOWED + ABSENT) + 5
};

/* This program's own header: it says for which machine the system calls are. */
extern const Elf64_Ehdr __ehdr_start __attribute__((visibility("hidden")));

#define LOAD(member)                                                                               \
    (struct sock_filter) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, member))
#define SKIP_UNLESS(value) (struct sock_filter) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (value), 0, 1)
#define ANSWER(value)      (struct sock_filter) BPF_STMT(BPF_RET | BPF_K, (value))

static int filter_calls(void)
{
    struct sock_filter rules[RULES];
    unsigned short count = 0;
    const uint32_t machine = __ehdr_start.e_machine | __AUDIT_ARCH_64BIT | __AUDIT_ARCH_LE;
    rules[count++] = LOAD(arch);
    rules[count++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, machine, 1, 0);
    rules[count++] = ANSWER(SECCOMP_RET_KILL_PROCESS);
    rules[count++] = LOAD(nr);
    for (unsigned i = 0; i < ALLOWED; i++) {
        rules[count++] = SKIP_UNLESS(allowed[i]);
        rules[count++] = ANSWER(SECCOMP_RET_ALLOW);
    }
    for (unsigned i = 0; i < ABSENT; i++) {
        rules[count++] = SKIP_UNLESS(absent[i]);
        rules[count++] = ANSWER(SECCOMP_RET_ERRNO | ENOENT);
    }
    rules[count++] = ANSWER(SECCOMP_RET_KILL_PROCESS);
    const struct sock_fprog program = {.len = count, .filter = rules};
    return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0 ? 0 : errno;
}

static int limit(int what, uint64_t value)
{
    const struct rlimit both = {value, value};
    return setrlimit((__rlimit_resource_t)what, &both) == 0 ? 0 : errno;
}

/* Where memory runs out, the kernel ends this process before the collector. A service manager may
 * hold its limit of memory below the jail's. Without /proc it is as it was. */
static void be_first_without_memory(void)
{
    int file = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
    if (file >= 0) {
        (void)!write(file, "1000", 4);
        close(file);
    }
}

int jail_enter(const struct jail *jail)
{
    const struct {
        int what;
        uint64_t value;
    } limits[] = {{RLIMIT_CORE, 0},
                  {RLIMIT_NPROC, 0},
                  {RLIMIT_FSIZE, jail->output_bytes},
                  {RLIMIT_CPU, jail->cpu_seconds},
                  {RLIMIT_AS, jail->memory_bytes}};
    int os_error = 0;
    if (!HAS_JAIL) {
        return 0;
    }
    be_first_without_memory();
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || prctl(PR_SET_DUMPABLE, 0) != 0 ||
        prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) {
        return errno;
    }
    for (unsigned i = 0; i < sizeof limits / sizeof *limits && os_error == 0; i++) {
        os_error = limit(limits[i].what, limits[i].value);
    }
    return os_error == 0 ? filter_calls() : os_error;
}
