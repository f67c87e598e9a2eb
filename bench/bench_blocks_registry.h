// SPDX-License-Identifier: Apache-2.0
/* What `sonde run --blocks` adds to the calls that make and release blocks. */
#ifndef SONDE_BENCH_BLOCKS_REGISTRY_H
#define SONDE_BENCH_BLOCKS_REGISTRY_H

/* Prints blocks.registry.*, or why it could not be measured. */
void bench_blocks_registry(void);
/* The measured process: `bench_blocks registry THREADS`. */
int bench_blocks_registry_run(int threads);

#endif
