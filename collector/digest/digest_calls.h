// SPDX-License-Identifier: Apache-2.0
/* Events of recorded calls. For this folder only. */
#ifndef SONDE_COLLECTOR_DIGEST_CALLS_H
#define SONDE_COLLECTOR_DIGEST_CALLS_H

#include "digest.h"
#include "report_model.h"

/* Add the calls; those of one rule and place are one event. And what was looked for. Returns OK |
 * MEMORY: then digest_done() frees what is there. */
SONDE_NODISCARD enum sonde_status digest_read_calls(const struct sonde__report *report,
                                                    struct digest *digest);

#endif
