// SPDX-License-Identifier: Apache-2.0
/* A program that prints its own stack, and knows of glibc only: from a static and an exported
 * function, from a callback of the C library, from a thread, and from a handler. */
#include <execinfo.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static void print_here(const char *title, int size)
{
    void *pcs[100];
    int count = backtrace(pcs, size);
    char **lines = backtrace_symbols(pcs, count);
    printf("%s: %d\n", title, count);
    for (int i = 0; i < count && lines != NULL; i++) {
        printf("%s\n", lines[i]);
    }
    free(lines);
    fflush(stdout);
    backtrace_symbols_fd(pcs, count, STDOUT_FILENO);
}

int exported_function(int size);
__attribute__((noinline)) int exported_function(int size)
{
    print_here("exported", size);
    return size + 1;
}

static int compare(const void *a, const void *b)
{
    static int is_printed;
    if (is_printed++ == 0) {
        print_here("callback", 100);
    }
    return *(const int *)a - *(const int *)b;
}

static void *run_thread(void *arg)
{
    print_here("thread", 100);
    return arg;
}

static void on_signal(int signal)
{
    (void)signal;
    print_here("handler", 100);
}

int main(void)
{
    int numbers[] = {3, 1, 2};
    pthread_t thread;
    exported_function(100);
    exported_function(2);
    exported_function(1);
    exported_function(0);
    qsort(numbers, 3, sizeof numbers[0], compare);
    pthread_create(&thread, NULL, run_thread, NULL);
    pthread_join(thread, NULL);
    signal(SIGUSR1, on_signal);
    raise(SIGUSR1);
    return 0;
}
