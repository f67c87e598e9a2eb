// SPDX-License-Identifier: Apache-2.0
/* A loop of waits on a stack of a given size: `compat_small_stack coroutine|handler|thread BYTES`.
 * Behind the stack lies memory that nobody may touch: an overflow ends the program. Prints how many
 * bytes of the stack were used. */
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/select.h>
#include <sys/wait.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

enum { PATTERN = 0x5a, GUARD = 65536 };

static int ends[2];
static uint8_t *stack;
static size_t size;
static ucontext_t outside, inside;

/* One of each kind of wait that sonde wraps, none of which takes long. */
static void wait_in_all_ways(void)
{
    static sem_t semaphore;
    struct pollfd poll_fd = {.fd = ends[0], .events = POLLIN};
    struct timespec short_time = {0, 1000};
    char byte;
    (void)!write(ends[1], "x", 1);
    poll(&poll_fd, 1, -1);
    (void)!read(ends[0], &byte, 1);
    (void)!write(ends[1], "x", 1);
    ppoll(&poll_fd, 1, NULL, NULL);
    (void)!read(ends[0], &byte, 1);
    poll(&poll_fd, 1, 1);
    select(0, NULL, NULL, NULL, &(struct timeval){0, 100});
    nanosleep(&short_time, NULL);
    clock_nanosleep(CLOCK_MONOTONIC, 0, &short_time, NULL);
    usleep(10);
    sem_init(&semaphore, 0, 1);
    sem_wait(&semaphore);
    sem_destroy(&semaphore);
    waitpid(-1, NULL, WNOHANG);
}

static void loop(void)
{
    for (int i = 0; i < 40; i++) {
        wait_in_all_ways();
    }
}

static void run_coroutine(void)
{
    getcontext(&inside);
    inside.uc_stack.ss_sp = stack;
    inside.uc_stack.ss_size = size;
    inside.uc_link = &outside;
    makecontext(&inside, loop, 0);
    swapcontext(&outside, &inside);
}

static void on_signal(int signal)
{
    (void)signal;
    loop();
}

static void run_handler(void)
{
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_ONSTACK};
    stack_t alternate = {.ss_sp = stack, .ss_size = size};
    sigaltstack(&alternate, NULL);
    sigaction(SIGUSR1, &action, NULL);
    raise(SIGUSR1);
}

static void *run_loop(void *arg)
{
    loop();
    return arg;
}

static void run_thread(void)
{
    pthread_attr_t attr;
    pthread_t thread;
    pthread_attr_init(&attr);
    if (pthread_attr_setstack(&attr, stack, size) != 0 ||
        pthread_create(&thread, &attr, run_loop, NULL) != 0) {
        exit(3);
    }
    pthread_join(thread, NULL);
}

int main(int argc, char **argv)
{
    size = argc == 3 ? strtoul(argv[2], NULL, 10) : 0;
    if (size == 0 || pipe(ends) != 0) {
        return 2;
    }
    uint8_t *memory = mmap(NULL, GUARD + size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) {
        return 2;
    }
    stack = memory + GUARD;
    mprotect(stack, size, PROT_READ | PROT_WRITE);
    memset(stack, PATTERN, size);
    if (strcmp(argv[1], "coroutine") == 0) {
        run_coroutine();
    } else if (strcmp(argv[1], "handler") == 0) {
        run_handler();
    } else {
        run_thread();
    }
    size_t unused = 0;
    while (unused < size && stack[unused] == PATTERN) {
        unused++;
    }
    printf("used %zu\n", size - unused);
    return 0;
}
