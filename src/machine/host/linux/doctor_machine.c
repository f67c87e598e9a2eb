// SPDX-License-Identifier: Apache-2.0
/* The machine's abilities on Linux.
 *
 * Tests use a sleeping child process and a thread of ours that is blocked in a read with known
 * arguments. Under an emulator (qemu-user), /proc shows the host's registers; only a comparison
 * with the expected values reveals that. */
#include "host_doctor.h"

#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <linux/perf_event.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#if defined(__GLIBC__)
#    include <gnu/libc-version.h>
#endif

#include "base_bytes.h"
#include "host_clock.h"
#include "host_file.h"
#include "host_process.h"
#include "os.h"

struct sonde__finding *sonde__host_finding_add(struct sonde__findings *findings, const char *name)
{
    uint32_t at =
        findings->count < SONDE__FINDINGS_MAX ? findings->count++ : SONDE__FINDINGS_MAX - 1;
    struct sonde__finding *finding = &findings->list[at];
    memset(finding, 0, sizeof *finding);
    finding->name = name;
    return finding;
}

void sonde__host_finding_set(struct sonde__finding *finding, enum sonde__finding_state state,
                             const char *format, ...)
{
    va_list list;
    finding->state = (uint8_t)state;
    va_start(list, format);
    vsnprintf(finding->reason, sizeof finding->reason, format, list);
    va_end(list);
}

static void advise(struct sonde__finding *finding, const char *advice)
{
    snprintf(finding->advice, sizeof finding->advice, "%s", advice);
}

/* A small file of /proc; "" if unreadable. */
static const char *read_text(const char *path, char *buffer, size_t capacity)
{
    size_t size = 0;
    enum sonde_status status = sonde__host_file_read(path, buffer, capacity, &size, NULL);
    if (status != SONDE_OK && status != SONDE_LIMIT) {
        buffer[0] = '\0';
    }
    return buffer;
}

/* A number in a file, or `otherwise`. */
static long read_number(const char *path, long otherwise)
{
    char text[64];
    return read_text(path, text, sizeof text)[0] != '\0' ? strtol(text, NULL, 10) : otherwise;
}

static void inspect_system(struct sonde__findings *findings)
{
    struct sonde__finding *finding = sonde__host_finding_add(findings, "system");
    struct utsname name;
    const char *libc = "not glibc";
    char status[4096];
    if (uname(&name) != 0) {
        sonde__host_finding_set(finding, SONDE__FINDING_LIMITED, "uname: %s", strerror(errno));
        return;
    }
#if defined(__GLIBC__)
    libc = gnu_get_libc_version();
#endif
    sonde__host_finding_set(
        finding, SONDE__FINDING_OK, "%s %s %s, libc %s%s", name.sysname, name.release, name.machine,
        libc,
        strstr(read_text("/proc/self/status", status, sizeof status), "\nSeccomp:\t2") != NULL
            ? ", under a system-call filter (seccomp)"
            : "");
}

static void look_for_container(struct sonde__findings *findings)
{
    static const char *const marks[] = {"/.dockerenv", "/run/.containerenv",
                                        "/run/systemd/container"};
    struct sonde__finding *finding = sonde__host_finding_add(findings, "container");
    const char *inside = getenv("container");
    for (unsigned i = 0; i < 3 && inside == NULL; i++) {
        inside = access(marks[i], F_OK) == 0 ? marks[i] : NULL;
    }
    sonde__host_finding_set(finding, SONDE__FINDING_OK, inside != NULL ? "yes (%s)" : "none seen%s",
                            inside != NULL ? inside : "");
    if (inside != NULL) {
        advise(finding, "processes outside of this container cannot be seen from here");
    }
}

static void inspect_hidepid(struct sonde__findings *findings)
{
    struct sonde__finding *finding = sonde__host_finding_add(findings, "/proc");
    char text[8192];
    const char *line = read_text("/proc/self/mounts", text, sizeof text);
    const char *hide = NULL;
    while (line != NULL && *line != '\0') {
        const char *end = strchr(line, '\n');
        const char *option = strstr(line, "hidepid=");
        if (strncmp(line, "proc /proc ", 11) == 0 && option != NULL &&
            (end == NULL || option < end)) {
            hide = option + 8;
        }
        line = end != NULL ? end + 1 : NULL;
    }
    finding->needed = true;
    if (access("/proc/self/maps", R_OK) != 0) {
        sonde__host_finding_set(finding, SONDE__FINDING_NO, "/proc/self/maps: %s", strerror(errno));
        advise(finding, "mount -t proc proc /proc");
    } else if (hide != NULL && *hide != '0' && strncmp(hide, "off", 3) != 0 && geteuid() != 0) {
        sonde__host_finding_set(finding, SONDE__FINDING_LIMITED,
                                "hidepid: other users' processes are hidden");
        advise(finding, "run sonde as root to see them");
    } else {
        sonde__host_finding_set(finding, SONDE__FINDING_OK, "mounted, processes can be listed");
    }
}

