// SPDX-License-Identifier: Apache-2.0
/* Code comes and goes. Each of these functions is seen before it does its work: then what the one
 * before it did is noticed, so that no image is missed that comes by dlopen() and goes by
 * dlclose(), and nothing can be loaded at an address whose former image is not closed yet. */
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <string.h>

#include "recorder.h"
#include "target_self.h"

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

void recorder_look_at_images(void)
{
    int saved = errno;
    pthread_mutex_lock(&mutex);
    if (sonde__target_self_refresh(true) != SONDE_OK) {
        atomic_fetch_add(&recorder_page->images_lost, 1);
    }
    recorder_log_images();
    if (recorder_hooks != NULL) {
        if (sonde__hook_sweep(recorder_hooks) != SONDE_OK) {
            atomic_fetch_add(&recorder_page->blinds_lost, 1);
        }
        recorder_log_blinds();
    }
    pthread_mutex_unlock(&mutex);
    errno = saved;
}

static bool is_listed(const char *name)
{
    for (uint32_t i = 0; name != NULL && i < recorder_page->function_count; i++) {
        if (strcmp(recorder_page->names + recorder_page->functions[i].name, name) == 0) {
            return true;
        }
    }
    return false;
}

/* dlsym() of a listed function answers its thunk. The question is asked again in our name, which is
 * the same for a handle and for the default scope; RTLD_NEXT means the caller's own place, and is
 * left to it. */
static uint64_t lead_dlsym(const struct sonde__regs *regs, uint64_t target)
{
    void *handle = (void *)(uintptr_t)sonde__probe_hook_argument(regs, 0);
    const char *name = (const char *)(uintptr_t)sonde__probe_hook_argument(regs, 1);
    if (handle == RTLD_NEXT || !is_listed(name)) {
        return target;
    }
    uint64_t found = (uint64_t)(uintptr_t)recorder_dlsym(handle, name);
    pthread_mutex_lock(&mutex);
    uint64_t thunk = found != 0 ? sonde__hook_lead(recorder_hooks, found) : 0;
    pthread_mutex_unlock(&mutex);
    if (thunk == 0 || thunk == found) {
        return target; /* which fails once more, for dlerror(), or gives what it would */
    }
    ((struct sonde__regs *)(uintptr_t)regs)->r[0] = thunk; /* rax, x0: the stub restores it */
    return (uint64_t)(uintptr_t)sonde__probe_hook_answered;
}

uint64_t recorder_event(const struct sonde__probe_hook *hook, const struct sonde__regs *regs)
{
    uint64_t target = atomic_load_explicit(&hook->target, memory_order_relaxed);
    if (recorder_hooks == NULL) {
        return target;
    }
    int saved = errno;
    enum sonde__record_event event = hook->function - RECORDER_EVENT_FUNCTION;
    if (event >= SONDE__RECORD_OBJC_LOAD) {
        recorder_method_event(event, regs);
        errno = saved;
        return target;
    }
    recorder_look_at_images();
    (void)recorder_look_for_methods();
    if (event == SONDE__RECORD_DLSYM) {
        target = lead_dlsym(regs, target);
    }
    errno = saved;
    return target;
}
