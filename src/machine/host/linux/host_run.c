// SPDX-License-Identifier: Apache-2.0
/* Starts the supervisor by a double fork that the program does not notice. See host_run.h. */
#include "host_run.h"
#include "host_writer.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "host_limit.h"

/* Process names (/proc/PID/comm). */
#define SUPERVISOR_NAME "sonde-watch"
#define SPARE_NAME      "sonde-spare"

static enum sonde_status refuse(struct sonde_error *ret_error, const char *what)
{
    if (ret_error != NULL) {
        *ret_error = (struct sonde_error){.status = SONDE_OS, .os_error = errno};
        snprintf(ret_error->what, sizeof ret_error->what, "%s", what);
    }
    return SONDE_OS;
}

static bool set_size(int fd, size_t size)
{
    struct sonde__host_limit limit;
    sonde__host_limit_begin(&limit);
    bool done = ftruncate(fd, (off_t)size) == 0;
    sonde__host_limit_end(&limit);
    return done;
}

enum sonde_status sonde__host_shared_create(size_t size, int32_t *ret_fd, void **ret_memory,
                                            struct sonde_error *ret_error)
{
    int fd = memfd_create(SONDE__HOST_SHARED_NAME, MFD_ALLOW_SEALING);
    void *memory;
    if (fd < 0) {
        return refuse(ret_error, "memfd_create");
    }
    if (!set_size(fd, size) ||
        (memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0)) == MAP_FAILED) {
        enum sonde_status status = refuse(ret_error, "shared memory");
        close(fd);
        return status;
    }
    /* if a program shrank it, readers would die by SIGBUS */
    (void)fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL);
    *ret_fd = fd;
    *ret_memory = memory;
    return SONDE_OK;
}

int32_t sonde__host_shared_reserve(size_t size)
{
    int fd = memfd_create(SONDE__HOST_SHARED_NAME, MFD_ALLOW_SEALING | MFD_CLOEXEC);
    if (fd >= 0 && !set_size(fd, size)) {
        close(fd);
        return -1;
    }
    if (fd >= 0) {
        (void)fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL);
    }
    return fd;
}

enum sonde_status sonde__host_landmark_create(const char *name, const void *bytes, size_t size,
                                              void **ret_memory)
{
    int fd = memfd_create(name, MFD_CLOEXEC);
    void *memory = MAP_FAILED;
    if (fd >= 0) {
        if (set_size(fd, size)) {
            memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
        }
        close(fd);
    }
    if (memory == MAP_FAILED) {
        return SONDE_OS;
    }
    memcpy(memory, bytes, size);
    *ret_memory = memory;
    return SONDE_OK;
}

static int ready_fd = -1;

void sonde__host_supervisor_ready(void)
{
    int32_t pid = getpid();
    if (ready_fd >= 0) {
        (void)!write(ready_fd, &pid, sizeof pid);
        close(ready_fd);
        ready_fd = -1;
    }
}

/* Close all descriptors except stderr, the report and the ready pipe. Readers of the program's
 * output must see its end when the program ends. */
static void close_inherited(const int32_t keep_fds[2])
{
    int keep[3] = {keep_fds[0], keep_fds[1], ready_fd};
    unsigned from = 3;
    for (int i = 1; i < 3; i++) { /* ascending */
        for (int n = i; n > 0 && keep[n] < keep[n - 1]; n--) {
            int swap = keep[n];
            keep[n] = keep[n - 1];
            keep[n - 1] = swap;
        }
    }
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (null >= 0) {
        dup2(null, STDIN_FILENO);
        dup2(null, STDOUT_FILENO);
    }
    for (int i = 0; i < 3; i++) {
        if (keep[i] >= (int)from) {
            if ((unsigned)keep[i] > from) {
                (void)syscall(SYS_close_range, from, (unsigned)keep[i] - 1, 0);
            }
            from = (unsigned)keep[i] + 1;
        }
    }
    (void)syscall(SYS_close_range, from, ~0u, 0);
}

static void set_signals(void)
{
    sigset_t none;
    sigemptyset(&none);
    for (int s = 1; s < NSIG; s++) {
        bool ignored = s == SIGPIPE || s == SIGHUP || s == SIGINT || s == SIGXFSZ;
        signal(s, ignored ? SIG_IGN : SIG_DFL);
    }
    sigprocmask(SIG_SETMASK, &none, NULL);
}

/* Its own session keeps job control signals away. */
static void become_supervisor(void (*body)(void *, int32_t), void *ctx, int32_t pid,
                              const int32_t keep_fds[2])
{
    setsid();
    set_signals();
    prctl(PR_SET_NAME, SUPERVISOR_NAME);
    close_inherited(keep_fds);
    (void)!chdir("/");
    body(ctx, pid);
    _exit(1);
}

/* The end of a child of fork() sends SIGCHLD, which would stay pending if the caller's parent
 * blocked it. So the intermediate child has no exit signal. */
