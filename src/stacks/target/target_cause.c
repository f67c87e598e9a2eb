// SPDX-License-Identifier: Apache-2.0
/* See target_cause.h. Calls are distinguished by name, which is the same on every architecture. */
#include "target_cause.h"

#include <stdio.h>
#include <string.h>

#include "arch_regs.h"
#include "arch_syscall.h"
#include "base_text.h"
#include "host_process.h"
#include "host_run.h"
#include "target_private.h"

/* Calls that wait on the descriptor in their first argument. */
static const char *const by_descriptor[] = {"read",         "write",           "pread64",
                                            "pwrite64",     "readv",           "writev",
                                            "preadv",       "pwritev",         "fsync",
                                            "fdatasync",    "sync_file_range", "recvfrom",
                                            "recvmsg",      "sendto",          "sendmsg",
                                            "accept",       "accept4",         "connect",
                                            "flock",        "fcntl",           "ioctl",
                                            "fallocate",    "ftruncate",       "getdents64",
                                            "syncfs",       "sendfile",        "recvmmsg",
                                            "sendmmsg",     "epoll_wait",      "epoll_pwait",
                                            "epoll_pwait2", "io_uring_enter",  "copy_file_range",
                                            "close"};

/* A core does not record which file a descriptor was. */
static void describe_fd(const struct sonde__target *target, int32_t fd, char *text, size_t capacity)
{
    char path[256];
    if (target->is_live &&
        (sonde__host_fd_path(target->pid, fd, path, sizeof path) ||
         sonde__host_fd_path(sonde__host_live_number(target->pid), fd, path, sizeof path))) {
        snprintf(text, capacity, "fd %d %s", (int)fd, path);
    } else {
        snprintf(text, capacity, "fd %d", (int)fd);
    }
}

/* poll, ppoll: the first descriptor, and how many more. */
static void describe_poll(struct sonde__target *target, const uint64_t args[6], char *text,
                          size_t capacity)
{
    int32_t fd;
    uint64_t count = args[1];
    size_t used;
    if (count == 0 || sonde__target_read(target, args[0], &fd, sizeof fd) != sizeof fd) {
        return;
    }
    describe_fd(target, fd, text, capacity);
    used = strlen(text);
    if (count > 1) {
        snprintf(text + used, capacity - used, " and %llu more", (unsigned long long)count - 1);
    }
}

void sonde__target_cause(struct sonde__target *target, const struct sonde__capture *capture,
                         char *ret_text, size_t capacity)
{
    const uint64_t *args = capture->syscall_args;
    const char *name =
        capture->syscall >= 0 ? sonde__arch_syscall_name(target->arch, capture->syscall) : NULL;
    ret_text[0] = '\0';
    if (name == NULL) {
        return;
    }
    if (sonde__base_is_one_of(name, by_descriptor,
                              sizeof by_descriptor / sizeof by_descriptor[0])) {
        describe_fd(target, (int32_t)args[0], ret_text, capacity);
    } else if (strcmp(name, "poll") == 0 || strcmp(name, "ppoll") == 0) {
        describe_poll(target, args, ret_text, capacity);
    } else if (strcmp(name, "futex") == 0) {
        snprintf(ret_text, capacity, "futex 0x%llx", (unsigned long long)args[0]);
    } else if (strcmp(name, "wait4") == 0 && (int32_t)args[0] > 0) {
        snprintf(ret_text, capacity, "child %d", (int)(int32_t)args[0]);
    } else if (strcmp(name, "wait4") == 0 || strcmp(name, "waitid") == 0) {
        snprintf(ret_text, capacity, "a child");
    }
}
