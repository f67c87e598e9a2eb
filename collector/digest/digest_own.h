// SPDX-License-Identifier: Apache-2.0
/* Has an event anything to do with the program's own code, or does its thread only wait for events?
 * By the rules and texts of fingerprints (report_fingerprint.h). Context: any thread. */
#ifndef SONDE_COLLECTOR_DIGEST_OWN_H
#define SONDE_COLLECTOR_DIGEST_OWN_H

#include "digest.h"
#include "report_model.h"

/* Set is_system, is_idle and image of a stall, whose `why` is set. frame: the program's own
 * function with most of the time; 0: none. Returns OK | MEMORY. */
SONDE_NODISCARD enum sonde_status digest_mark_stall(const struct sonde__report *report,
                                                    const struct sonde__report_stall *stall,
                                                    uint32_t frame, struct digest_event *event);
/* Set is_system of an error, whose `why` is set. */
void digest_mark_error(struct digest_event *event);
/* Stalls that are only counted are as the one of their cause before them. */
void digest_mark_count(const struct digest *digest, struct digest_event *event);

#endif
