// SPDX-License-Identifier: Apache-2.0
/* Reads /proc about a thread of another process. See host_run.h. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "host_limit.h"
#include "host_run.h"
#include "host_status.h"

static bool read_text(const char *path, char *text, size_t capacity)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd >= 0 ? read(fd, text, capacity - 1) : -1;
    if (fd >= 0) {
        close(fd);
    }
    text[n > 0 ? n : 0] = '\0';
    return n > 0;
}

static bool read_thread_file(int32_t pid, uint64_t tid, const char *name, char *text,
                             size_t capacity)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/task/%d/%s", (int)pid, (int)tid, name);
    return read_text(path, text, capacity);
}

bool sonde__host_read_status(int32_t pid, uint64_t tid, char ret_text[SONDE__HOST_STATUS_BYTES])
{
    return read_thread_file(pid, tid, "status", ret_text, SONDE__HOST_STATUS_BYTES);
}

uint64_t sonde__host_status_field(const char *status, const char *name)
{
    const char *at = strstr(status, name);
    return at != NULL ? strtoull(at + strlen(name), NULL, 10) : 0;
}

bool sonde__host_is_confined(const char *status)
{
    char own[SONDE__HOST_STATUS_BYTES];
    uint64_t mode = sonde__host_status_field(status, "\nSeccomp:\t");
    uint64_t filters = sonde__host_status_field(status, "\nSeccomp_filters:\t");
    return mode != 0 &&
           (mode != 2 || filters == 0 || !read_text("/proc/thread-self/status", own, sizeof own) ||
            sonde__host_status_field(own, "\nSeccomp_filters:\t") != filters);
}

/* Is the tracer one of our own (host_tracer.h)? It may stay attached while a long system call
 * delays the tracee's stop. It is not a debugger. */
static bool is_own_thread(int32_t tid)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/self/task/%d", (int)tid);
    return access(path, F_OK) == 0;
}

/* All but the counters of schedstat. False: the thread has ended. */
static bool take_status(const char *text, struct sonde__host_thread_look *ret_look)
{
    struct sonde__host_thread_look look = {.state = '?'};
    const char *state = strstr(text, "\nState:\t");
    if (state != NULL) {
        look.state = state[8];
    }
    look.tracer = (int32_t)sonde__host_status_field(text, "\nTracerPid:\t");
    if (look.tracer != 0 && is_own_thread(look.tracer)) {
        look.tracer = 0;
        look.state = look.state == 't' ? 'R' : look.state;
    }
    look.confined = sonde__host_is_confined(text);
    look.voluntary = sonde__host_status_field(text, "\nvoluntary_ctxt_switches:\t");
    look.switches =
        look.voluntary + sonde__host_status_field(text, "\nnonvoluntary_ctxt_switches:\t");
    *ret_look = look;
    return look.state != 'Z' && look.state != 'X';
}

bool sonde__host_look_thread(int32_t pid, uint64_t tid, struct sonde__host_thread_look *ret_look)
{
    char text[SONDE__HOST_STATUS_BYTES];
    char *end;
    if (!sonde__host_read_status(pid, tid, text)) {
        return false;
    }
    bool lives = take_status(text, ret_look);
    if (read_thread_file(pid, tid, "schedstat", text, sizeof text)) {
        ret_look->cpu_ns = strtoull(text, &end, 10);
        ret_look->runqueue_ns = strtoull(end, NULL, 10);
    }
    return lives;
}

bool sonde__host_status_open(int32_t pid, uint64_t tid, int32_t *ret_fd)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/task/%d/status", (int)pid, (int)tid);
    *ret_fd = open(path, O_RDONLY | O_CLOEXEC);
    return *ret_fd >= 0;
}

bool sonde__host_look_again(int32_t status_fd, struct sonde__host_thread_look *ret_look)
{
    char text[SONDE__HOST_STATUS_BYTES];
    ssize_t n = pread(status_fd, text, sizeof text - 1, 0);
    text[n > 0 ? n : 0] = '\0';
    return n > 0 && take_status(text, ret_look);
}

bool sonde__host_thread_channel(int32_t pid, uint64_t tid, char *ret_text, size_t capacity)
{
    bool is_read = read_thread_file(pid, tid, "wchan", ret_text, capacity);
    if (!is_read || strcmp(ret_text, "0") == 0) {
        ret_text[0] = '\0';
    }
    return ret_text[0] != '\0';
}

enum sonde__host_descriptor sonde__host_look_descriptor(int32_t pid, uint64_t tid, int32_t fd)
{
    char folder[64], path[96], to[64];
    struct stat st;
    snprintf(folder, sizeof folder, "/proc/%d/task/%d/fd", (int)pid, (int)tid);
    snprintf(path, sizeof path, "%s/%d", folder, (int)fd);
    ssize_t n = readlink(path, to, sizeof to - 1);
    if (n < 0) {
        return errno == ENOENT && access(folder, X_OK) == 0 ? SONDE__HOST_CLOSED
                                                            : SONDE__HOST_UNKNOWN;
    }
    to[n] = '\0';
    if (strcmp(to, "anon_inode:[eventpoll]") == 0) {
        return SONDE__HOST_EPOLL;
    }
    if (strcmp(to, "anon_inode:[timerfd]") == 0) {
        return SONDE__HOST_TIMER;
    }
    /* only a text that begins with '/' is a path that stat() can follow */
    return to[0] == '/' && stat(path, &st) == 0 && (S_ISREG(st.st_mode) || S_ISDIR(st.st_mode))
               ? SONDE__HOST_FILE
               : SONDE__HOST_OTHER;
}

/* proc(5): field 28 of stat; fields are counted from the end of the name, which may contain
 * anything. The first thread's own file: for that of the process the kernel adds up what all of its
 * threads have used. */
uint64_t sonde__host_program_mark(int32_t pid, struct sonde__host_file_kept *stat)
{
    char path[64];
    char text[1024];
    snprintf(path, sizeof path, "/proc/%d/task/%d/stat", (int)pid, (int)pid);
    const char *at =
        sonde__host_file_read_kept(stat, path, text, sizeof text) > 0 ? strrchr(text, ')') : NULL;
    for (int field_number = 2; at != NULL && field_number < 28; field_number++) {
        at = strchr(at + 1, ' ');
    }
    return at != NULL ? strtoull(at + 1, NULL, 10) : 0;
}

bool sonde__host_fd_path(int32_t pid, int32_t fd, char *ret_path, size_t capacity)
{
    char link[64];
    snprintf(link, sizeof link, "/proc/%d/fd/%d", (int)pid, (int)fd);
    ssize_t n = readlink(link, ret_path, capacity - 1);
    ret_path[n > 0 ? n : 0] = '\0';
    return n > 0;
}

void sonde__host_system_name(char *ret_text, size_t capacity)
{
    struct utsname name;
    if (uname(&name) == 0) {
        snprintf(ret_text, capacity, "%s %s", name.sysname, name.release);
    } else if (capacity > 0) {
        ret_text[0] = '\0';
    }
}

bool sonde__host_write_all(int32_t fd, const void *bytes, size_t size)
{
    const char *at = bytes;
    struct sonde__host_limit limit;
    sonde__host_limit_begin(&limit);
    while (size > 0) {
        ssize_t n = write(fd, at, size);
        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n <= 0) {
            errno = n < 0 ? errno : EIO;
            break;
        }
        at += n;
        size -= (size_t)n;
    }
    sonde__host_limit_end(&limit);
    return size == 0;
}
