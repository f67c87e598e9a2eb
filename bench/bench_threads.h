// SPDX-License-Identifier: Apache-2.0
/* Stacks of all threads as of one moment: many that are blocked, and more busy ones than CPUs. */
#ifndef SONDE_BENCH_THREADS_H
#define SONDE_BENCH_THREADS_H

/* Prints its figures. Ends the program if a snapshot is wrong. */
void bench_threads(void);

#endif
