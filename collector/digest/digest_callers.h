// SPDX-License-Identifier: Apache-2.0
/* Who makes calls of functions that need a reason, as sonde privacy counts them
 * (findings_manifest.h). For this folder only. */
#ifndef SONDE_COLLECTOR_DIGEST_CALLERS_H
#define SONDE_COLLECTOR_DIGEST_CALLERS_H

#include "digest.h"
#include "report_model.h"

/* The framework whose call it is; "": none, or the function needs no reason. */
void digest_caller_code(const struct sonde__report *report, const struct sonde__report_call *call,
                        char ret_code[DIGEST_CODE_TEXT]);
/* Count the calls for who makes them. Those of another framework than the one that `into` has are
 * not counted: whose they are is not known then. */
void digest_count_caller(const struct sonde__report *report, const struct sonde__report_call *call,
                         struct digest_call *into);
/* Keep that a function was recorded, once, if it needs a reason; missed: why calls may be missing,
 * or null. Return OK | MEMORY. */
SONDE_NODISCARD enum sonde_status digest_note_api(struct digest *digest, const char *function,
                                                  const char *missed);
/* The same of all that the report has. */
SONDE_NODISCARD enum sonde_status digest_read_apis(const struct sonde__report *report,
                                                   struct digest *digest);

#endif
