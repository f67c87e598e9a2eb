// SPDX-License-Identifier: Apache-2.0
/* How long `sonde blocks` takes for a Mach-O of 30 MB. */
#ifndef SONDE_BENCH_BLOCKS_FILE_H
#define SONDE_BENCH_BLOCKS_FILE_H

/* Prints blocks.file30mb.s, or why it could not be measured. */
void bench_blocks_file(void);

#endif
