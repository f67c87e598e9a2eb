// SPDX-License-Identifier: Apache-2.0
/* Other unwinders, opened by path: linking libunwind would replace backtrace(). Each captures the
 * calling thread's stack and returns the number of frames. */
#ifndef SONDE_BENCH_PEERS_H
#define SONDE_BENCH_PEERS_H

#define PEER_FRAMES_MAX 1024

/* Opens what is installed. */
void bench_peers_open(void);

int bench_glibc_backtrace(void);
/* libunwind; 0 when it is not installed */
int bench_unw_backtrace(void);
int bench_unw_step(void);
/* frame pointers, bounds checked, from a frame's own; right only in code that keeps them */
int bench_fp_loop(const void *start);

#endif
