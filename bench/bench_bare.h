// SPDX-License-Identifier: Apache-2.0
/* Captures in code without call frame information and without frame pointers. */
#ifndef SONDE_BENCH_BARE_H
#define SONDE_BENCH_BARE_H

#include <stdint.h>

/* A chain of `depth` calls. `way` chooses one of three functions for each call, by two bits; the
 * last one calls `leaf`. */
int bench_bare_chain(int depth, uint64_t way, void (*leaf)(void));

/* key: what the figures' keys begin with. capture: captures by sonde; returns the number of frames,
 * or 0 if the stack is not whole. */
void bench_bare(const char *key, int (*capture)(void));

/* The same in a process of its own, before sonde_stack_prepare(). */
void bench_bare_unprepared(const char *key, int (*capture)(void));

#endif
