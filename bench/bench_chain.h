// SPDX-License-Identifier: Apache-2.0
/* A stack of 256 distinct functions with frames of many sizes; `leaf` runs at its inner end. */
#ifndef SONDE_BENCH_CHAIN_H
#define SONDE_BENCH_CHAIN_H

/* depth: functions on the stack, >= 1. Compiled without and with frame pointers. */
int bench_chain_omit(int depth, void (*leaf)(void *), void *ctx);
int bench_chain_keep(int depth, void (*leaf)(void *), void *ctx);

#endif
