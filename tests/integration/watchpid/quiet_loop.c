// SPDX-License-Identifier: Apache-2.0
/* A loop over epoll and a timer that turns for a second, is quiet for QUIET_MS, and then makes a
 * stall of STALL_MS; three times. It prints what it does, and the time that the stall took. With a
 * third argument, threads with loops of their own make the stalls, while the first thread is quiet.
 */
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

static void set_timer(int timer, unsigned ms)
{
    const struct itimerspec once = {{0, 0}, {ms / 1000, (long)(ms % 1000) * 1000000}};
    (void)timerfd_settime(timer, 0, &once, NULL);
}

static void turn(int epoll, int timer, unsigned ms)
{
    struct epoll_event event;
    uint64_t expired;
    set_timer(timer, ms);
    (void)epoll_wait(epoll, &event, 1, -1);
    (void)!read(timer, &expired, sizeof expired);
}

static void stall(unsigned ms)
{
    struct timespec begin, end;
    clock_gettime(CLOCK_MONOTONIC, &begin);
    usleep(ms * 1000);
    clock_gettime(CLOCK_MONOTONIC, &end);
    printf("stalled %lld us\n",
           (long long)(end.tv_sec - begin.tv_sec) * 1000000 + (end.tv_nsec - begin.tv_nsec) / 1000);
}

/* A loop of 50 turns. */
static void turn_often(int epoll, int timer)
{
    for (int i = 0; i < 50; i++) {
        turn(epoll, timer, 20);
    }
}

static bool open_loop(int *ret_epoll, int *ret_timer)
{
    struct epoll_event event = {.events = EPOLLIN};
    *ret_epoll = epoll_create1(EPOLL_CLOEXEC);
    *ret_timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
    return epoll_ctl(*ret_epoll, EPOLL_CTL_ADD, *ret_timer, &event) == 0;
}

static void *run_loop_of_thread(void *stall_ms)
{
    int epoll, timer;
    if (open_loop(&epoll, &timer)) {
        turn_often(epoll, timer);
        stall(*(const unsigned *)stall_ms);
        turn_often(epoll, timer);
    }
    return NULL;
}

/* After a quiet time, start the thread some time later than the first turn, and be quiet again. */
static void start_thread(int epoll, int timer, unsigned quiet_ms, unsigned *stall_ms)
{
    pthread_t thread;
    turn(epoll, timer, quiet_ms);
    turn(epoll, timer, 60);
    if (pthread_create(&thread, NULL, run_loop_of_thread, stall_ms) == 0) {
        turn(epoll, timer, quiet_ms);
        (void)pthread_join(thread, NULL);
    }
}

int main(int argc, char **argv)
{
    int epoll, timer;
    if (argc < 3 || !open_loop(&epoll, &timer)) {
        return 1;
    }
    unsigned quiet_ms = (unsigned)atoi(argv[1]), stall_ms = (unsigned)atoi(argv[2]);
    setvbuf(stdout, NULL, _IOLBF, 0);
    puts("started");
    for (int round = 1; round <= 3; round++) {
        turn_often(epoll, timer);
        printf("quiet %d\n", round);
        if (argc > 3) {
            start_thread(epoll, timer, quiet_ms, &stall_ms);
        } else {
            turn(epoll, timer, quiet_ms);
            stall(stall_ms);
        }
    }
    turn_often(epoll, timer);
    return 0;
}
