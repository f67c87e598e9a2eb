// SPDX-License-Identifier: Apache-2.0
/* What a thread is to the probe: its slot and its number. Context: handler. */
#include <pthread.h>
#include <time.h>

#include "os.h"
#include "preload.h"

_Thread_local struct sonde__probe_slot *preload_slot;
_Thread_local bool preload_slotless;

static bool tid_from_clock;

/* The number of this thread without a system call: a seccomp filter may end the program for one.
 * The C library makes a thread's clock of the number it keeps (kernel ABI: ~tid << 3, and flags).
 */
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

void preload_forget_slot(void)
{
    preload_slot = NULL;
    preload_slotless = false;
    preload_forget_vfork();
}
