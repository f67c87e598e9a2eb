// SPDX-License-Identifier: Apache-2.0
#ifndef SONDE_BENCH_RECORD_PROGRAMS_H
#define SONDE_BENCH_RECORD_PROGRAMS_H

/* Prints audit.perl.*, audit.vs_strace_k and audit[.PROGRAM].{memory,report}.bytes_per_stack. */
void bench_record_programs(void);

#endif
