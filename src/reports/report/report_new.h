// SPDX-License-Identifier: Apache-2.0
/* A finding on one line, when it is new: for people, and as JSON. Pure functions of the model.
 * Context: any thread. */
#ifndef SONDE_REPORT_NEW_H
#define SONDE_REPORT_NEW_H

#include "report_model.h"
#include "report_out.h"

/* "note", "warning", "error"; "unknown" for other numbers. */
const char *sonde__report_severity_text(uint32_t severity);

/* "error  files: open  by save_all < main  phase consent, SDK lib, thread 4711, process 4700".
 * phase: "" for none. pid: of another process than the first; 0: of that. Ends with a newline. */
void sonde__report_text_new(const struct sonde__report *report,
                            const struct sonde__report_call *call, const char *phase, int32_t pid,
                            struct sonde__report_sink sink);
/* "save_all < main": the program's own frames of a stack, innermost first; else "no frame of the
 * program". No newline. */
void sonde__report_text_own(const struct sonde__report *report, uint32_t stack,
                            struct sonde__report_sink sink);
/* One JSON object on a line. */
void sonde__report_json_new(const struct sonde__report *report,
                            const struct sonde__report_call *call, const char *phase, int32_t pid,
                            struct sonde__report_sink sink);

#endif
