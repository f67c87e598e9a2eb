// SPDX-License-Identifier: Apache-2.0
/* Time slices of the calling thread. A thread that asks for short ones runs sooner after it wakes
 * up, also where many threads want a processor; its share and its priority stay the same
 * (sched_setattr(2), Linux 6.12). Needs no privilege. Context: the thread itself. */
#ifndef SONDE_HOST_PROMPT_H
#define SONDE_HOST_PROMPT_H

#include <stdint.h>

/* The least slice that Linux grants. */
#define SONDE__HOST_PROMPT_SLICE_NS 100000u

/* Returns the former slice in ns; 0: unknown, or none (a real-time policy, a system without slices,
 * slice_ns 0): then nothing is changed. */
uint64_t sonde__host_set_slice(uint64_t slice_ns);
void sonde__host_be_prompt(void);

#endif
