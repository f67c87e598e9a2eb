// SPDX-License-Identifier: Apache-2.0
/* Watch a libevent loop: a callback of a pipe takes 500 ms. A wait of half a second is no stall.
 * Signals and time-outs work as before. */
#include <signal.h>

#include <sonde/hooks/event.h>

#include "stalls.h"

static struct event_base *base;

static void on_byte(evutil_socket_t fd, short what, void *ctx)
{
    char byte;
    (void)what;
    (void)ctx;
    if (read(fd, &byte, 1) == 1) {
        save_document(500);
    }
}

static void on_signal(evutil_socket_t number, short what, void *ctx)
{
    (void)what;
    (void)ctx;
    printf("signal %d\n", (int)number);
}

static void on_timer(evutil_socket_t fd, short what, void *write_end)
{
    (void)fd;
    (void)what;
    if (write(*(int *)write_end, "x", 1) != 1 || kill(getpid(), SIGUSR1) != 0) {
        event_base_loopbreak(base);
    }
}

static void on_end(evutil_socket_t fd, short what, void *ctx)
{
    (void)fd;
    (void)what;
    (void)ctx;
    event_base_loopexit(base, NULL);
}

int main(void)
{
    int count = 0, fds[2];
    const struct timeval soon = {0, 500000}, later = {1, 500000};
    struct sonde_watch *watch = start_watch(&count);
    if (watch == NULL || pipe(fds) != 0) {
        return 1;
    }
    base = event_base_new();
    struct event *events[] = {event_new(base, fds[0], EV_READ | EV_PERSIST, on_byte, NULL),
                              event_new(base, SIGUSR1, EV_SIGNAL | EV_PERSIST, on_signal, NULL),
                              evtimer_new(base, on_timer, &fds[1]),
                              evtimer_new(base, on_end, NULL)};
    event_add(events[0], NULL);
    event_add(events[1], NULL);
    event_add(events[2], &soon);
    event_add(events[3], &later);
    printf("ended with %d\n", sonde_event_loop(base));
    for (int i = 0; i < 4; i++) {
        event_free(events[i]);
    }
    event_base_free(base);
    sonde_watch_stop(watch);
    printf("stalls: %d\n", count);
    return 0;
}
