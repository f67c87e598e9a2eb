// SPDX-License-Identifier: Apache-2.0
/* Page faults of a thread and the load of the machine over one turn.
 *
 * They are read when sampling of the turn begins, each time the turn has doubled its length, and at
 * its end if the watch sees the end in time. So the interval between the first and the last reading
 * lies in the turn even if the watch is late, and a turn of an hour costs a dozen readings of some
 * 20 us of CPU time. Context: any thread, one at a time. */
#ifndef SONDE_SAMPLER_LOAD_H
#define SONDE_SAMPLER_LOAD_H

#include "host_wait.h"
#include "report_model.h"

struct sonde__sampler_load {
    uint64_t begin_ns, latest_ns; /* of the readings; 0: none */
    struct sonde__host_load begin, latest;
    struct sonde__host_load_files *files; /* as given at the begin */
};

/* The first reading of a turn. files: kept open by the caller while the turn lasts; null: none. */
void sonde__sampler_load_begin(struct sonde__sampler_load *load,
                               struct sonde__host_load_files *files, int32_t pid, uint64_t tid,
                               uint64_t now_ns);
/* The turn goes on: read again if it is time to. */
void sonde__sampler_load_look(struct sonde__sampler_load *load, int32_t pid, uint64_t tid,
                              uint64_t now_ns);
/* The turn lasted from since_ns to ended_ns. Read again if the time since its end is less than an
 * eighth of it. *ret_load is all zero if nothing is known. */
void sonde__sampler_load_end(struct sonde__sampler_load *load, int32_t pid, uint64_t tid,
                             uint64_t since_ns, uint64_t ended_ns, uint64_t now_ns,
                             struct sonde__report_load *ret_load);

#endif
