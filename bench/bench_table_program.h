// SPDX-License-Identifier: Apache-2.0
#ifndef SONDE_BENCH_TABLE_PROGRAM_H
#define SONDE_BENCH_TABLE_PROGRAM_H

/* Prints capture.table.PROGRAM.*, for the program at `path` and the libraries that it starts
 * with. */
void bench_table_program(const char *path);

#endif
