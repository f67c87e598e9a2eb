// SPDX-License-Identifier: Apache-2.0
#include "drain_origin.h"

#include "host_clock.h"
#include "host_process.h"
#include "host_run.h"

void sonde__drain_origin(struct sonde__drain_origin *ret_origin,
                         struct sonde__report_header *ret_header)
{
    const struct sonde__host_device *device = &ret_origin->device;
    sonde__host_random_id(ret_origin->report_id);
    sonde__host_system_name(ret_origin->os, sizeof ret_origin->os);
    sonde__host_device_read(&ret_origin->device);
    ret_header->report_id = ret_origin->report_id;
    ret_header->time_unix_ns = sonde__host_unix_ns();
    ret_header->os = ret_origin->os;
    ret_header->device = (struct sonde__report_device){.model = device->model,
                                                       .os = device->os,
                                                       .kernel = device->kernel,
                                                       .cpu = device->cpu,
                                                       .cpu_count = device->cpu_count,
                                                       .memory_bytes = device->memory_bytes};
}

void sonde__drain_process(struct sonde__report *report, int32_t pid, int32_t parent_pid,
                          const char *executable)
{
    const struct sonde__report_process process = {
        .pid = pid,
        .parent_pid = parent_pid,
        .executable = sonde__report_string(report, executable),
        .start_ticks = sonde__host_process_start(pid),
    };
    (void)sonde__report_add_process(report, &process);
}
