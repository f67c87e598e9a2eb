// SPDX-License-Identifier: Apache-2.0
#include <inttypes.h>

#include "report_load.h"

static bool is_part(uint64_t ns, uint64_t whole_ns, unsigned part)
{
    return ns != 0 && ns >= whole_ns / part;
}

bool sonde__report_is_congested(const struct sonde__report_stall *stall)
{
    const struct sonde__report_load *load = &stall->load;
    uint64_t wanted_ns = stall->cpu_ns + stall->runqueue_ns;
    bool machine =
        load->has_pressure && load->measured_ns != 0 &&
        is_part(load->cpu_pressure_ns, load->measured_ns, SONDE__REPORT_CONGESTED_MACHINE);
    return is_part(stall->runqueue_ns, stall->duration_ns, SONDE__REPORT_CONGESTED_OWN) ||
           (machine && is_part(wanted_ns, stall->duration_ns, SONDE__REPORT_CONGESTED_MACHINE));
}

uint32_t sonde__report_runnable(const struct sonde__report *report,
                                const struct sonde__report_stall *stall)
{
    int32_t pid = sonde__report_pid(report, stall->process);
    uint32_t count = stall->cpu_ns + stall->runqueue_ns > stall->duration_ns / 2;
    for (uint32_t i = 0; i < stall->thread_count; i++) {
        const struct sonde__report_thread *thread = &stall->threads[i];
        count += thread->state == 'R' && sonde__report_pid(report, thread->process) == pid;
    }
    return count;
}

static void put_pressure(struct sonde__report_out *out, const char *what, uint64_t ns,
                         uint64_t whole_ns)
{
    sonde__report_out_print(out, "%s%s", what,
                            sonde__report_share(ns < whole_ns ? ns : whole_ns, whole_ns).text);
}

void sonde__report_put_load(struct sonde__report_out *out, const struct sonde__report *report,
                            const struct sonde__report_stall *stall)
{
    const struct sonde__report_load *load = &stall->load;
    uint32_t runnable = sonde__report_runnable(report, stall);
    uint32_t cpus = sonde__report_header(report)->device.cpu_count;
    if (load->measured_ns != 0) {
        sonde__report_out_print(
            out, "  load      %" PRIu64 "%s%" PRIu64 " from disk", load->minor_faults,
            load->minor_faults == 1 ? " page fault in memory, " : " page faults in memory, ",
            load->major_faults);
        if (load->has_pressure) {
            put_pressure(out, "; tasks of the machine waited for processors ",
                         load->cpu_pressure_ns, load->measured_ns);
            put_pressure(out, ", for memory ", load->memory_pressure_ns, load->measured_ns);
            put_pressure(out, ", for disks ", load->io_pressure_ns, load->measured_ns);
            sonde__report_out_str(out, " of the time");
        }
        sonde__report_out_str(out, "\n");
    }
    if (sonde__report_is_congested(stall)) {
        sonde__report_out_str(out, "  congested processors were short");
        if (cpus != 0 && runnable > cpus) {
            sonde__report_out_print(out, ": %u threads of the program wanted one of %u", runnable,
                                    cpus);
        }
        sonde__report_out_str(out, "\n");
    }
}
