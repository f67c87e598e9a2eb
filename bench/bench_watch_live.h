// SPDX-License-Identifier: Apache-2.0
/* What an append to the live file of a spool folder costs. */
#ifndef BENCH_WATCH_LIVE_H
#define BENCH_WATCH_LIVE_H

void bench_watch_live(void);

#endif
