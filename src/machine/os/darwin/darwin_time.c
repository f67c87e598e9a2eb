// SPDX-License-Identifier: Apache-2.0
/* Clocks: libSystem reads them in the page that the kernel shares, or traps into the kernel.
 * Context: handler. */
#include <mach/vm_page_size.h>
#include <time.h>

#include "os.h"

uint64_t sonde__os_now_ns(void)
{
    return clock_gettime_nsec_np(CLOCK_UPTIME_RAW);
}

uint64_t sonde__os_cpu_ns(void)
{
    return clock_gettime_nsec_np(CLOCK_THREAD_CPUTIME_ID);
}

size_t sonde__os_page_size(void)
{
    return vm_page_size;
}
