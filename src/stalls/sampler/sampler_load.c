// SPDX-License-Identifier: Apache-2.0
#include "sampler_load.h"

#include <string.h>

#include "base_math.h"

/* A reading sooner than this after the first one shows little. */
#define FIRST_NS 50000000u
/* The last reading of a turn may be late by this part of the turn. */
#define LATE_PART 8u

void sonde__sampler_load_begin(struct sonde__sampler_load *load,
                               struct sonde__host_load_files *files, int32_t pid, uint64_t tid,
                               uint64_t now_ns)
{
    *load = (struct sonde__sampler_load){.files = files};
    if (sonde__host_load_read(pid, tid, files, &load->begin)) {
        load->begin_ns = load->latest_ns = now_ns;
        load->latest = load->begin;
    }
}

static void read_again(struct sonde__sampler_load *load, int32_t pid, uint64_t tid, uint64_t now_ns)
{
    struct sonde__host_load next;
    if (sonde__host_load_read(pid, tid, load->files, &next)) {
        load->latest = next;
        load->latest_ns = now_ns;
    }
}

void sonde__sampler_load_look(struct sonde__sampler_load *load, int32_t pid, uint64_t tid,
                              uint64_t now_ns)
{
    uint64_t due_ns = load->latest_ns + (load->latest_ns - load->begin_ns) + FIRST_NS;
    if (load->begin_ns != 0 && now_ns >= due_ns) {
        read_again(load, pid, tid, now_ns);
    }
}

void sonde__sampler_load_end(struct sonde__sampler_load *load, int32_t pid, uint64_t tid,
                             uint64_t since_ns, uint64_t ended_ns, uint64_t now_ns,
                             struct sonde__report_load *ret_load)
{
    const struct sonde__host_load *a = &load->begin, *b = &load->latest;
    if (load->begin_ns != 0 &&
        sonde__base_minus(now_ns, ended_ns) <= sonde__base_minus(ended_ns, since_ns) / LATE_PART) {
        read_again(load, pid, tid, now_ns);
    }
    memset(ret_load, 0, sizeof *ret_load);
    if (load->latest_ns <= load->begin_ns || load->begin_ns >= ended_ns) {
        return;
    }
    *ret_load = (struct sonde__report_load){
        .measured_ns = load->latest_ns - load->begin_ns,
        .minor_faults = sonde__base_minus(b->minor_faults, a->minor_faults),
        .major_faults = sonde__base_minus(b->major_faults, a->major_faults),
        .has_pressure = a->has_pressure && b->has_pressure,
    };
    if (ret_load->has_pressure) {
        ret_load->cpu_pressure_ns = sonde__base_minus(b->cpu_pressure_ns, a->cpu_pressure_ns);
        ret_load->memory_pressure_ns =
            sonde__base_minus(b->memory_pressure_ns, a->memory_pressure_ns);
        ret_load->io_pressure_ns = sonde__base_minus(b->io_pressure_ns, a->io_pressure_ns);
    }
}
