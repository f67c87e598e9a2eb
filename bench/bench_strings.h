// SPDX-License-Identifier: Apache-2.0
#ifndef SONDE_BENCH_STRINGS_H
#define SONDE_BENCH_STRINGS_H

/* Prints callstack.strings.*: the strings of a whole stack. */
void bench_strings(void);

#endif
