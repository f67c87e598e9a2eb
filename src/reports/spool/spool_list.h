// SPDX-License-Identifier: Apache-2.0
/* What a spool folder holds. Context: any thread. */
#ifndef SONDE_SPOOL_LIST_H
#define SONDE_SPOOL_LIST_H

#include <sonde/status.h>

#include "report_model.h"
#include "spool_folder.h"

enum sonde__spool_state {
    SONDE__SPOOL_OVER,    /* the report is complete */
    SONDE__SPOOL_RUNNING, /* its watch lives */
    SONDE__SPOOL_KILLED,  /* to be finished */
    SONDE__SPOOL_DAMAGED, /* nothing of it can be read */
};

struct sonde__spool_entry {
    const char *name; /* of the file: RUN.sonde, counts.sonde */
    enum sonde__spool_state state;
    const struct sonde__report *report; /* null: it cannot be read */
    const struct sonde__report *live;   /* stalls that lasted; null: none */
    uint64_t size_bytes;                /* of all its files */
};

/* Each run, oldest first, then the counts. The entry is valid during the call; `each` returns 0 to
 * continue. Returns OK | MEMORY | OS. */
SONDE_NODISCARD enum sonde_status
sonde__spool_list(int32_t folder, int (*each)(void *ctx, const struct sonde__spool_entry *entry),
                  void *ctx);

#endif
