// SPDX-License-Identifier: Apache-2.0
#include "host_count.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include "host_event.h"
#include "host_file.h"

/* For a tracepoint's `format` file, which has some 1 to 2 KB. */
enum { FORMAT_BYTES = 8192, FIRST_ARGUMENT_AT = 16 };

static const char *const folders[] = {"/sys/kernel/tracing", "/sys/kernel/debug/tracing"};

static bool read_format(const char *folder, const char *call, char text[FORMAT_BYTES])
{
    char path[160];
    size_t size = 0;
    snprintf(path, sizeof path, "%s/events/syscalls/sys_enter_%s/format", folder, call);
    return sonde__host_file_read(path, text, FORMAT_BYTES, &size, NULL) == SONDE_OK && size > 0;
}

/* Runs in the child: the mount is private and ends with it. */
static void write_format(const char *call, int to)
{
    static char text[FORMAT_BYTES];
    if (unshare(CLONE_NEWNS) == 0 && mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0 &&
        mount("tracefs", folders[0], "tracefs", 0, NULL) == 0 &&
        read_format(folders[0], call, text)) {
        (void)!write(to, text, strlen(text));
    }
    _exit(0);
}

static bool ask_child(const char *call, char text[FORMAT_BYTES])
{
    int ends[2];
    size_t size = 0;
    ssize_t n;
    if (geteuid() != 0 || pipe2(ends, O_CLOEXEC) != 0) {
        return false;
    }
    pid_t child = fork();
    if (child == 0) {
        write_format(call, ends[1]);
    }
    close(ends[1]);
    while (child > 0 && size + 1 < FORMAT_BYTES &&
           (n = read(ends[0], text + size, FORMAT_BYTES - 1 - size)) != 0) {
        if (n < 0 && errno != EINTR) {
            break;
        }
        size += n > 0 ? (size_t)n : 0;
    }
    close(ends[0]);
    while (child > 0 && waitpid(child, NULL, 0) < 0 && errno == EINTR) {
    }
    text[size] = '\0';
    return size > 0;
}

/* Find the name of the first argument: "\tfield:int epfd;\toffset:16;\tsize:8;\tsigned:0;". */
static bool find_first(const char *format, char ret_name[64])
{
    char wanted[32];
    snprintf(wanted, sizeof wanted, "\toffset:%d;", (int)FIRST_ARGUMENT_AT);
    const char *at = strstr(format, wanted);
    const char *end = at;
    if (at == NULL || at == format || at[-1] != ';') {
        return false;
    }
    end--;
    at = end;
    while (at > format && at[-1] != ' ' && at[-1] != '*' && at[-1] != '\n') {
        at--;
    }
    size_t size = (size_t)(end - at);
    if (size == 0 || size >= 64) {
        return false;
    }
    memcpy(ret_name, at, size);
    ret_name[size] = '\0';
    return true;
}

static enum sonde_status status_of(int error)
{
    return error == ESRCH                       ? SONDE_ABSENT
           : error == EACCES || error == EPERM  ? SONDE_DENIED
           : error == EMFILE || error == ENFILE ? SONDE_LIMIT
           : error == ENOSYS || error == ENOENT ? SONDE_UNSUPPORTED
                                                : SONDE_OS;
}

static enum sonde_status set_filter(int fd, const char *format, uint64_t first)
{
    char name[64], filter[128];
    if (!find_first(format, name)) {
        return SONDE_UNSUPPORTED;
    }
    snprintf(filter, sizeof filter, "%s == %llu", name, (unsigned long long)first);
    return ioctl(fd, PERF_EVENT_IOC_SET_FILTER, filter) == 0 ? SONDE_OK : status_of(errno);
}

enum sonde_status sonde__host_count_open(int32_t pid, uint64_t tid, const char *call,
                                         const uint64_t *first, struct sonde__host_count *ret_count)
{
    static char format[FORMAT_BYTES];
    struct perf_event_attr attr = {.size = sizeof attr, .type = PERF_TYPE_TRACEPOINT};
    if (!read_format(folders[0], call, format) && !read_format(folders[1], call, format) &&
        !ask_child(call, format)) {
        return SONDE_DENIED;
    }
    const char *id = strstr(format, "\nID: ");
    if (id == NULL) {
        return SONDE_UNSUPPORTED;
    }
    attr.config = strtoull(id + 5, NULL, 10);
    int fd = sonde__host_event_open(&attr, pid, tid);
    if (fd < 0) {
        return status_of(-fd);
    }
    enum sonde_status status = first != NULL ? set_filter(fd, format, *first) : SONDE_OK;
    if (status != SONDE_OK) {
        close(fd);
        return status;
    }
    *ret_count = (struct sonde__host_count){.fd = fd};
    return SONDE_OK;
}

bool sonde__host_count_read(const struct sonde__host_count *count, uint64_t *ret_calls)
{
    return read(count->fd, ret_calls, sizeof *ret_calls) == (ssize_t)sizeof *ret_calls;
}

void sonde__host_count_close(struct sonde__host_count *count)
{
    close(count->fd);
    count->fd = -1;
}

bool sonde__host_transfers_read(int32_t pid, uint64_t tid, uint64_t *ret_calls)
{
    char path[64], text[512];
    size_t size = 0;
    snprintf(path, sizeof path, "/proc/%d/task/%d/io", (int)pid, (int)tid);
    if (sonde__host_file_read(path, text, sizeof text, &size, NULL) != SONDE_OK) {
        return false;
    }
    const char *reads = strstr(text, "syscr: "), *writes = strstr(text, "syscw: ");
    if (reads == NULL || writes == NULL) {
        return false;
    }
    *ret_calls = strtoull(reads + 7, NULL, 10) + strtoull(writes + 7, NULL, 10);
    return true;
}
