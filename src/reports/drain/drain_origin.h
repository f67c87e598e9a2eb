// SPDX-License-Identifier: Apache-2.0
/* What every report of this machine says of itself: its id, when and where it was made, and which
 * process it is about. Context: any thread. */
#ifndef SONDE_DRAIN_ORIGIN_H
#define SONDE_DRAIN_ORIGIN_H

#include "host_device.h"
#include "report_model.h"

/* Keeps the texts of a header. */
struct sonde__drain_origin {
    char report_id[SONDE__HOST_ID_TEXT];
    char os[160];
    struct sonde__host_device device;
};

/* Fill report_id, time, os and device of the header, whose texts are then in `ret_origin`. */
void sonde__drain_origin(struct sonde__drain_origin *ret_origin,
                         struct sonde__report_header *ret_header);
/* Add the process that the report is about. Threads that a drain makes records of, belong to the
 * first process of its report. parent_pid 0: not known. */
void sonde__drain_process(struct sonde__report *report, int32_t pid, int32_t parent_pid,
                          const char *executable);

#endif
