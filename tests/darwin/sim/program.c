// SPDX-License-Identifier: Apache-2.0
/* What a command-line program needs: paths, terminals, numbers and times in text. */
#include <arpa/inet.h>
#include <crt_externs.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "sim.h"

enum { PATH_BYTES = 4096 };
extern char **environ;

static int64_t result(int64_t got)
{
    return got >= 0 ? got : sim_fail(-got);
}

int access(const char *path, int mode)
{
    return (int)result(host_access(path, mode));
}

/* Only that it was used now. */
int utimensat(int folder, const char *path, const struct timespec times[2], int flags)
{
    if (folder != AT_FDCWD || flags != 0 || times == 0 || times[0].tv_nsec != UTIME_NOW ||
        times[1].tv_nsec != UTIME_OMIT) {
        return sim_fail(ENOTSUP);
    }
    return (int)result(host_touch(path));
}

char *realpath(const char *restrict path, char *restrict ret_path)
{
    char *real = ret_path != 0 ? ret_path : malloc(PATH_BYTES);
    int64_t failed = real != 0 ? host_real_path(path, real) : -ENOMEM;
    if (failed == 0) {
        return real;
    }
    if (ret_path == 0) {
        free(real);
    }
    sim_fail(-failed);
    return 0;
}

char *getcwd(char *ret_path, size_t capacity)
{
    return result(host_current_folder(ret_path, capacity)) == 0 ? ret_path : 0;
}

int isatty(int fd)
{
    return result(host_is_terminal(fd)) > 0;
}

/* The columns of a terminal. */
int ioctl(int fd, unsigned long request, ...)
{
    va_list arguments;
    va_start(arguments, request);
    struct winsize *ret_size = va_arg(arguments, struct winsize *);
    va_end(arguments);
    int64_t columns = request == TIOCGWINSZ ? host_columns(fd) : -ENOTTY;
    if (columns < 0) {
        return sim_fail(-columns);
    }
    *ret_size = (struct winsize){.ws_col = (unsigned short)columns};
    return 0;
}

/* The host's text: both systems have the same for the usual errors. */
char *strerror(int error)
{
    return (char *)(uintptr_t)host_error_text(sim_host_error(error));
}

char *strcasestr(const char *in, const char *part)
{
    return host_strcasestr(in, part);
}

double strtod(const char *s, char **end)
{
    double value;
    host_parse_double(s, end, &value);
    return value;
}

char *strndup(const char *s, size_t size)
{
    size_t length = strnlen(s, size);
    char *copy = malloc(length + 1);
    return copy != 0 ? (copy[length] = '\0', memcpy(copy, s, length)) : 0;
}

char *__stpcpy_chk(char *to, const char *from, size_t room);
char *__stpcpy_chk(char *to, const char *from, size_t room)
{
    return strlen(from) < room ? stpcpy(to, from) : (abort(), to);
}

size_t __strlcpy_chk(char *to, const char *from, size_t size, size_t room);
size_t __strlcpy_chk(char *to, const char *from, size_t size, size_t room)
{
    return size <= room ? strlcpy(to, from, size) : (abort(), size);
}

size_t strftime(char *restrict text, size_t size, const char *restrict format,
                const struct tm *restrict tm)
{
    const int32_t fields[] = {tm->tm_sec,  tm->tm_min,  tm->tm_hour, tm->tm_mday, tm->tm_mon,
                              tm->tm_year, tm->tm_wday, tm->tm_yday, tm->tm_isdst};
    return host_format_time(text, size, format, fields);
}

int inet_pton(int family, const char *text, void *ret_bytes)
{
    return family == AF_INET || family == AF_INET6
               ? host_parse_address(family == AF_INET6, text, ret_bytes)
               : sim_fail(EINVAL);
}

const char *inet_ntop(int family, const void *bytes, char *text, socklen_t size)
{
    if ((family != AF_INET && family != AF_INET6) ||
        host_format_address(family == AF_INET6, bytes, text, size) != 0) {
        (void)sim_fail(EINVAL);
        return 0;
    }
    return text;
}

int nice(int more)
{
    (void)more;
    return 0;
}

char ***_NSGetEnviron(void)
{
    return &environ;
}

char *dlerror(void)
{
    return (char *)(uintptr_t) "the image is not there";
}
