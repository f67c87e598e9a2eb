// SPDX-License-Identifier: Apache-2.0
/* What a condition costs that does not hold: what it adds to a call through a linkage stub. */
#ifndef SONDE_BENCH_AUDIT_WHEN_H
#define SONDE_BENCH_AUDIT_WHEN_H

void bench_audit_when(void);

#endif