/* --- a thread that is blocked in a call that we know --- */

struct sleeper {
    int fd;
    char *buffer;
    _Atomic int tid;
};

enum { SLEEPER_BYTES = 7 };

static void *sleep_in_read(void *ctx)
{
    struct sleeper *s = ctx;
    s->tid = (int)syscall(SYS_gettid);
    ssize_t n = read(s->fd, s->buffer, SLEEPER_BYTES);
    (void)n;
    return NULL;
}

static void pause_ms(unsigned ms)
{
    struct timespec t = {ms / 1000, (long)(ms % 1000) * 1000000};
    nanosleep(&t, NULL);
}

/* Wait until the thread is seen in its call, which may take long on a loaded machine. */
static enum sonde_status read_blocked(const struct sleeper *s, struct sonde__os_call *ret_call,
                                      int32_t *ret_os_error)
{
    struct sonde__os_wait wait = {{0}};
    enum sonde_status status = SONDE_BUSY;
    for (int i = 0; i < 200; i++) {
        int32_t fd;
        int tid = s->tid;
        pause_ms(5);
        if (tid == 0) {
            continue;
        }
        status =
            sonde__os_thread_open(0, (uint64_t)tid, SONDE__OS_THREAD_SYSCALL, &fd, ret_os_error);
        if (status != SONDE_OK) {
            return status;
        }
        status = sonde__os_read_wait(fd, &wait, ret_os_error);
        sonde__os_close(fd);
        *ret_call = sonde__os_wait_call(&wait);
        if (status != SONDE_OK || ret_call->number >= 0) {
            return status;
        }
    }
    return SONDE_BUSY;
}

static void judge_blocked(struct sonde__finding *finding, const struct sleeper *s)
{
    struct sonde__os_call call = {.number = -1};
    int32_t os_error = 0;
    enum sonde_status status = read_blocked(s, &call, &os_error);
    if (status != SONDE_OK) {
        sonde__host_finding_set(finding, SONDE__FINDING_NO, "/proc/self/task/TID/syscall: %s",
                                os_error != 0 ? strerror(os_error) : sonde_status_text(status));
        advise(finding, status == SONDE_ABSENT
                            ? "this kernel does not show it; use `sonde stacks --stop`"
                            : "something forbids it (a container's profile?); try as root");
    } else if (call.number != SYS_read || call.args[0] != (uint64_t)s->fd ||
               call.args[1] != (uint64_t)(uintptr_t)s->buffer || call.args[2] != SLEEPER_BYTES) {
        sonde__host_finding_set(finding, SONDE__FINDING_NO,
                                "/proc shows other registers than the thread has: this runs under "
                                "an emulator (qemu-user)");
        advise(finding, "run sonde on the emulating machine itself, or on real hardware");
    } else {
        sonde__host_finding_set(finding, SONDE__FINDING_OK,
                                "a blocked thread's call and stack pointer are shown, and right");
    }
}

static void inspect_blocked_thread(struct sonde__findings *findings)
{
    struct sonde__finding *finding = sonde__host_finding_add(findings, "blocked threads");
    char buffer[SLEEPER_BYTES];
    struct sleeper s = {-1, buffer, 0};
    int ends[2];
    pthread_t thread;
    int error;
    finding->needed = true;
    if (pipe2(ends, O_CLOEXEC) != 0) {
        sonde__host_finding_set(finding, SONDE__FINDING_LIMITED, "not tried: pipe: %s",
                                strerror(errno));
        return;
    }
    s.fd = ends[0];
    error = pthread_create(&thread, NULL, sleep_in_read, &s);
    if (error == 0) {
        judge_blocked(finding, &s);
        close(ends[1]);
        pthread_join(thread, NULL);
    } else {
        sonde__host_finding_set(finding, SONDE__FINDING_LIMITED, "not tried: no thread: %s",
                                strerror(error));
        close(ends[1]);
    }
    close(ends[0]);
}

/* --- another process --- */

static volatile uint64_t mark = 0x736f6e646521u;

/* Start a child that sleeps until it is killed; it dies with us. */
static pid_t start_child(void)
{
    pid_t parent = getpid();
    pid_t child;
    fflush(NULL);
    child = fork();
    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        while (getppid() == parent) {
            pause_ms(1000);
        }
        _exit(0);
    }
    return child;
}

static void end_child(pid_t child)
{
    kill(child, SIGKILL);
    while (waitpid(child, NULL, 0) < 0 && errno == EINTR) {
    }
}

