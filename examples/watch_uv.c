// SPDX-License-Identifier: Apache-2.0
/* Watch a libuv loop. A callback of a pipe that takes 500 ms is reported, although libuv calls it
 * from within its wait; so is one of a timer. A wait of a second is not. */
#include <stdlib.h>

#include <sonde/hooks/uv.h>

#include "stalls.h"

static uv_pipe_t ends[2];
static uv_timer_t timer, last;
static char buffer[16];

static void give_buffer(uv_handle_t *handle, size_t size, uv_buf_t *ret_buffer)
{
    (void)handle;
    (void)size;
    *ret_buffer = uv_buf_init(buffer, sizeof buffer);
}

static void on_read(uv_stream_t *stream, ssize_t size, const uv_buf_t *from)
{
    (void)from;
    if (size > 0) {
        save_document(500);
    }
    uv_close((uv_handle_t *)stream, NULL);
}

static void on_timer(uv_timer_t *handle)
{
    uv_buf_t byte = uv_buf_init((char *)"x", 1);
    if (uv_try_write((uv_stream_t *)&ends[1], &byte, 1) != 1) {
        fprintf(stderr, "the pipe took nothing\n");
    }
    uv_close((uv_handle_t *)&ends[1], NULL);
    uv_close((uv_handle_t *)handle, NULL);
}

static void on_last(uv_timer_t *handle)
{
    save_document(400);
    uv_close((uv_handle_t *)handle, NULL);
}

int main(void)
{
    int count = 0;
    uv_loop_t *loop = uv_default_loop();
    struct sonde_uv hook = {0};
    uv_file fds[2];
    struct sonde_watch *watch = start_watch(&count);
    if (watch == NULL) {
        return 1;
    }
    if (sonde_uv_attach(&hook, loop) != 0 ||
        uv_pipe(fds, UV_NONBLOCK_PIPE, UV_NONBLOCK_PIPE) != 0) {
        return 1;
    }
    for (int i = 0; i < 2; i++) {
        uv_pipe_init(loop, &ends[i], 0);
        uv_pipe_open(&ends[i], fds[i]);
    }
    uv_read_start((uv_stream_t *)&ends[0], give_buffer, on_read);
    uv_timer_init(loop, &timer);
    uv_timer_start(&timer, on_timer, 100, 0);
    uv_timer_init(loop, &last);
    uv_timer_start(&last, on_last, 1600, 0);
    uv_run(loop, UV_RUN_DEFAULT);
    sonde_uv_detach(&hook);
    uv_run(loop, UV_RUN_DEFAULT);
    printf("handles left: %d\n", uv_loop_close(loop) != 0);
    sonde_watch_stop(watch);
    printf("stalls: %d\n", count);
    return 0;
}
