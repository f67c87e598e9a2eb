// SPDX-License-Identifier: Apache-2.0
/* Program start and end, and what every program uses. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sim.h"

extern char **environ;

static void initialise(uint32_t image)
{
    uint64_t function;
    for (uint32_t i = 0; (function = host_initialiser(image, i)) != 0; i++) {
        ((void (*)(void))function)();
    }
}

/* The first function of the program: it has no caller, as dyld's `start` has none. The images are
 * libSystem, the program, and what is inserted, which is initialised before the program. */
_Noreturn void sim_start(int argc, char **argv, char **envp,
                         int (*program)(int argc, char **argv, char **envp));
_Noreturn void sim_start(int argc, char **argv, char **envp,
                         int (*program)(int argc, char **argv, char **envp))
{
    environ = envp;
    initialise(0);
    for (uint32_t i = 2; i < host_count_images(); i++) {
        initialise(i);
    }
    initialise(1);
    exit(program(argc, argv, envp));
}

enum { AT_EXIT_MAX = 32 };
static void (*at_exit[AT_EXIT_MAX])(void);
static uint32_t at_exit_count;

int atexit(void (*function)(void))
{
    uint32_t at = __atomic_fetch_add(&at_exit_count, 1, __ATOMIC_RELAXED);
    if (at >= AT_EXIT_MAX) {
        return -1;
    }
    at_exit[at] = function;
    return 0;
}

void exit(int status)
{
    while (at_exit_count > 0) {
        at_exit[--at_exit_count]();
    }
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
