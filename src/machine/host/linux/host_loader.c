// SPDX-License-Identifier: Apache-2.0
/* Lists the libraries of a program by asking its own loader. See host_run.h. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "host_run.h"
#include "mem_heap.h"

#define TRACE_VARIABLE "LD_TRACE_LOADED_OBJECTS=1"
/* A loader answers within milliseconds; one on a network file system may need longer. */
enum { PATIENCE_MS = 20000 };

/* "\tlibc.so.6 => /lib/x86_64-linux-gnu/libc.so.6 (0x...)" and "\t/lib64/ld-linux.so.2 (0x...)". */
static void take_line(char *line, void (*each)(void *ctx, const char *path), void *ctx)
{
    char *path = strstr(line, "=> ");
    char *end = strstr(line, " (0x");
    path = path != NULL ? path + 3 : line + strspn(line, " \t");
    if (end != NULL && path < end && *path == '/') {
        *end = '\0';
        each(ctx, path);
    }
}

static pid_t start_trace(const char *program, char *const *envp, int *ret_fd)
{
    size_t count = 0;
    int ends[2];
    pid_t pid = -1;
    posix_spawn_file_actions_t actions;
    char *const argv[] = {(char *)(uintptr_t)program, NULL};
    while (envp[count] != NULL) {
        count++;
    }
    char **traced = sonde__mem_alloc_array(count + 2, sizeof *traced);
    if (traced == NULL || pipe2(ends, O_CLOEXEC) != 0) {
        sonde__mem_free(traced);
        return -1;
    }
    memcpy(traced, envp, count * sizeof *envp);
    traced[count] = (char *)(uintptr_t)TRACE_VARIABLE;
    traced[count + 1] = NULL;
    if (posix_spawn_file_actions_init(&actions) == 0) {
        (void)posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
        (void)posix_spawn_file_actions_adddup2(&actions, ends[1], 1);
        (void)posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0);
        if (posix_spawn(&pid, program, &actions, NULL, argv, traced) != 0) {
            pid = -1;
        }
        (void)posix_spawn_file_actions_destroy(&actions);
    }
    sonde__mem_free(traced);
    close(ends[1]);
    if (pid < 0) {
        close(ends[0]);
        return -1;
    }
    *ret_fd = ends[0];
    return pid;
}

bool sonde__host_startup_libraries(const char *program, char *const *envp,
                                   void (*each)(void *ctx, const char *path), void *ctx)
{
    int fd = -1, status = 0;
    size_t used = 0, capacity = (size_t)1 << 20;
    pid_t pid = start_trace(program, envp, &fd);
    char *text = sonde__mem_alloc_zeroed(capacity);
    if (pid < 0 || text == NULL) {
        sonde__mem_free(text);
        if (pid >= 0) {
            close(fd);
            (void)waitpid(pid, &status, 0);
        }
        return false;
    }
    struct pollfd ready = {.fd = fd, .events = POLLIN};
    ssize_t n = 1;
    while (n > 0 && used < capacity - 1) {
        int found = poll(&ready, 1, PATIENCE_MS);
        if (found == 0 || (found < 0 && errno != EINTR)) {
            break;
        }
        n = read(fd, text + used, capacity - 1 - used);
        used += n > 0 ? (size_t)n : 0;
        n = n < 0 && errno == EINTR ? 1 : n;
    }
    close(fd);
    if (n != 0) { /* it did not end. Its pid is valid: it is our child, and not yet waited for */
        (void)kill(pid, SIGKILL);
    }
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
    }
    char *rest = NULL;
    for (char *line = strtok_r(text, "\n", &rest); line != NULL;
         line = strtok_r(NULL, "\n", &rest)) {
        take_line(line, each, ctx);
    }
    sonde__mem_free(text);
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}
