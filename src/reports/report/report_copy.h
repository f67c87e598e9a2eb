// SPDX-License-Identifier: Apache-2.0
/* Copies stalls, recorded calls and threads from one report to another, with all that they refer
 * to. Context: any thread. */
#ifndef SONDE_REPORT_COPY_H
#define SONDE_REPORT_COPY_H

#include "report_model.h"

struct sonde__report_copy;

/* Both reports must outlive the copy. Returns OK | MEMORY. Ownership:
 * sonde__report_copy_destroy(). */
SONDE_NODISCARD enum sonde_status sonde__report_copy_create(const struct sonde__report *from,
                                                            struct sonde__report *to,
                                                            struct sonde__report_copy **ret_copy);
void sonde__report_copy_destroy(struct sonde__report_copy *copy);

/* Stall `index` with the ids of the new report; the caller may change it and adds it there. Its
 * arrays are valid until the next call. False: no memory. */
bool sonde__report_copy_stall(struct sonde__report_copy *copy, uint32_t index,
                              struct sonde__report_stall *ret_stall);

/* Call `index`, likewise. Its rule and process have their old ids. */
bool sonde__report_copy_call(struct sonde__report_copy *copy, uint32_t index,
                             struct sonde__report_call *ret_call);

/* Thread `index`, likewise, with its process. It has no arrays. */
void sonde__report_copy_thread(struct sonde__report_copy *copy, uint32_t index,
                               struct sonde__report_thread *ret_thread);

#endif
