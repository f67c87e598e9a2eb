// SPDX-License-Identifier: Apache-2.0
/* A libuv loop that stalls in the phase of its turn that its last argument names: timers, idle,
 * prepare, poll or check. It has libuv linked in, because the names of its functions are not in
 * Debian's stripped library. */
#include <string.h>
#include <uv.h>

#include "inject.h"

static uv_timer_t timer;
static uv_idle_t idle;
static uv_prepare_t prepare;
static uv_check_t check;
static uv_async_t async;
static const char *phase;

static void tick(const char *here)
{
    if (strcmp(phase, here) == 0 && !inject_tick()) {
        uv_stop(uv_default_loop());
    }
}

static void on_idle(uv_idle_t *handle)
{
    tick("idle");
    uv_idle_stop(handle);
}

static void on_timer(uv_timer_t *handle)
{
    (void)handle;
    tick("timers");
    uv_async_send(&async);
    uv_idle_start(&idle, on_idle);
}

static void on_prepare(uv_prepare_t *handle)
{
    (void)handle;
    tick("prepare");
}

static void on_check(uv_check_t *handle)
{
    (void)handle;
    tick("check");
}

static void on_async(uv_async_t *handle)
{
    (void)handle;
    tick("poll");
}

int main(int argc, char **argv)
{
    uv_loop_t *loop = uv_default_loop();
    phase = argv[--argc];
    argv[argc] = NULL;
    inject_start(argc, argv);
    uv_timer_init(loop, &timer);
    uv_idle_init(loop, &idle);
    uv_prepare_init(loop, &prepare);
    uv_check_init(loop, &check);
    uv_async_init(loop, &async, on_async);
    uv_timer_start(&timer, on_timer, INJECT_TICK_MS, INJECT_TICK_MS);
    uv_prepare_start(&prepare, on_prepare);
    uv_check_start(&check, on_check);
    uv_run(loop, UV_RUN_DEFAULT);
    return 0;
}
