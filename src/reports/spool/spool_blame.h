// SPDX-License-Identifier: Apache-2.0
/* Did a stall that had not ended end its program? Nobody saw the end, so a stall is blamed only if
 * nothing else is known that ends programs: a restart of the machine, an update of the system or of
 * the program, the background (where iOS ends apps as it likes), short memory, a debugger, a
 * request to end. Context: any thread. */
#ifndef SONDE_SPOOL_BLAME_H
#define SONDE_SPOOL_BLAME_H

#include "report_model.h"

/* What else may have ended the program of this live file, as the end of a sentence. Null: nothing
 * is known. */
const char *sonde__spool_other_cause(const struct sonde__report *live,
                                     const struct sonde__report_stall *stall);

#endif
