// SPDX-License-Identifier: Apache-2.0
/* What `sonde run` costs while a program stalls for most of its time. */
#ifndef BENCH_WATCH_SAMPLER_H
#define BENCH_WATCH_SAMPLER_H

/* Be such a program, until killed. kind: "naps" or "burning". */
void bench_watch_stall(const char *kind);
/* self: path of this program, which is started again with "stall" and a kind. */
void bench_watch_sampler(const char *self);

#endif
