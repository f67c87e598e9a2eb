// SPDX-License-Identifier: Apache-2.0
/* A call recorded with its stack: capture, depot and counter. */
#ifndef SONDE_BENCH_RECORD_H
#define SONDE_BENCH_RECORD_H

void bench_record(void);

#endif