static void try_memory(struct sonde__findings *findings, pid_t child)
{
    struct sonde__finding *finding = sonde__host_finding_add(findings, "process memory");
    uint64_t value = 0;
    char path[64];
    int fd;
    finding->needed = true;
    struct iovec local = {&value, sizeof value};
    struct iovec remote = {(void *)(uintptr_t)&mark, sizeof mark};
    if (process_vm_readv(child, &local, 1, &remote, 1, 0) == (ssize_t)sizeof value &&
        value == mark) {
        sonde__host_finding_set(finding, SONDE__FINDING_OK, "process_vm_readv works");
        return;
    }
    int os_error = errno;
    snprintf(path, sizeof path, "/proc/%d/mem", (int)child);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd >= 0 && pread(fd, &value, sizeof value, (off_t)(uintptr_t)&mark) == sizeof value &&
        value == mark) {
        sonde__host_finding_set(finding, SONDE__FINDING_LIMITED,
                                "process_vm_readv: %s; /proc/PID/mem works in its place",
                                strerror(os_error));
    } else {
        sonde__host_finding_set(finding, SONDE__FINDING_NO,
                                "process_vm_readv: %s; /proc/PID/mem: %s", strerror(os_error),
                                strerror(errno));
        advise(finding, "a container: allow it (--cap-add=SYS_PTRACE, or another seccomp profile)");
    }
    if (fd >= 0) {
        close(fd);
    }
}

static void try_ptrace(struct sonde__findings *findings, pid_t child)
{
    struct sonde__finding *finding = sonde__host_finding_add(findings, "ptrace");
    if (ptrace(PTRACE_SEIZE, child, NULL, NULL) != 0) {
        sonde__host_finding_set(finding, SONDE__FINDING_LIMITED,
                                "an own child could not be seized: %s; `sonde stacks --stop` does "
                                "not work, `sonde run` has a signal in its place",
                                strerror(errno));
        advise(finding, "a container: allow it (--cap-add=SYS_PTRACE, or another seccomp profile)");
        return;
    }
    sonde__host_finding_set(finding, SONDE__FINDING_OK, "an own child could be seized");
}

static void inspect_yama(struct sonde__findings *findings)
{
    struct sonde__finding *finding = sonde__host_finding_add(findings, "other programs");
    long scope = read_number("/proc/sys/kernel/yama/ptrace_scope", 0);
    if (sonde__host_may_trace_all()) {
        sonde__host_finding_set(finding, SONDE__FINDING_OK,
                                "this user may read any process (CAP_SYS_PTRACE)");
    } else if (scope == 0) {
        sonde__host_finding_set(finding, SONDE__FINDING_OK,
                                "this user's own processes can be read");
        advise(finding, "run sonde as root for those of others");
    } else {
        sonde__host_finding_set(
            finding, SONDE__FINDING_LIMITED, "Yama (ptrace_scope %ld) allows %s only", scope,
            scope == 1 ? "programs that sonde itself started (`sonde run`)" : "the administrator");
        advise(finding, scope >= 3 ? "nothing short of a reboot changes that"
                                   : "run sonde as root, or: sysctl kernel.yama.ptrace_scope=0");
    }
}

/* --- perf events --- */

static void spin_ms(unsigned ms)
{
    uint64_t begin_ns = sonde__host_monotonic_ns();
    while (sonde__host_monotonic_ns() - begin_ns < ms * (uint64_t)1000000) {
    }
}

