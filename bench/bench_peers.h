// SPDX-License-Identifier: Apache-2.0
/* Other unwinders. They are opened by path, because linking libunwind would replace backtrace().
 * Each captures the calling thread's stack and returns the number of frames. */
#ifndef SONDE_BENCH_PEERS_H
#define SONDE_BENCH_PEERS_H

#define PEER_FRAMES_MAX 1024

/* Open the installed ones. */
void bench_peers_open(void);
/* Bring the calling thread's buffer into memory. */
void bench_peers_touch(void);

int bench_glibc_backtrace(void);
/* libunwind; 0: not installed. */
int bench_unw_backtrace(void);
int bench_unw_step(void);
/* LLVM's libunwind, whose package would replace another one. It is unpacked instead, and the
 * environment names it (SONDE_BENCH_LLVM_LIBUNWIND); 0: not set. */
int bench_llvm_step(void);
/* A walk of frame pointers with bounds checks, from a function's own frame. It is right only in
 * code that keeps them. */
int bench_fp_loop(const void *start);

#endif
