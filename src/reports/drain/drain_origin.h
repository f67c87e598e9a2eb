// SPDX-License-Identifier: Apache-2.0
/* The part of a report's header that describes the machine, the time and the process. Context: any
 * thread. */
#ifndef SONDE_DRAIN_ORIGIN_H
#define SONDE_DRAIN_ORIGIN_H

#include "host_device.h"
#include "report_model.h"

/* Storage for the texts of a header. */
struct sonde__drain_origin {
    char report_id[SONDE__HOST_ID_TEXT];
    char os[160];
    struct sonde__host_device device;
};

/* Fill report_id, time, os and device of the header; their texts are in `ret_origin`. */
void sonde__drain_origin(struct sonde__drain_origin *ret_origin,
                         struct sonde__report_header *ret_header);
/* Add the process that the report describes. Thread records of a drain belong to the report's first
 * process. parent_pid 0: unknown. */
void sonde__drain_process(struct sonde__report *report, int32_t pid, int32_t parent_pid,
                          const char *executable);

#endif
