// SPDX-License-Identifier: Apache-2.0
/* Calls that load and unload code, create a process or execute a program. The recorder sees each
 * call before it does its work, and then logs the effect of the previous one. So it misses no image
 * between dlopen() and dlclose(), and logs an unloaded image before another can be loaded at its
 * address. Meanwhile the loader binds to thunks (hook.h). New processes and programs are only
 * counted. */
#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <time.h>
#include <unistd.h>

#include "recorder.h"
#include "target_self.h"

/* A waiting thread may hold the loader's lock (in a constructor or a callback of
 * dl_iterate_phdr()), which the thread inside may need, so the wait is bounded. */
enum { PATIENCE_S = 1 };
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t left = PTHREAD_COND_INITIALIZER;
static bool is_inside; /* guarded by the mutex */

static bool enter(void)
{
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += PATIENCE_S;
    pthread_mutex_lock(&mutex);
    while (is_inside && pthread_cond_timedwait(&left, &mutex, &until) == 0) {
    }
    bool is_free = !is_inside;
    is_inside = true;
    pthread_mutex_unlock(&mutex);
    return is_free;
}

static void leave(void)
{
    pthread_mutex_lock(&mutex);
    is_inside = false;
    pthread_cond_signal(&left);
    pthread_mutex_unlock(&mutex);
}

void recorder_release_events(void)
{
    mutex = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
    left = (pthread_cond_t)PTHREAD_COND_INITIALIZER;
    is_inside = false;
}

void recorder_inspect_images(void)
{
    int saved = errno;
    if (recorder_is_confined()) {
        return; /* what is loaded from now on has no names */
    }
    recorder_busy++;
    if (!enter()) {
        atomic_fetch_add(&recorder_page->images_lost, 1);
        recorder_busy--;
        errno = saved;
        return;
    }
    if (sonde__target_self_refresh(true) != SONDE_OK) {
        atomic_fetch_add(&recorder_page->images_lost, 1);
    }
    recorder_log_images();
    recorder_look_for_script();
    if (recorder_hooks != NULL) {
        sonde__target_self_enter();
        enum sonde_status swept = sonde__hook_sweep(recorder_hooks);
        sonde__target_self_leave();
        if (swept != SONDE_OK) {
            atomic_fetch_add(&recorder_page->blind_spots_lost, 1);
        }
        recorder_log_blind_spots();
        if (recorder_swept != NULL) {
            recorder_swept();
        }
    }
    leave();
    recorder_busy--;
    errno = saved;
}

void recorder_end(void)
{
    recorder_inspect_images();
    recorder_end_methods();
    recorder_busy++;
    (void)enter();
    struct sonde__hooks *hooks = recorder_hooks;
    recorder_hooks = NULL;
    recorder_end_script();
    sonde__target_self_enter();
    sonde__hook_stop(hooks);
    sonde__target_self_leave();
    leave();
    recorder_busy--;
}

/* A child of vfork() shares our memory, but is another process. */
static bool is_own_process(void)
{
    const struct sonde__probe_page *page = preload_page();
    return page != NULL && atomic_load_explicit(&page->pid, memory_order_relaxed) == getpid();
}

static void count_process(enum sonde__record_event event, const struct sonde__regs *regs)
{
    bool is_by_number = event == SONDE__RECORD_SYSCALL;
    if (!recorder_is_of_process(&event, regs)) {
        return;
    }
    bool is_followed = recorder_redirect != NULL && (event < SONDE__RECORD_EXEC || !is_by_number);
    if (!is_followed && is_own_process()) {
        atomic_fetch_add_explicit(event >= SONDE__RECORD_EXEC ? &recorder_page->execs
                                                              : &recorder_page->children,
                                  1, memory_order_relaxed);
    }
}

static void see(enum sonde__record_event event, const struct sonde__regs *regs)
{
    if (event == SONDE__RECORD_PRCTL || event == SONDE__RECORD_SYSCALL) {
        recorder_see_limits(event, regs);
    }
    if (event == SONDE__RECORD_PRCTL) {
        return;
    }
    if (event >= SONDE__RECORD_SYSCALL) {
        count_process(event, regs);
    } else if (event >= SONDE__RECORD_OBJC_LOAD) {
        recorder_method_event(event, regs);
    } else {
        if (event == SONDE__RECORD_DLMOPEN) {
            atomic_fetch_add_explicit(&recorder_page->spaces, 1, memory_order_relaxed);
        }
        recorder_inspect_images();
        (void)recorder_look_for_methods();
    }
}

uint32_t recorder_event(enum sonde__record_event event, const struct sonde__regs *regs)
{
    if (recorder_hooks != NULL) {
        int saved = errno;
        see(event, regs);
        errno = saved;
    }
    return recorder_listed_events[event];
}
