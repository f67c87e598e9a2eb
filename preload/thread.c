// SPDX-License-Identifier: Apache-2.0
/* A thread's slot and tid. Context: handler. */
#include <pthread.h>
#include <time.h>

#include "os.h"
#include "preload.h"

_Thread_local struct sonde__probe_slot *preload_slot;
_Thread_local bool preload_slotless;

static _Thread_local struct sonde__probe_slot *aside; /* since the thread's last vfork() */

static bool tid_from_clock;

/* The tid of this thread without a system call, for which a seccomp filter may kill the program.
 * libc derives a thread's clock from the tid it stores (kernel ABI: ~tid << 3, and flags). */
static uint32_t clock_tid(void)
{
    clockid_t clock;
    return pthread_getcpuclockid(pthread_self(), &clock) == 0 ? (uint32_t) ~(clock >> 3) : 0;
}

void preload_learn_own_tid(void)
{
    tid_from_clock = clock_tid() == (uint32_t)sonde__os_tid();
}

uint32_t preload_own_tid(void)
{
    return tid_from_clock ? clock_tid() : (uint32_t)sonde__os_tid();
}

void preload_set_slot_aside(void)
{
    if (preload_slot != NULL) {
        aside = preload_slot;
        preload_slot = NULL;
    }
}

bool preload_take_slot_back(const struct sonde__probe_page *page)
{
    if (aside == NULL) {
        return true;
    }
    /* a seccomp filter may kill the process for gettid, which tells them apart */
    if (atomic_load_explicit(&page->confined, memory_order_acquire) == 0 &&
        atomic_load_explicit(&aside->tid, memory_order_relaxed) != (uint32_t)sonde__os_tid()) {
        return false;
    }
    preload_slot = aside;
    aside = NULL;
    return true;
}

void preload_forget_slot(void)
{
    preload_slot = NULL;
    preload_slotless = false;
    aside = NULL;
}
