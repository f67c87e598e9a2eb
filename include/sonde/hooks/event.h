// SPDX-License-Identifier: Apache-2.0
/* The watch (sonde/watch.h) of a libevent loop.
 *
 * libevent 2.1 does not report its waits, and calls callbacks from within event_base_loop(), too.
 * So sonde_event_loop() replaces event_base_dispatch(): while nothing is ready it waits itself, for
 * the descriptors and the next time-out of all events. Each wait first lists all events, in time
 * proportional to their number; while events arrive without a pause, nothing is listed. Use it for
 * a base that one thread uses: an event that another thread adds during a wait is noticed only when
 * the wait ends. (`sonde run` needs none of this.)
 *
 * Header only; the program links libevent. */
#ifndef SONDE_HOOKS_EVENT_H
#define SONDE_HOOKS_EVENT_H

#include <errno.h>
#include <event2/event.h>
#include <event2/event_struct.h>
#include <poll.h>
#include <stdlib.h>

#include "sonde/note.h"
#include "sonde/watch.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The descriptors and time-out that a base's events wait for. */
struct sonde_event_waits_ {
    struct pollfd *fds;
    size_t count, capacity;
    struct timeval next; /* the first time-out */
    int has_next, failed;
};

static inline int sonde_event_closed_(short events)
{
#ifdef POLLRDHUP
    return (events & EV_CLOSED) != 0 ? POLLRDHUP : 0;
#else
    return (events & EV_CLOSED) != 0 ? POLLIN : 0;
#endif
}

static inline int sonde_event_add_wait_(const struct event_base *base, const struct event *event,
                                        void *ctx)
{
    struct sonde_event_waits_ *waits = (struct sonde_event_waits_ *)ctx;
    short events = event_get_events(event);
    struct timeval due;
    (void)base;
    if (event_pending(event, EV_TIMEOUT, &due) &&
        (!waits->has_next || evutil_timercmp(&due, &waits->next, <))) {
        waits->next = due;
        waits->has_next = 1;
    }
    if (event_get_fd(event) < 0 || (events & (EV_READ | EV_WRITE | EV_CLOSED)) == 0) {
        return 0; /* signals arrive through a descriptor of the base, which is listed */
    }
    if (waits->count == waits->capacity) {
        size_t capacity = waits->capacity * 2 + 16;
        struct pollfd *fds = (struct pollfd *)realloc(waits->fds, capacity * sizeof *fds);
        if (fds == NULL) {
            waits->failed = 1;
            return -1;
        }
        waits->fds = fds;
        waits->capacity = capacity;
    }
    waits->fds[waits->count].fd = event_get_fd(event);
    waits->fds[waits->count].events =
        (short)(((events & EV_READ) != 0 ? POLLIN : 0) | ((events & EV_WRITE) != 0 ? POLLOUT : 0) |
                sonde_event_closed_(events));
    waits->count++;
    return 0;
}

/* Milliseconds until `due` (clock of gettimeofday()), rounded up; at least 0. */
static inline int sonde_event_until_(const struct timeval *due)
{
    struct timeval now, left;
    evutil_gettimeofday(&now, NULL);
    if (!evutil_timercmp(due, &now, >)) {
        return 0;
    }
    evutil_timersub(due, &now, &left);
    return left.tv_sec > 1000000 ? 1000000000 : (int)(left.tv_sec * 1000 + left.tv_usec / 1000 + 1);
}

/* Returns 0, or -1 if it could not wait. */
static inline int sonde_event_wait_(struct event_base *base, struct sonde_event_waits_ *waits)
{
    int ready = 0;
    waits->count = 0;
    waits->has_next = 0;
    waits->failed = 0;
    (void)event_base_foreach_event(base, sonde_event_add_wait_, waits);
    if (!waits->failed) {
        sonde_idle_enter();
        ready = poll(waits->fds, (nfds_t)waits->count,
                     waits->has_next ? sonde_event_until_(&waits->next) : -1);
        sonde_idle_leave();
    }
    return waits->failed || (ready < 0 && errno != EINTR) ? -1 : 0;
}

/* As event_base_dispatch(), under the watch. Returns as it does: 1 if no events are left, 0 after
 * event_base_loopexit() or _loopbreak(), -1 on failure. Context: the base's only thread. */
static inline int sonde_event_loop(struct event_base *base)
{
    struct sonde_event_waits_ waits = {NULL, 0, 0, {0, 0}, 0, 0};
    int result = 0;
    while (result == 0) {
        sonde_idle_enter(); /* one turn ends, the next begins */
        sonde_idle_leave();
        sonde_loop_phase("callbacks");
        (void)event_base_get_max_events(base, EVENT_BASE_COUNT_ACTIVE, 1);
        result = event_base_loop(base, EVLOOP_NONBLOCK);
        if (result != 0 || event_base_got_exit(base) || event_base_got_break(base)) {
            break;
        }
        if (event_base_get_max_events(base, EVENT_BASE_COUNT_ACTIVE, 1) == 0) {
            result = sonde_event_wait_(base, &waits);
        }
        if (event_base_got_break(base)) {
            break;
        }
    }
    free(waits.fds);
    sonde_loop_phase(NULL);
    sonde_idle_enter(); /* what the thread does next is not a turn */
    return result;
}

#ifdef __cplusplus
}
#endif

#endif
