// SPDX-License-Identifier: Apache-2.0
/* Makes the calling thread run soon after it wakes up, also where many threads want a processor.
 *
 * Its share of the processors and its priority stay the same: it asks for short time slices, which
 * the scheduler grants earlier (sched_setattr(2), Linux 6.12). A thread that takes a look of some
 * microseconds each 10 ms was up to 50 ms late beside eight busy threads, and is up to 11 ms late
 * with short slices. Needs no privilege. Context: the thread itself. */
#ifndef SONDE_HOST_PROMPT_H
#define SONDE_HOST_PROMPT_H

/* The least slice that Linux grants. */
#define SONDE__HOST_PROMPT_SLICE_NS 100000u

/* Does nothing for a thread of a real-time policy, and where the system knows no slices. */
void sonde__host_be_prompt(void);

#endif
