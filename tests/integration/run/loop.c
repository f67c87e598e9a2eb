// SPDX-License-Identifier: Apache-2.0
/* An event loop that stalls as it is told: each argument is one turn, KIND:MILLISECONDS.
 *   idle   waits in the loop's own poll      burn   uses the CPU
 *   sleep  sleeps                            poll   waits on another descriptor, inside the turn
 *   stop   stops itself; somebody else continues it
 *   populate  makes one long system call that no signal interrupts, and says how long it took
 *   thread does nothing while a second thread burns
 *   leave, crash, kill  sleep, and then end the program by _exit(), SIGSEGV or SIGKILL
 *   exit   does nothing; the program will sleep that long when it ends
 *   file   asks so many times when a file was changed
 *   start  sleeps before the first turn of the loop; only as the first argument
 * It prints what it did, so that a test sees it unchanged. */
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static int own[2], other[2];

static double now_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void wait_in_loop(int ms)
{
    struct pollfd p = {own[0], POLLIN, 0};
    (void)poll(&p, 1, ms);
}

__attribute__((noinline)) static void stall_burn(int ms)
{
    double end = now_s() + ms / 1e3;
    while (now_s() < end) {
    }
}

__attribute__((noinline)) static void stall_sleep(int ms)
{
    struct timespec t = {ms / 1000, ms % 1000 * 1000000l};
    nanosleep(&t, NULL);
}

__attribute__((noinline)) static void stall_poll(int ms)
{
    struct pollfd p = {other[0], POLLIN, 0};
    (void)poll(&p, 1, ms);
}

/* Maps the page of zeros again and again: that takes time, and no memory but page tables. */
static double populate(size_t size)
{
    double begin = now_s();
    void *at = mmap(NULL, size, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (at != MAP_FAILED) {
        (void)madvise(at, size, MADV_NOHUGEPAGE);
        (void)madvise(at, size, MADV_POPULATE_READ);
        (void)munmap(at, size);
    }
    return now_s() - begin;
}

__attribute__((noinline)) static void stall_populate(int ms)
{
    const size_t gib = (size_t)1 << 30;
    double one = populate(gib), begin = now_s();
    double count = ms / 1e3 / (one > 1e-4 ? one : 1e-4);
    populate(gib / 16 * (size_t)(count < 256 ? count * 16 : 4096));
    printf("took %d\n", (int)((now_s() - begin + one) * 1e3));
}

static void *burn_thread(void *ms)
{
    stall_burn(*(int *)ms);
    return NULL;
}

static int exit_ms;

static void sleep_at_exit(void)
{
    stall_sleep(exit_ms);
}

static void ask_file(int times)
{
    struct stat file;
    for (int i = 0; i < times; i++) {
        (void)fstatat(AT_FDCWD, "/", &file, 0);
    }
}

static void take_turn(const char *kind, int ms)
{
    pthread_t thread;
    if (strcmp(kind, "idle") == 0) {
        wait_in_loop(ms);
    } else if (strcmp(kind, "file") == 0) {
        ask_file(ms);
    } else if (strcmp(kind, "burn") == 0) {
        stall_burn(ms);
    } else if (strcmp(kind, "sleep") == 0) {
        stall_sleep(ms);
    } else if (strcmp(kind, "poll") == 0) {
        stall_poll(ms);
    } else if (strcmp(kind, "exit") == 0) {
        exit_ms = ms;
        atexit(sleep_at_exit);
    } else if (strcmp(kind, "populate") == 0) {
        stall_populate(ms);
    } else if (strcmp(kind, "leave") == 0) {
        stall_sleep(ms);
        _exit(0);
    } else if (strcmp(kind, "crash") == 0 || strcmp(kind, "kill") == 0) {
        stall_sleep(ms);
        (void)kill(getpid(), *kind == 'c' ? SIGSEGV : SIGKILL);
    } else if (strcmp(kind, "stop") == 0) {
        raise(SIGSTOP);
    } else if (strcmp(kind, "thread") == 0 &&
               pthread_create(&thread, NULL, burn_thread, &ms) == 0) {
        wait_in_loop(ms);
        pthread_join(thread, NULL);
    }
}

int main(int argc, char **argv)
{
    if (pipe(own) != 0 || pipe(other) != 0) {
        return 1;
    }
    if (argc > 1 && strncmp(argv[1], "start:", 6) == 0) {
        stall_sleep(atoi(argv[1] + 6));
    }
    for (int i = 0; i < 20; i++) { /* so that the loop is known */
        wait_in_loop(2);
    }
    for (int i = 1; i < argc; i++) {
        char kind[16];
        int ms = 0;
        if (sscanf(argv[i], "%15[a-z]:%d", kind, &ms) >= 1) {
            take_turn(kind, ms);
            printf("%s %d\n", kind, ms);
        }
        wait_in_loop(2);
    }
    return 0;
}
