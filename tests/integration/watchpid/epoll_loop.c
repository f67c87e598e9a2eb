// SPDX-License-Identifier: Apache-2.0
/* A loop over epoll and a timer, of the C library alone: linked dynamically, statically, with musl.
 * With MAIN_ENDS the loop is in another thread, and the main thread ends before it. */
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "../zoo/inject.h"

static void loop(void)
{
    const struct itimerspec each = {{0, INJECT_TICK_MS * 1000000}, {0, INJECT_TICK_MS * 1000000}};
    struct epoll_event event = {.events = EPOLLIN};
    uint64_t expired;
    int epoll = epoll_create1(EPOLL_CLOEXEC);
    int timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
    if (epoll < 0 || timer < 0 || epoll_ctl(epoll, EPOLL_CTL_ADD, timer, &event) != 0 ||
        timerfd_settime(timer, 0, &each, NULL) != 0) {
        exit(1);
    }
    do {
        if (epoll_wait(epoll, &event, 1, -1) == 1) {
            (void)!read(timer, &expired, sizeof expired);
        }
    } while (inject_tick());
    exit(0);
}

#if defined(MAIN_ENDS)
static void *loop_beside(void *unused)
{
    (void)unused;
    loop();
    return NULL;
}
#endif

int main(int argc, char **argv)
{
    inject_start(argc, argv);
#if defined(MAIN_ENDS)
    pthread_t thread;
    pthread_create(&thread, NULL, loop_beside, NULL);
    pthread_exit(NULL);
#endif
    loop();
}
