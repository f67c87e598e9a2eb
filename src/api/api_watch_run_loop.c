// SPDX-License-Identifier: Apache-2.0
/* The main thread's run loop as a loop of the watch. A pass has two turns: what is done before the
 * loop waits, which begins when it asks its sources, and what is done after it woke. */
#include <sonde/watch.h>

#include <pthread.h>

#include "api_watch.h"
#include "base_status.h"
#include "host_app.h"
#include "host_run_loop.h"
#include "os.h"

static _Atomic(const char *) mode_now;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static bool is_observed;

static void begin_turn(const char *phase, const char *mode)
{
    atomic_store_explicit(&mode_now, mode, memory_order_release);
    sonde__api_marks_run_loop(false, phase);
}

static void on_activity(enum sonde__host_activity activity, const char *mode)
{
    switch (activity) {
    case SONDE__HOST_ENTERED:
        begin_turn("entry", mode);
        break;
    case SONDE__HOST_SOURCES:
        begin_turn("before sources", mode);
        break;
    case SONDE__HOST_WOKE:
        begin_turn("after waiting", mode);
        break;
    case SONDE__HOST_EXITED:
        if (mode[0] != '\0') { /* a nested run: what called it goes on */
            begin_turn("after a nested run", mode);
            break;
        }
        sonde__api_marks_run_loop(true, "");
        break;
    case SONDE__HOST_WAITS:
        sonde__api_marks_run_loop(true, "");
        break;
    }
}

static void on_state(uint32_t state)
{
    sonde_watch_app_state((enum sonde_app_state)state);
}

static enum sonde_status observe(void)
{
    enum sonde_status status = sonde__host_run_loop_observe(on_activity);
    return status == SONDE_OK ? sonde__host_app_observe(on_state) : status;
}

const char *sonde__api_run_loop_mode(uint64_t tid)
{
    const char *mode = atomic_load_explicit(&mode_now, memory_order_acquire);
    return mode != NULL && tid == sonde__os_main_tid() ? mode : "";
}

enum sonde_status sonde_watch_run_loop(struct sonde_error *ret_error)
{
    pthread_mutex_lock(&lock);
    enum sonde_status status = is_observed ? SONDE_OK : observe();
    is_observed = status == SONDE_OK;
    pthread_mutex_unlock(&lock);
    if (status == SONDE_UNSUPPORTED) {
        return sonde__base_fail(ret_error, status,
                                "no run loop: CoreFoundation is not loaded in this program", NULL,
                                0, 0);
    }
    return status == SONDE_OK
               ? status
               : sonde__base_fail(ret_error, status, "the observers of the run loop", NULL, 0, 0);
}
