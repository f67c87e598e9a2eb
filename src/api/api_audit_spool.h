// SPDX-License-Identifier: Apache-2.0
/* An app's own audit in a spool folder, with the files and the code of `sonde run --audit --spool`:
 * the live file has each count as of the last look, whatever is killed, and the next start that
 * uses the folder makes a report of it. Context: one thread at a time. */
#ifndef SONDE_API_AUDIT_SPOOL_H
#define SONDE_API_AUDIT_SPOOL_H

#include <stdbool.h>
#include <stdint.h>

#include <sonde/status.h>

#include "report_line.h"
#include "report_model.h"

struct sonde__audit;
struct sonde__api_audit_spool;

/* Make the files of this process' run. audit, memory: what sonde__audit_keep() reads. like: has the
 * header and the process; becomes the spool's. Returns OK | DENIED | LIMIT | MEMORY | OS | as
 * sonde__host_folder_open(). Ownership: sonde__api_audit_spool_close(). */
SONDE_NODISCARD enum sonde_status
sonde__api_audit_spool_open(const char *path, struct sonde__audit *audit,
                            struct sonde__report *like, struct sonde__api_audit_spool **ret_spool,
                            struct sonde_error *ret_error);
/* Finish the reports of killed runs, on a thread of its own. Call it when the audit has begun. */
void sonde__api_audit_spool_tidy(struct sonde__api_audit_spool *spool);
/* Write the live file if it is due and something is new. */
void sonde__api_audit_spool_look(struct sonde__api_audit_spool *spool, const void *memory);
/* Write the report. Returns 0 or an errno; then the live file stays, for the next start. lines:
 * what could not be kept, and what killed runs had. */
int sonde__api_audit_spool_finish(struct sonde__api_audit_spool *spool,
                                  const struct sonde__report *report,
                                  struct sonde__report_lines lines);
/* Without a report. keep_live: the live file stays, for the next start. spool: may be null */
void sonde__api_audit_spool_close(struct sonde__api_audit_spool *spool, bool keep_live);

#endif
