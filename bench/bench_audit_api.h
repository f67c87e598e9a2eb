// SPDX-License-Identifier: Apache-2.0
/* A library function that does next to nothing. */
#ifndef SONDE_BENCH_AUDIT_API_H
#define SONDE_BENCH_AUDIT_API_H

__attribute__((visibility("default"))) int bench_audit_api(int value);

#endif
