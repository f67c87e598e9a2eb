// SPDX-License-Identifier: Apache-2.0
/* Lists a spool folder. Context: any thread. */
#ifndef SONDE_SPOOL_LIST_H
#define SONDE_SPOOL_LIST_H

#include <sonde/status.h>

#include "report_model.h"
#include "spool_folder.h"

enum sonde__spool_state {
    SONDE__SPOOL_OVER,    /* the report is complete */
    SONDE__SPOOL_RUNNING, /* its watch is alive */
    SONDE__SPOOL_KILLED,  /* not finished yet */
    SONDE__SPOOL_DAMAGED, /* nothing could be read */
};

struct sonde__spool_entry {
    const char *name; /* of the file: RUN.sonde or counts.sonde */
    enum sonde__spool_state state;
    const struct sonde__report *report; /* null: unreadable */
    const struct sonde__report *live;   /* unfinished stalls; null: none */
    uint64_t size_bytes;                /* of all its files */
};

/* Call `each` for each run, oldest first, then for the counts. The entry is valid during the call;
 * `each` returns 0 to continue. Returns OK | MEMORY | OS. */
SONDE_NODISCARD enum sonde_status
sonde__spool_list(int32_t folder, int (*each)(void *ctx, const struct sonde__spool_entry *entry),
                  void *ctx);

#endif
