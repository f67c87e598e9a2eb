// SPDX-License-Identifier: Apache-2.0
/* The watch (sonde/watch.h) of a libuv loop that runs in uv_run(loop, UV_RUN_DEFAULT).
 *
 * Marking the wait by a prepare and a check handle is not enough: libuv calls the callbacks of
 * sockets, pipes and uv_poll_t between the two, so a stall in one would look idle. So the prepare
 * handle waits itself, for the loop's descriptor and as long as the loop would (uv_backend_fd(),
 * uv_backend_timeout()), and an idle handle makes libuv's own wait return at once. That costs one
 * more system call a turn.
 *
 * Reports show what the loop was doing: "I/O callbacks"; "check, closing, timers"; "idle, prepare".
 * The handles are unreferenced, so they do not keep the loop alive. Header only; the program links
 * libuv, 1.42 or newer. */
#ifndef SONDE_HOOKS_UV_H
#define SONDE_HOOKS_UV_H

#include <errno.h>
#include <poll.h>
#include <uv.h>

#include "sonde/note.h"
#include "sonde/watch.h"

#if UV_VERSION_HEX < ((1 << 16) | (42 << 8))
#    error "uv_backend_timeout() of this libuv does not say when descriptors are to be added"
#endif

#ifdef __cplusplus
extern "C" {
#endif

struct sonde_uv {
    uv_prepare_t prepare;
    uv_check_t check;
    uv_idle_t idle;
};

static inline void sonde_uv_idle_(uv_idle_t *handle)
{
    (void)handle;
    sonde_loop_phase("idle, prepare");
}

/* Wait until the descriptor is ready or the time-out expires; restart after signals. */
static inline void sonde_uv_wait_(uv_loop_t *loop, int timeout_ms)
{
    struct pollfd fd;
    uint64_t begin_ns = uv_hrtime();
    int left_ms = timeout_ms;
    fd.fd = uv_backend_fd(loop);
    fd.events = POLLIN;
    while (poll(&fd, 1, left_ms) < 0 && errno == EINTR) {
        uint64_t passed_ms = (uv_hrtime() - begin_ns) / 1000000u;
        left_ms = timeout_ms < 0                      ? -1
                  : passed_ms >= (uint64_t)timeout_ms ? 0
                                                      : timeout_ms - (int)passed_ms;
    }
}

static inline void sonde_uv_prepare_(uv_prepare_t *handle)
{
    struct sonde_uv *hook = (struct sonde_uv *)handle->data;
    int timeout_ms;
    uv_idle_stop(&hook->idle);
    timeout_ms = uv_backend_timeout(handle->loop);
    sonde_idle_enter();
    if (timeout_ms != 0) {
        sonde_uv_wait_(handle->loop, timeout_ms);
        uv_update_time(handle->loop);
    }
    sonde_idle_leave();
    uv_idle_start(&hook->idle, sonde_uv_idle_);
    sonde_loop_phase("I/O callbacks");
}

static inline void sonde_uv_check_(uv_check_t *handle)
{
    (void)handle;
    sonde_loop_phase("check, closing, timers");
}

/* Watch a loop, from its next turn on. Call it before the program starts prepare handles of its
 * own: libuv calls the handle started first last, and other handles must not run after the wait.
 *
 * hook  zeroed; lives until sonde_uv_detach() and the loop's next turn
 * Returns 0 or an error of libuv. Context: the loop's thread. */
static inline int sonde_uv_attach(struct sonde_uv *hook, uv_loop_t *loop)
{
    int failed = uv_prepare_init(loop, &hook->prepare);
    failed = failed != 0 ? failed : uv_check_init(loop, &hook->check);
    failed = failed != 0 ? failed : uv_idle_init(loop, &hook->idle);
    if (failed != 0) {
        return failed;
    }
    hook->prepare.data = hook;
    uv_unref((uv_handle_t *)&hook->prepare);
    uv_unref((uv_handle_t *)&hook->check);
    uv_unref((uv_handle_t *)&hook->idle);
    failed = uv_prepare_start(&hook->prepare, sonde_uv_prepare_);
    return failed != 0 ? failed : uv_check_start(&hook->check, sonde_uv_check_);
}

/* Close the handles; as for all handles, the loop has to run once more. The thread counts as idle
 * afterwards. Context: the loop's thread. */
static inline void sonde_uv_detach(struct sonde_uv *hook)
{
    uv_close((uv_handle_t *)&hook->prepare, NULL);
    uv_close((uv_handle_t *)&hook->check, NULL);
    uv_close((uv_handle_t *)&hook->idle, NULL);
    sonde_loop_phase(NULL);
    sonde_idle_enter();
}

#ifdef __cplusplus
}
#endif

#endif
