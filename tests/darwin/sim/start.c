// SPDX-License-Identifier: Apache-2.0
/* Program start and end, and what every program uses. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sim.h"

/* The first function of the program: it has no caller, as dyld's `start` has none. */
extern char **environ;
_Noreturn void sim_start(int argc, char **argv, char **envp,
                         int (*program)(int argc, char **argv, char **envp));
_Noreturn void sim_start(int argc, char **argv, char **envp,
                         int (*program)(int argc, char **argv, char **envp))
{
    environ = envp;
    exit(program(argc, argv, envp));
}

void exit(int status)
{
    host_exit(status);
}

void _exit(int status)
{
    host_exit(status);
}

void abort(void)
{
    host_exit(134);
}

/* For tests: run a function in a process of its own. Returns its exit status. */
int sim_run_apart(void (*function)(void));
int sim_run_apart(void (*function)(void))
{
    int32_t result = host_fork_and_wait();
    if (result == 0) {
        function();
        host_exit(0);
    }
    return result - 1;
}

/* The thunk in descriptors of thread-local variables, until the loader replaces it. */
void _tlv_bootstrap(void);
void _tlv_bootstrap(void)
{
    abort();
}

/* Functions that the compiler calls, which no header declares. */
extern void *__stack_chk_guard;
_Noreturn void __stack_chk_fail(void);

/* Called by lazy pointers; the loader leaves none. */
void bind_lazily(void) __asm__("dyld_stub_binder");
void bind_lazily(void)
{
    abort();
}

void *__stack_chk_guard = (void *)0xa5000000ff0a;

void __stack_chk_fail(void)
{
    abort();
}

size_t strlen(const char *s)
{
    size_t length = 0;
    while (s[length] != '\0') {
        length++;
    }
    return length;
}

int strcmp(const char *a, const char *b)
{
    while (*a == *b && *a != '\0') {
        a++;
        b++;
    }
    return (unsigned char)*a - (unsigned char)*b;
}

int *__error(void)
{
    static _Thread_local int value;
    return &value;
}

char *getenv(const char *name)
{
    return host_getenv(name);
}

uid_t getuid(void)
{
    return host_getuid();
}
