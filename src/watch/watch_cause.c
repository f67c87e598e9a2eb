// SPDX-License-Identifier: Apache-2.0
/* See watch_cause.h. Calls are told apart by name, which is the same on every architecture. */
#include "watch_cause.h"

#include <stdio.h>
#include <string.h>

#include "arch_regs.h"
#include "arch_syscall.h"
#include "host_run.h"

/* Calls whose first argument is the descriptor that they wait on. */
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

static bool is_one_of(const char *name, const char *const *list, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (strcmp(name, list[i]) == 0) {
            return true;
        }
    }
    return false;
}

static void describe_fd(int32_t pid, int32_t fd, char *text, size_t capacity)
{
    char path[256];
    if (sonde__host_fd_path(pid, fd, path, sizeof path)) {
        snprintf(text, capacity, "fd %d %s", (int)fd, path);
    } else {
        snprintf(text, capacity, "fd %d", (int)fd);
    }
}

/* poll, ppoll: the first descriptor, and how many more. */
static void describe_poll(int32_t pid, const uint64_t args[6], sonde__watch_peek peek, void *ctx,
                          char *text, size_t capacity)
{
    int32_t fd;
    uint64_t count = args[1];
    if (count == 0 || !peek(ctx, args[0], &fd, sizeof fd)) {
        return;
    }
    describe_fd(pid, fd, text, capacity);
    size_t used = strlen(text);
    if (count > 1) {
        snprintf(text + used, capacity - used, " and %llu more", (unsigned long long)count - 1);
    }
}

void sonde__watch_cause(int32_t pid, int64_t number, const uint64_t args[6], sonde__watch_peek peek,
                        void *ctx, char *ret_text, size_t capacity)
{
    const char *name = sonde__arch_syscall_name(SONDE__ARCH_HOST, number);
    ret_text[0] = '\0';
    if (name == NULL) {
        return;
    }
    if (is_one_of(name, by_descriptor, sizeof by_descriptor / sizeof by_descriptor[0])) {
        describe_fd(pid, (int32_t)args[0], ret_text, capacity);
    } else if (strcmp(name, "poll") == 0 || strcmp(name, "ppoll") == 0) {
        describe_poll(pid, args, peek, ctx, ret_text, capacity);
    } else if (strcmp(name, "futex") == 0) {
        snprintf(ret_text, capacity, "futex 0x%llx", (unsigned long long)args[0]);
    } else if (strcmp(name, "wait4") == 0 && (int32_t)args[0] > 0) {
        snprintf(ret_text, capacity, "child %d", (int)(int32_t)args[0]);
    } else if (strcmp(name, "wait4") == 0 || strcmp(name, "waitid") == 0) {
        snprintf(ret_text, capacity, "a child");
    }
}
