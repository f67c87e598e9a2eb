// SPDX-License-Identifier: Apache-2.0
/* Opens a perf event. Context: any thread. */
#ifndef SONDE_HOST_EVENT_H
#define SONDE_HOST_EVENT_H

#include <linux/perf_event.h>
#include <stdint.h>

/* Open an event for thread `tid` of process `pid`, and for no other. Returns the descriptor, or an
 * errno as a negative number; -ESRCH: there is no such thread. Ownership: close(). */
int sonde__host_event_open(struct perf_event_attr *attr, int32_t pid, uint64_t tid);

#endif
