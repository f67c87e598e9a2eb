// SPDX-License-Identifier: Apache-2.0
/* Other unwinders, opened by path: linking libunwind would replace backtrace(). Each captures the
 * calling thread's stack and returns the number of frames. */
#ifndef SONDE_BENCH_PEERS_H
#define SONDE_BENCH_PEERS_H

#define PEER_FRAMES_MAX 1024

/* Opens what is there. */
void bench_peers_open(void);
/* The calling thread's buffer is in memory. */
void bench_peers_touch(void);

int bench_glibc_backtrace(void);
/* libunwind; 0 when it is not installed */
int bench_unw_backtrace(void);
int bench_unw_step(void);
/* LLVM's, which takes another's place when it is installed: unpacked, and named by the environment
 * (SONDE_BENCH_LLVM_LIBUNWIND); 0 without */
int bench_llvm_step(void);
/* frame pointers, bounds checked, from a frame's own; right only in code that keeps them */
int bench_fp_loop(const void *start);

#endif
