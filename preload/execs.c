// SPDX-License-Identifier: Apache-2.0
/* The exec family and posix_spawn(). Calls that are not followed are passed on, variadic ones as a
 * vector, as libc does. A file executed by descriptor is not followed: executed by path, it would
 * have another name (/proc/PID/comm, AT_EXECFN). */
#include <errno.h>
#include <spawn.h>
#include <stdarg.h>
#include <stddef.h>
#include <unistd.h>

#include "preload_wrap.h"

typedef int (*exec_function)(const char *, char *const[], char *const[]);
typedef int (*spawn_function)(pid_t *, const char *, const posix_spawn_file_actions_t *,
                              const posix_spawnattr_t *, char *const[], char *const[]);

#define CELL(variable, function)                                                                   \
    static struct preload_cell variable                                                            \
        __attribute__((used, section("preload_cells"))) = {function, NULL}

static exec_function real_execve(void)
{
    CELL(cell, "execve");
    return (exec_function)(uintptr_t)preload_real(&cell);
}

static exec_function real_execvpe(void)
{
    CELL(cell, "execvpe");
    return (exec_function)(uintptr_t)preload_real(&cell);
}

/* Returns only if the program must be executed unchanged. */
static __attribute__((noinline)) void follow(const char *path, char *const argv[],
                                             char *const envp[])
{
    struct preload_command command;
    exec_function real = real_execve();
    if (real != NULL && preload_make_command(path, argv, envp, &command)) {
        int saved = errno;
        (void)real(command.words[0], (char *const *)(uintptr_t)command.words, envp);
        preload_count_missed(errno == E2BIG ? SONDE__PROBE_TOO_LONG : SONDE__PROBE_NO_SONDE);
        errno = saved;
    }
}

static __attribute__((noinline)) void follow_by_name(const char *name, char *const argv[],
                                                     char *const envp[])
{
    char path[PRELOAD_PATH_MAX];
    if (preload_find(name, path)) {
        follow(path, argv, envp);
    }
}

static int execute(const char *path, char *const argv[], char *const envp[])
{
    exec_function real = real_execve();
    if (real == NULL) {
        errno = ENOSYS;
        return -1;
    }
    preload_leave_program();
    if (preload_follows_exec()) {
        follow(path, argv, envp);
    }
    bool stranger = preload_begin_stranger();
    int result = real(path, argv, envp);
    preload_end_stranger(stranger);
    preload_stay_in_program();
    return result;
}

static int execute_by_name(const char *name, char *const argv[], char *const envp[])
{
    exec_function real = real_execvpe();
    if (real == NULL) {
        errno = ENOSYS;
        return -1;
    }
    preload_leave_program();
    if (preload_follows_exec()) {
        follow_by_name(name, argv, envp);
    }
    bool stranger = preload_begin_stranger();
    int result = real(name, argv, envp);
    preload_end_stranger(stranger);
    preload_stay_in_program();
    return result;
}

/* Counts before the exec: afterwards there is nobody left to count. */
static void leave_by_file(void)
{
    preload_leave_program();
    if (preload_follows_exec()) {
        preload_count_missed(SONDE__PROBE_BY_FILE);
    }
}

static void undo_leaving(void)
{
    preload_stay_in_program();
    if (preload_follows_exec()) {
        atomic_fetch_sub_explicit(&preload_follow->missed, 1, memory_order_relaxed);
    }
}

PRELOAD_EXPORT int execve(const char *path, char *const argv[], char *const envp[])
{
    return execute(path, argv, envp);
}

PRELOAD_EXPORT int execv(const char *path, char *const argv[])
{
    return execute(path, argv, environ);
}

PRELOAD_EXPORT int execvp(const char *name, char *const argv[])
{
    return execute_by_name(name, argv, environ);
}

PRELOAD_EXPORT int execvpe(const char *name, char *const argv[], char *const envp[]);
PRELOAD_EXPORT int execvpe(const char *name, char *const argv[], char *const envp[])
{
    return execute_by_name(name, argv, envp);
}

/* Declare `argv` from the variable arguments after `first`, with `list` positioned after their
 * null. */
#define GATHER(list, first)                                                                        \
    va_list list;                                                                                  \
    size_t count_ = 1;                                                                             \
    va_start(list, first);                                                                         \
    while (va_arg(list, const char *) != NULL) {                                                   \
        count_++;                                                                                  \
    }                                                                                              \
    va_end(list);                                                                                  \
    const char **words_ = __builtin_alloca((count_ + 1) * sizeof *words_);                         \
    words_[0] = (first);                                                                           \
    va_start(list, first);                                                                         \
    for (size_t i_ = 1; i_ <= count_; i_++) {                                                      \
        words_[i_] = va_arg(list, const char *);                                                   \
    }                                                                                              \
    char *const *argv = (char *const *)(uintptr_t)words_

