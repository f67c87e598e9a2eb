// SPDX-License-Identifier: Apache-2.0
#include "host_writer.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

#include "host_clock.h"
#include "host_process.h"

#define PAUSE_NS 5000000

static bool is_locked(int fd)
{
    if (flock(fd, LOCK_SH | LOCK_NB) != 0) {
        return errno == EWOULDBLOCK;
    }
    (void)flock(fd, LOCK_UN);
    return false;
}

/* A zombie counts as ended: its parent may be slower than we are. */
static bool has_ended(int32_t pid)
{
    return pid <= 0 || !sonde__host_process_lives(pid, 0);
}

bool sonde__host_writer_await(const char *path, int32_t pid, uint64_t timeout_ns)
{
    const struct timespec pause = {0, PAUSE_NS};
    uint64_t begin_ns = sonde__host_monotonic_ns();
    int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
    bool is_written = fd >= 0 && is_locked(fd);
    while (is_written && has_ended(pid) && sonde__host_monotonic_ns() - begin_ns < timeout_ns) {
        nanosleep(&pause, NULL);
        is_written = is_locked(fd);
    }
    if (fd >= 0) {
        close(fd);
    }
    return fd >= 0 && !is_written;
}
