// SPDX-License-Identifier: Apache-2.0
/* Supervisors of forked children. The first supervisor starts them by exec, because it has threads
 * and locks. See host_run.h. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "host_run.h"

#define NAME "sonde-worker"

extern char **environ;

/* Start argv[0] with no signals blocked. keep_fd: a descriptor that it inherits; -1: none, and it
 * leads a new session, with /dev/null as its standard streams. */
static enum sonde_status spawn(const char *const argv[], int32_t keep_fd)
{
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    sigset_t none;
    pid_t pid;
    bool is_apart = keep_fd < 0;
    int error = posix_spawn_file_actions_init(&actions);
    if (error != 0) {
        return SONDE_OS;
    }
    error = posix_spawnattr_init(&attributes);
    if (error == 0) {
        sigemptyset(&none);
        (void)posix_spawnattr_setsigmask(&attributes, &none);
        (void)posix_spawnattr_setflags(
            &attributes, (short)(POSIX_SPAWN_SETSIGMASK | (is_apart ? POSIX_SPAWN_SETSID : 0)));
        for (int fd = 0; is_apart && fd <= 2 && error == 0; fd++) {
            error = posix_spawn_file_actions_addopen(&actions, fd, "/dev/null", O_RDWR, 0);
        }
        if (!is_apart) { /* dup2() onto itself clears FD_CLOEXEC */
            error = posix_spawn_file_actions_adddup2(&actions, keep_fd, keep_fd);
        }
        error = error == 0 ? posix_spawn(&pid, argv[0], &actions, &attributes,
                                         (char *const *)(uintptr_t)argv, environ)
                           : error;
        posix_spawnattr_destroy(&attributes);
    }
    posix_spawn_file_actions_destroy(&actions);
    return error == 0 ? SONDE_OK : SONDE_OS;
}

/* The child stays a zombie until this supervisor ends. Their number is limited by the places in
 * shared memory. */
enum sonde_status sonde__host_spawn_supervisor(const char *const argv[], int32_t fd)
{
    return spawn(argv, fd);
}

enum sonde_status sonde__host_spawn_apart(const char *const argv[])
{
    return spawn(argv, -1);
}

/* The pid in shared memory is untrusted; only a process that maps this memory belongs to the
 * program. */
static bool has_mapped(int32_t pid, ino_t inode)
{
    char path[64], line[512];
    bool found = false;
    snprintf(path, sizeof path, "/proc/%d/maps", (int)pid);
    FILE *maps = fopen(path, "re");
    while (maps != NULL && !found && fgets(line, sizeof line, maps) != NULL) {
        unsigned long long of = 0;
        found = strstr(line, SONDE__HOST_SHARED_NAME) != NULL &&
                sscanf(line, "%*s %*s %*s %*s %llu", &of) == 1 && of == (unsigned long long)inode;
    }
    if (maps != NULL) {
        fclose(maps);
    }
    return found;
}

enum sonde_status sonde__host_attend(int32_t pid, int32_t fd, size_t size, void **ret_memory)
{
    struct stat st;
    void *memory = MAP_FAILED;
    bool known = fstat(fd, &st) == 0 && (size_t)st.st_size >= size && has_mapped(pid, st.st_ino);
    if (known) {
        memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    }
    close(fd);
    if (!known || memory == MAP_FAILED) {
        return known ? SONDE_OS : SONDE_USAGE;
    }
    for (int s = 1; s < NSIG; s++) {
        bool ignored = s == SIGPIPE || s == SIGHUP || s == SIGINT || s == SIGXFSZ;
        signal(s, ignored ? SIG_IGN : SIG_DFL);
    }
    prctl(PR_SET_NAME, NAME);
    (void)!chdir("/");
    *ret_memory = memory;
    return SONDE_OK;
}
