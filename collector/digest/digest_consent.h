// SPDX-License-Identifier: Apache-2.0
/* What the user had agreed to in each phase of a report. A phase without an answer goes on with the
 * last one that was given before it. If none was, but one is later, it is before consent: nobody
 * can have agreed yet. Without any answer in the report it is not known. A phase that is named
 * "consent" and says nothing else is one in which consent is given: `sonde mark` has only names.
 * For this folder only. Context: any thread. */
#ifndef SONDE_COLLECTOR_DIGEST_CONSENT_H
#define SONDE_COLLECTOR_DIGEST_CONSENT_H

#include <sonde/status.h>

#include "report_model.h"

/* enum sonde__report_consent of each phase by its id, and of no phase by 0. Returns OK | MEMORY.
 * Ownership: sonde__mem_free(). */
SONDE_NODISCARD enum sonde_status digest_consents(const struct sonde__report *report,
                                                  uint8_t **ret_consents);

#endif