/* Did a sampling event on this thread record anything? */
static bool perf_samples(int fd)
{
    size_t page = sonde__os_page_size();
    struct perf_event_mmap_page *ring =
        mmap(NULL, page * 9, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    bool seen = false;
    if (ring == MAP_FAILED) {
        return false;
    }
    for (int i = 0; i < 20 && !seen; i++) {
        spin_ms(10);
        seen = __atomic_load_n(&ring->data_head, __ATOMIC_ACQUIRE) != 0;
    }
    munmap(ring, page * 9);
    return seen;
}

static void try_perf(struct sonde__findings *findings)
{
    struct sonde__finding *finding = sonde__host_finding_add(findings, "perf events");
    long paranoid = read_number("/proc/sys/kernel/perf_event_paranoid", -2);
    struct perf_event_attr attr;
    int fd;
    memset(&attr, 0, sizeof attr);
    attr.size = sizeof attr;
    attr.type = PERF_TYPE_SOFTWARE;
    attr.config = PERF_COUNT_SW_TASK_CLOCK;
    attr.sample_period = 1000000; /* ns of CPU time */
    attr.sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_STACK_USER;
    attr.sample_stack_user = 4096;
    attr.exclude_kernel = 1;
    attr.exclude_hv = 1;
    fd = (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
    if (fd >= 0 && perf_samples(fd)) {
        sonde__host_finding_set(finding, SONDE__FINDING_OK,
                                "running threads are sampled without disturbing them "
                                "(perf_event_paranoid %ld)",
                                paranoid);
    } else if (fd >= 0) {
        sonde__host_finding_set(finding, SONDE__FINDING_LIMITED,
                                "events open but give no samples; ptrace stands in for running "
                                "threads");
    } else {
        sonde__host_finding_set(
            finding, SONDE__FINDING_LIMITED,
            "%s (perf_event_paranoid %ld); ptrace stands in for running threads", strerror(errno),
            paranoid);
        advise(finding, paranoid >= 3 ? "sysctl kernel.perf_event_paranoid=2, or run sonde as root"
                                      : "a container: another seccomp profile, or "
                                        "--cap-add=PERFMON");
    }
    if (fd >= 0) {
        close(fd);
    }
}

static void try_memfd(struct sonde__findings *findings)
{
    struct sonde__finding *finding = sonde__host_finding_add(findings, "shared page");
    int fd = memfd_create("sonde", MFD_CLOEXEC);
    if (fd < 0) {
        sonde__host_finding_set(finding, SONDE__FINDING_LIMITED,
                                "memfd_create: %s; `sonde run` cannot follow a program's loop",
                                strerror(errno));
        return;
    }
    close(fd);
    sonde__host_finding_set(finding, SONDE__FINDING_OK, "memfd_create works");
}

/* --- separate debug files --- */

/* The path where `sonde stacks` looks for libc's debug file; "" without a build-id. Notes: System V
 * gABI 4.1 chapter 5; NT_GNU_BUILD_ID is 3, of owner "GNU". */
static int libc_debug_path(struct dl_phdr_info *info, size_t info_size, void *ctx)
{
    char *path = ctx;
    (void)info_size;
    if (info->dlpi_name == NULL || strstr(info->dlpi_name, "/libc.so") == NULL) {
        return 0;
    }
    for (unsigned i = 0; i < info->dlpi_phnum; i++) {
        struct sonde__bytes notes;
        const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
        if (segment->p_type != PT_NOTE) {
            continue;
        }
        sonde__base_bytes_init(&notes,
                               (const void *)(uintptr_t)(info->dlpi_addr + segment->p_vaddr),
                               segment->p_memsz);
        while (sonde__base_bytes_left(&notes) >= 12) {
            uint32_t name_size = sonde__base_bytes_u32(&notes);
            uint32_t size = sonde__base_bytes_u32(&notes);
            uint32_t type = sonde__base_bytes_u32(&notes);
            const uint8_t *name = sonde__base_bytes_take(&notes, (name_size + 3) & ~3u);
            const uint8_t *id = sonde__base_bytes_take(&notes, (size + 3) & ~3u);
            if (name != NULL && id != NULL && type == 3 && name_size == 4 &&
                memcmp(name, "GNU", 4) == 0 && size > 1 && size <= 32) {
                int n = sprintf(path, "/usr/lib/debug/.build-id/%02x/", id[0]);
                for (uint32_t b = 1; b < size; b++) {
                    n += sprintf(path + n, "%02x", id[b]);
                }
                sprintf(path + n, ".debug");
                return 1;
            }
        }
    }
    return 0;
}

static void look_for_debug_files(struct sonde__findings *findings)
{
    struct sonde__finding *finding = sonde__host_finding_add(findings, "debug symbols");
    char path[128] = "";
    dl_iterate_phdr(libc_debug_path, path);
    if (path[0] != '\0' && access(path, R_OK) == 0) {
        sonde__host_finding_set(finding, SONDE__FINDING_OK, "those of the libc are installed");
        return;
    }
    sonde__host_finding_set(finding, SONDE__FINDING_LIMITED,
                            "none for the libc: its inner functions are shown as libc.so.6+0x..., "
                            "exported ones by name");
    advise(finding, "install libc6-dbg, and the -dbgsym packages of what you look at");
}

static void inspect_loader(struct sonde__findings *findings)
{
    struct sonde__finding *finding = sonde__host_finding_add(findings, "loader");
    if (sonde__os_loader_answers()) {
        sonde__host_finding_set(finding, SONDE__FINDING_OK,
                                "it tells handlers which libraries are loaded");
        return;
    }
    sonde__host_finding_set(finding, SONDE__FINDING_LIMITED,
                            "it does not tell handlers which libraries are loaded: stacks through "
                            "libraries of dlopen() are not remembered");
    advise(finding, "captures are slower there; glibc 2.35 and later has _dl_find_object()");
}

void sonde__host_doctor_machine(struct sonde__findings *findings)
{
    pid_t child;
    inspect_system(findings);
    look_for_container(findings);
    inspect_hidepid(findings);
    inspect_blocked_thread(findings);
    child = start_child();
    if (child > 0) {
        try_memory(findings, child);
        try_ptrace(findings, child);
        end_child(child);
    }
    inspect_yama(findings);
    try_perf(findings);
    try_memfd(findings);
    inspect_loader(findings);
    look_for_debug_files(findings);
}
