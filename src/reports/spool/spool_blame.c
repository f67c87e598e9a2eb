// SPDX-License-Identifier: Apache-2.0
#include "spool_blame.h"

#include <string.h>
#include <unistd.h>

#include "base_text.h"
#include "host_device.h"
#include "host_life.h"
#include "host_process.h"
#include "host_run.h"

static bool differ(uint64_t before, uint64_t now)
{
    return before != 0 && now != 0 && before != now;
}

/* Was the system updated since? */
static bool is_other_system(const struct sonde__report_header *before)
{
    struct sonde__host_device device;
    char kernel[128];
    sonde__host_device_read(&device);
    sonde__host_system_name(kernel, sizeof kernel);
    return (before->device.os[0] != '\0' && device.os[0] != '\0' &&
            strcmp(before->device.os, device.os) != 0) ||
           (before->os[0] != '\0' && strcmp(before->os, kernel) != 0);
}

/* Is this process the same program, of another build? Its path changes when an app is updated. */
static bool is_other_build(const struct sonde__report *live,
                           const struct sonde__report_process *process)
{
    char path[SONDE__HOST_PATH_MAX];
    const char *before = sonde__report_text(live, process->executable);
    return differ(process->program, sonde__host_program()) &&
           sonde__host_executable((int32_t)getpid(), path, sizeof path) &&
           strcmp(sonde__base_file_name(before), sonde__base_file_name(path)) == 0;
}

static const char *doubt_text(const struct sonde__report_stall *stall)
{
    return stall->app_state == SONDE__REPORT_APP_BACKGROUND
               ? "it was in the background, where the system ends programs"
           : stall->app_state == SONDE__REPORT_APP_EXTENSION
               ? "it is an app extension, which the system ends at any time"
           : (stall->doubts & SONDE__REPORT_DOUBT_DEBUGGER) != 0 ? "a debugger was attached"
           : (stall->doubts & SONDE__REPORT_DOUBT_MEMORY) != 0
               ? "its memory was short, for which the system ends programs"
           : (stall->doubts & SONDE__REPORT_DOUBT_ENDS) != 0 ? "it was asked to end"
                                                             : NULL;
}

const char *sonde__spool_other_cause(const struct sonde__report *live,
                                     const struct sonde__report_stall *stall)
{
    const struct sonde__report_process *process = sonde__report_process(live, 1);
    if (differ(process->boot, sonde__host_boot())) {
        return is_other_system(sonde__report_header(live)) ? "the system was updated since"
                                                           : "the machine was restarted since";
    }
    return is_other_build(live, process) ? "the program was updated since" : doubt_text(stall);
}
