// SPDX-License-Identifier: Apache-2.0
/* A libuv loop. */
#include <uv.h>

#include "inject.h"

static void tick(uv_timer_t *timer)
{
    if (!inject_tick()) {
        uv_timer_stop(timer);
    }
}

int main(int argc, char **argv)
{
    uv_timer_t timer;
    inject_start(argc, argv);
    uv_timer_init(uv_default_loop(), &timer);
    uv_timer_start(&timer, tick, INJECT_TICK_MS, INJECT_TICK_MS);
    uv_run(uv_default_loop(), UV_RUN_DEFAULT);
    return 0;
}
