// SPDX-License-Identifier: Apache-2.0
/* Finds threads that wait for the input of a terminal. See host_run.h. */
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/select.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base_math.h"
#include "host_run.h"
#include "os.h"

enum { POLLED_MAX = 64 }; /* descriptors that are looked at; more are no dialogue with a user */

/* The slave side: a terminal emulator reads the master. */
static bool is_terminal(int32_t pid, uint64_t tid, int32_t fd)
{
    static const char *const names[] = {"/dev/pts/", "/dev/tty", "/dev/console"};
    char path[64], to[64];
    snprintf(path, sizeof path, "/proc/%d/task/%d/fd/%d", (int)pid, (int)tid, (int)fd);
    ssize_t n = readlink(path, to, sizeof to - 1);
    to[n > 0 ? n : 0] = '\0';
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (strncmp(to, names[i], strlen(names[i])) == 0) {
            return true;
        }
    }
    return false;
}

static bool polls(int32_t pid, uint64_t tid, const uint64_t args[6])
{
    struct pollfd fds[POLLED_MAX];
    size_t count = (size_t)sonde__base_min(args[1], POLLED_MAX);
    int32_t os_error;
    size_t got = sonde__os_read_process(pid, args[0], fds, count * sizeof *fds, &os_error);
    for (size_t i = 0; i < got / sizeof *fds; i++) {
        if ((fds[i].events & (POLLIN | POLLRDNORM)) != 0 && is_terminal(pid, tid, fds[i].fd)) {
            return true;
        }
    }
    return false;
}

static bool selects(int32_t pid, uint64_t tid, const uint64_t args[6])
{
    fd_set set;
    int32_t count = (int32_t)sonde__base_min(args[0], POLLED_MAX), os_error;
    FD_ZERO(&set);
    if (sonde__os_read_process(pid, args[1], &set, sizeof(uint64_t), &os_error) !=
        sizeof(uint64_t)) {
        return false; /* null, among others */
    }
    for (int32_t fd = 0; fd < count; fd++) {
        if (FD_ISSET(fd, &set) && is_terminal(pid, tid, fd)) {
            return true;
        }
    }
    return false;
}

bool sonde__host_awaits_terminal(int32_t pid, uint64_t tid)
{
    struct sonde__os_wait wait;
    int32_t file, os_error;
    if (sonde__os_thread_open(pid, tid, SONDE__OS_THREAD_SYSCALL, &file, &os_error) != SONDE_OK) {
        return false;
    }
    enum sonde_status status = sonde__os_read_wait(file, &wait, &os_error);
    sonde__os_close(file);
    if (status != SONDE_OK) {
        return false;
    }
    const struct sonde__os_call call = sonde__os_wait_call(&wait);
    switch (call.number) {
    case SYS_read:
    case SYS_readv:
        return is_terminal(pid, tid, (int32_t)call.args[0]);
#if defined(SYS_poll)
    case SYS_poll:
#endif
    case SYS_ppoll:
        return polls(pid, tid, call.args);
#if defined(SYS_select)
    case SYS_select:
#endif
    case SYS_pselect6:
        return selects(pid, tid, call.args);
    default:
        return false;
    }
}
