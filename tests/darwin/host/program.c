// SPDX-License-Identifier: Apache-2.0
/* The primitives that a command-line program needs: paths, terminals, numbers in text. Those that
 * return int64_t return an error's number, negative, if they fail. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "host.h"

static int64_t result(int64_t value)
{
    return value >= 0 ? value : -errno;
}

/* The numbers of a mode are the same. */
static int64_t host_access(const char *path, int32_t mode)
{
    return result(access(path, mode));
}

static int64_t host_stat_path(const char *path, struct host_status *ret_status)
{
    int fd = open(path, O_PATH | O_CLOEXEC);
    int64_t got = fd >= 0 ? host_stat(fd, ret_status) : -errno;
    if (fd >= 0) {
        close(fd);
    }
    return got;
}

/* It was used now. */
static int64_t host_touch(const char *path)
{
    const struct timespec times[2] = {{.tv_nsec = UTIME_NOW}, {.tv_nsec = UTIME_OMIT}};
    return result(utimensat(AT_FDCWD, path, times, 0));
}

/* ret_path: of at least 4096 bytes. */
static int64_t host_real_path(const char *path, char *ret_path)
{
    return realpath(path, ret_path) != NULL ? 0 : -errno;
}

static int64_t host_current_folder(char *ret_path, uint64_t capacity)
{
    return getcwd(ret_path, capacity) != NULL ? 0 : -errno;
}

static void host_rewind_folder(void *folder)
{
    rewinddir(folder);
}

static int64_t host_is_open(int32_t fd)
{
    return result(fcntl(fd, F_GETFD));
}

static int64_t host_is_terminal(int32_t fd)
{
    return isatty(fd) ? 1 : -errno;
}

/* Of a terminal. */
static int64_t host_columns(int32_t fd)
{
    struct winsize size;
    int64_t failed = result(ioctl(fd, TIOCGWINSZ, &size));
    return failed == 0 ? size.ws_col : failed;
}

static uint64_t host_processors(void)
{
    return (uint64_t)sysconf(_SC_NPROCESSORS_ONLN);
}

static const char *host_error_text(int32_t error)
{
    return strerror(error);
}

static void host_parse_double(const char *text, char **ret_end, double *ret_value)
{
    *ret_value = strtod(text, ret_end);
}

static int32_t host_parse_address(int32_t is_6, const char *text, void *ret_bytes)
{
    return inet_pton(is_6 ? AF_INET6 : AF_INET, text, ret_bytes);
}

static int32_t host_format_address(int32_t is_6, const void *bytes, char *text, uint32_t size)
{
    return inet_ntop(is_6 ? AF_INET6 : AF_INET, bytes, text, size) != NULL ? 0 : -1;
}

/* fields: the first nine members of struct tm. */
static uint64_t host_format_time(char *text, uint64_t size, const char *format,
                                 const int32_t *fields)
{
    struct tm time = {
        .tm_sec = fields[0],
        .tm_min = fields[1],
        .tm_hour = fields[2],
        .tm_mday = fields[3],
        .tm_mon = fields[4],
        .tm_year = fields[5],
        .tm_wday = fields[6],
        .tm_yday = fields[7],
        .tm_isdst = fields[8],
    };
    return strftime(text, size, format, &time);
}

#define PRIMITIVE(name)                                                                            \
    {                                                                                              \
        "_host_" #name, (uint64_t)(uintptr_t)host_##name                                           \
    }

const struct host_primitive host_program_primitives[] = {
    PRIMITIVE(access),
    PRIMITIVE(stat_path),
    PRIMITIVE(touch),
    PRIMITIVE(real_path),
    PRIMITIVE(current_folder),
    PRIMITIVE(rewind_folder),
    PRIMITIVE(is_open),
    PRIMITIVE(is_terminal),
    PRIMITIVE(columns),
    PRIMITIVE(processors),
    PRIMITIVE(error_text),
    PRIMITIVE(parse_double),
    PRIMITIVE(parse_address),
    PRIMITIVE(format_address),
    PRIMITIVE(format_time),
    {"_host_strcasestr", (uint64_t)(uintptr_t)strcasestr},
    {NULL, 0},
};
