// SPDX-License-Identifier: Apache-2.0
/* A loop over epoll and a timer that turns for a second, is quiet for QUIET_MS, and then makes a
 * stall of STALL_MS; three times. It prints what it does, and the time that the stall took. */
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

int main(int argc, char **argv)
{
    struct epoll_event event = {.events = EPOLLIN};
    int epoll = epoll_create1(EPOLL_CLOEXEC);
    int timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
    if (argc < 3 || epoll_ctl(epoll, EPOLL_CTL_ADD, timer, &event) != 0) {
        return 1;
    }
    setvbuf(stdout, NULL, _IOLBF, 0);
    puts("started");
    for (int round = 1; round <= 3; round++) {
        for (int i = 0; i < 50; i++) {
            turn(epoll, timer, 20);
        }
        printf("quiet %d\n", round);
        turn(epoll, timer, (unsigned)atoi(argv[1]));
        stall((unsigned)atoi(argv[2]));
    }
    for (int i = 0; i < 50; i++) {
        turn(epoll, timer, 20);
    }
    return 0;
}