static long fork_silently(void)
{
    return syscall(SYS_clone, 0, NULL, NULL, NULL, NULL);
}

enum sonde_status sonde__host_start_supervisor(void (*body)(void *ctx, int32_t pid), void *ctx,
                                               const int32_t keep_fds[2], int32_t *ret_supervisor,
                                               struct sonde_error *ret_error)
{
    int ready[2];
    int32_t supervisor = 0;
    pid_t self = getpid();
    if (pipe2(ready, O_CLOEXEC) != 0) {
        return refuse(ret_error, "pipe2");
    }
    fflush(NULL);
    long between = fork_silently();
    if (between == 0) {
        pid_t child = fork();
        if (child == 0) {
            close(ready[0]);
            ready_fd = ready[1];
            become_supervisor(body, ctx, self, keep_fds);
        }
        _exit(child < 0 ? 1 : 0);
    }
    close(ready[1]);
    if (between > 0) {
        while (waitpid((pid_t)between, NULL, __WALL) < 0 && errno == EINTR) {
        }
    }
    ssize_t n;
    while ((n = read(ready[0], &supervisor, sizeof supervisor)) < 0 && errno == EINTR) {
    }
    close(ready[0]);
    if (between < 0 || n != (ssize_t)sizeof supervisor) {
        errno = 0; /* the reason is known to the child only */
        return refuse(ret_error, "the supervisor process could not be started");
    }
    (void)prctl(PR_SET_PTRACER, (unsigned long)supervisor, 0, 0, 0); /* EINVAL without Yama */
    *ret_supervisor = supervisor;
    return SONDE_OK;
}

static bool has_ended(int pidfd)
{
    struct pollfd p = {pidfd, POLLIN, 0};
    return pidfd < 0 || poll(&p, 1, 0) != 0;
}

int sonde__host_stand_by(int32_t pid, _Atomic int32_t *current, bool *ret_has_ended)
{
    int pidfd = (int)syscall(SYS_pidfd_open, pid, 0); /* now this process supervises */
    siginfo_t info = {.si_code = 0};
    pid_t other = pidfd >= 0 ? fork() : -1;
    if (other <= 0) {
        if (pidfd >= 0) {
            close(pidfd);
        }
        return 0;
    }
    if (ready_fd >= 0) {
        close(ready_fd);
        ready_fd = -1;
    }
    prctl(PR_SET_NAME, SPARE_NAME);
    while (waitid(P_PID, (id_t)other, &info, WEXITED | WNOWAIT) != 0 && errno == EINTR) {
    }
    if (info.si_code == CLD_EXITED) {
        _exit(info.si_status);
    }
    atomic_store(current, (int32_t)getpid()); /* if the program ends now, it waits for us */
    (void)waitpid(other, NULL, 0);
    prctl(PR_SET_NAME, SUPERVISOR_NAME);
    *ret_has_ended = has_ended(pidfd);
    close(pidfd);
    return info.si_status;
}

static bool is_supervisor(int32_t pid)
{
    char path[64], name[32] = "";
    snprintf(path, sizeof path, "/proc/%d/comm", (int)pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd >= 0 ? read(fd, name, sizeof name - 1) : -1;
    if (fd >= 0) {
        close(fd);
    }
    return n > 0 && strcmp(name, SUPERVISOR_NAME "\n") == 0;
}

/* Duplicate its descriptor 2: it is the same open file, so writing here moves the program's
 * position, too. If tracing is refused (Yama), open the file again: then the program may overwrite
 * the text if stderr is a file not opened for appending. */
static int take_stderr(int32_t supervisor)
{
    char path[64];
    int process = (int)syscall(SYS_pidfd_open, supervisor, 0);
    int fd = -1;
    if (!is_supervisor(supervisor)) { /* the pid may be reused by now */
        errno = ESRCH;
    } else if (process < 0 || (fd = (int)syscall(SYS_pidfd_getfd, process, 2, 0)) < 0) {
        snprintf(path, sizeof path, "/proc/%d/fd/2", (int)supervisor);
        fd = open(path, O_WRONLY | O_APPEND | O_CLOEXEC | O_NOCTTY);
    }
    if (process >= 0) {
        close(process);
    }
    return fd;
}

bool sonde__host_write_stderr_of(int32_t supervisor, const void *bytes, size_t size)
{
    int fd = take_stderr(supervisor);
    if (fd < 0) {
        return false;
    }
    bool written = sonde__host_write_all(fd, bytes, size);
    close(fd);
    return written;
}

void sonde__host_remove_file(const char *path)
{
    (void)unlink(path);
}

void sonde__host_truncate(int32_t fd)
{
    if (ftruncate(fd, 0) == 0) {
        (void)lseek(fd, 0, SEEK_SET);
    }
}

void sonde__host_writer_lock(int32_t fd)
{
    (void)flock(fd, LOCK_EX | LOCK_NB);
}
