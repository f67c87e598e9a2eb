// SPDX-License-Identifier: Apache-2.0
/* A libevent loop. */
#include <event2/event.h>

#include "inject.h"

static void tick(evutil_socket_t fd, short what, void *base)
{
    (void)fd, (void)what;
    if (!inject_tick()) {
        event_base_loopbreak(base);
    }
}

int main(int argc, char **argv)
{
    struct timeval period = {0, INJECT_TICK_MS * 1000};
    struct event_base *base = event_base_new();
    inject_start(argc, argv);
    struct event *event = event_new(base, -1, EV_PERSIST, tick, base);
    event_add(event, &period);
    event_base_dispatch(base);
    event_free(event);
    event_base_free(base);
    return 0;
}
