// SPDX-License-Identifier: Apache-2.0
/* system() and popen() under --follow. Both start /bin/sh inside libc, where nothing can be
 * interposed, so the command itself is changed, from COMMAND to
 *
 *     exec 'sonde' 'run' ... '--' '/bin/sh' 'sh' '-c' 'COMMAND'
 *
 * libc still handles signals, descriptors and the process. The second shell adds nothing more to
 * the environment than the first. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "preload_wrap.h"

/* The kernel's limit for an argument with its NUL (MAX_ARG_STRLEN). */
#define COMMAND_MAX 131072u
/* With a larger environment our words could exceed the kernel's limit, and there is no second
 * attempt. */
#define ENVIRONMENT_MAX 524288u

struct text {
    char *at; /* COMMAND_MAX bytes, mapped because the caller may not be able to use the heap */
    size_t used;
    bool fits;
};

static void add(struct text *t, const char *part)
{
    for (; *part != '\0' && t->fits; part++) {
        t->fits = t->used + 1 < COMMAND_MAX;
        t->at[t->fits ? t->used++ : 0] = *part;
    }
}

static void add_word(struct text *t, const char *word)
{
    char one[2] = "";
    add(t, "'");
    for (; *word != '\0' && t->fits; word++) {
        one[0] = *word;
        add(t, *word == '\'' ? "'\\''" : one);
    }
    add(t, "' ");
}

static bool is_large(char *const envp[])
{
    size_t size = 0;
    for (size_t i = 0; envp != NULL && envp[i] != NULL; i++) {
        for (const char *c = envp[i]; *c != '\0'; c++) {
            size++;
        }
        if (size > ENVIRONMENT_MAX) {
            return true;
        }
    }
    return false;
}

static void drop(void *text)
{
    struct text *t = text;
    if (t->at != NULL) {
        (void)munmap(t->at, COMMAND_MAX);
    }
}

/* Returns the command to run instead of `command`, or `command` itself if it is not followed. */
static const char *make_command(const char *command, struct text *t)
{
    const char *word = preload_follow->text;
    /* in some versions of libc a leading '-' is a shell option */
    if (command == NULL || command[0] == '-' || !preload_may_follow(environ)) {
        return command;
    }
    if (syscall(SYS_faccessat, AT_FDCWD, word, X_OK) != 0) {
        preload_count_missed(SONDE__PROBE_NO_SONDE);
        return command;
    }
    void *at = mmap(NULL, COMMAND_MAX, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (at != MAP_FAILED && !is_large(environ)) {
        *t = (struct text){at, 0, true};
        add(t, "exec ");
        for (uint32_t i = 0; i < preload_follow->words; i++) {
            add_word(t, word);
            while (*word++ != '\0') {
            }
        }
        add(t, "/bin/sh sh -c ");
        add_word(t, command);
        if (t->fits) {
            return t->at;
        }
    }
    preload_count_missed(SONDE__PROBE_TOO_LONG);
    return command;
}

static void count_command(const char *command)
{
    if (command != NULL) {
        preload_count_stranger();
    }
}

PRELOAD_EXPORT int system(const char *command)
{
    static struct preload_cell cell
        __attribute__((used, section("preload_cells"))) = {"system", NULL};
    int (*real)(const char *) = (int (*)(const char *))(uintptr_t)preload_real(&cell);
    struct text t = {NULL, 0, false};
    int result;
    if (real == NULL) {
        errno = ENOSYS;
        return -1;
    }
    if (!preload_follow_all) {
        count_command(command);
        return real(command);
    }
    int saved = errno;
    command = make_command(command, &t);
    errno = saved;
    pthread_cleanup_push(drop, &t); /* system() is a cancellation point */
    result = real(command);
    saved = errno;
    pthread_cleanup_pop(1);
    errno = saved;
    return result;
}

/* When popen() returns, the shell has its own copy of the command. */
PRELOAD_EXPORT FILE *popen(const char *command, const char *mode)
{
    static struct preload_cell cell
        __attribute__((used, section("preload_cells"))) = {"popen", NULL};
    FILE *(*real)(const char *, const char *) =
        (FILE * (*)(const char *, const char *))(uintptr_t)preload_real(&cell);
    struct text t = {NULL, 0, false};
    if (real == NULL) {
        errno = ENOSYS;
        return NULL;
    }
    if (!preload_follow_all) {
        count_command(command);
        return real(command, mode);
    }
    int saved = errno;
    command = make_command(command, &t);
    errno = saved;
    FILE *stream = real(command, mode);
    saved = errno;
    drop(&t);
    errno = saved;
    return stream;
}
