// SPDX-License-Identifier: Apache-2.0
/* Calls ahead of time what is called while threads are stopped. The pointer to a function may be
 * bound by its first call (in apps for systems before iOS 13.4 and macOS 12), for which dyld takes
 * a lock, and a stopped thread may have it. tests/darwin/programs/first.c finds what is missing
 * here. */
#include <dispatch/dispatch.h>
#include <errno.h>
#include <mach/mach_init.h>
#include <mach/mach_port.h>
#include <mach/thread_act.h>
#include <pthread.h>

#include "os.h"
#include "os_stop.h"

/* Of no thread: refused, or nothing happens. */
static void call_stops(void)
{
    const struct sonde__os_stop none = {.port = MACH_PORT_NULL};
    struct sonde__regs regs;
    char label[8];
    const char *volatile own; /* the compiler may leave out a call without a use */
    if (sonde__os_stop_begin(&none) == SONDE_OK || sonde__os_stop_regs(&none, &regs) == SONDE_OK) {
        return;
    }
    sonde__os_stop_end(&none);
    sonde__os_stop_queue(&none, label, sizeof label);
    own = dispatch_queue_get_label(DISPATCH_CURRENT_QUEUE_LABEL);
    (void)own;
    (void)sonde__os_stop_qos((uint64_t)(uintptr_t)pthread_self());
}

static void call_reads(void)
{
    static const uint64_t word;
    static volatile size_t size = sizeof word; /* no constant for the compiler */
    uint64_t copy, other;
    struct sonde__os_code code;
    volatile int own_errno = errno; /* __error() */
    (void)own_errno;
    (void)sonde__os_read((uint64_t)(uintptr_t)&word, &copy, sizeof copy);
    (void)sonde__os_code_find(0, (uint64_t)(uintptr_t)&word, &code);
    __builtin_memset(&other, (int)copy, size);
    __builtin_memcpy(&other, &copy, size);
    __builtin_memset(&other, 0, size); /* bzero() */
    (void)sonde__os_tid();
    (void)sonde__os_own_stack_end(0, &other);
}

void sonde__os_stop_ahead(void)
{
    static bool is_done;
    if (!__atomic_load_n(&is_done, __ATOMIC_RELAXED)) {
        call_stops();
        call_reads();
        __atomic_store_n(&is_done, true, __ATOMIC_RELAXED);
    }
}
