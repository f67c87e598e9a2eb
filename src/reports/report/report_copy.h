// SPDX-License-Identifier: Apache-2.0
/* Copies stalls of one report into another one, with all that they refer to. Context: any thread.
 */
#ifndef SONDE_REPORT_COPY_H
#define SONDE_REPORT_COPY_H

#include "report_model.h"

struct sonde__report_copy;

/* From `from` to `to`, which must both outlive the copy. Returns OK | MEMORY. Ownership:
 * sonde__report_copy_destroy(). */
SONDE_NODISCARD enum sonde_status sonde__report_copy_create(const struct sonde__report *from,
                                                            struct sonde__report *to,
                                                            struct sonde__report_copy **ret_copy);
void sonde__report_copy_destroy(struct sonde__report_copy *copy);

/* The value of stall `index` in the new report, to be changed and added there. Its arrays are valid
 * until the next call. False: memory ran out. */
bool sonde__report_copy_stall(struct sonde__report_copy *copy, uint32_t index,
                              struct sonde__report_stall *ret_stall);

#endif