PRELOAD_EXPORT int execl(const char *path, const char *first, ...)
{
    GATHER(list, first);
    va_end(list);
    return execute(path, argv, environ);
}

PRELOAD_EXPORT int execlp(const char *name, const char *first, ...)
{
    GATHER(list, first);
    va_end(list);
    return execute_by_name(name, argv, environ);
}

PRELOAD_EXPORT int execle(const char *path, const char *first, ...)
{
    GATHER(list, first);
    char *const *envp = va_arg(list, char *const *);
    va_end(list);
    return execute(path, argv, envp);
}

PRELOAD_EXPORT int fexecve(int fd, char *const argv[], char *const envp[])
{
    CELL(cell, "fexecve");
    int (*real)(int, char *const[], char *const[]) =
        (int (*)(int, char *const[], char *const[]))(uintptr_t)preload_real(&cell);
    if (real == NULL) {
        errno = ENOSYS;
        return -1;
    }
    leave_by_file();
    int result = real(fd, argv, envp);
    undo_leaving();
    return result;
}

PRELOAD_EXPORT int execveat(int fd, const char *path, char *const argv[], char *const envp[],
                            int flags)
{
    CELL(cell, "execveat");
    int (*real)(int, const char *, char *const[], char *const[], int) = (int (*)(
        int, const char *, char *const[], char *const[], int))(uintptr_t)preload_real(&cell);
    if (real == NULL) {
        errno = ENOSYS;
        return -1;
    }
    leave_by_file();
    int result = real(fd, path, argv, envp, flags);
    undo_leaving();
    return result;
}

/* File actions may change the working folder before the look-up: then a relative path means another
 * file. */
static __attribute__((noinline)) int follow_spawn(spawn_function plain, pid_t *pid,
                                                  const char *path,
                                                  const posix_spawn_file_actions_t *actions,
                                                  const posix_spawnattr_t *attributes,
                                                  char *const argv[], char *const envp[])
{
    CELL(cell, "posix_spawn");
    spawn_function real = (spawn_function)(uintptr_t)preload_real(&cell);
    struct preload_command command;
    int error;
    if (path[0] != '/' && actions != NULL) {
        error = plain(pid, path, actions, attributes, argv, envp);
        if (error == 0) {
            preload_count_missed(SONDE__PROBE_ELSEWHERE);
        }
        return error;
    }
    if (real != NULL && preload_make_command(path, argv, envp, &command)) {
        error = real(pid, command.words[0], actions, attributes,
                     (char *const *)(uintptr_t)command.words, envp);
        if (error != E2BIG && error != ENOENT) {
            return error;
        }
        preload_count_missed(error == E2BIG ? SONDE__PROBE_TOO_LONG : SONDE__PROBE_NO_SONDE);
    }
    return plain(pid, path, actions, attributes, argv, envp);
}

static int count_spawned(int error)
{
    if (error == 0) {
        preload_count_stranger();
    }
    return error;
}

PRELOAD_EXPORT int posix_spawn(pid_t *pid, const char *path,
                               const posix_spawn_file_actions_t *actions,
                               const posix_spawnattr_t *attributes, char *const argv[],
                               char *const envp[])
{
    CELL(cell, "posix_spawn");
    spawn_function real = (spawn_function)(uintptr_t)preload_real(&cell);
    if (real == NULL) {
        return ENOSYS;
    }
    return preload_follow_all ? follow_spawn(real, pid, path, actions, attributes, argv, envp)
                              : count_spawned(real(pid, path, actions, attributes, argv, envp));
}

PRELOAD_EXPORT int posix_spawnp(pid_t *pid, const char *name,
                                const posix_spawn_file_actions_t *actions,
                                const posix_spawnattr_t *attributes, char *const argv[],
                                char *const envp[])
{
    CELL(cell, "posix_spawnp");
    spawn_function real = (spawn_function)(uintptr_t)preload_real(&cell);
    char path[PRELOAD_PATH_MAX];
    if (real == NULL) {
        return ENOSYS;
    }
    return preload_follow_all && preload_find(name, path)
               ? follow_spawn(real, pid, path, actions, attributes, argv, envp)
               : count_spawned(real(pid, name, actions, attributes, argv, envp));
}
