// SPDX-License-Identifier: Apache-2.0
/* The cause of each event of a report, as the store has it: by which events are of one group.
 * Context: any thread. */
#ifndef SONDE_COLLECTOR_CAUSE_H
#define SONDE_COLLECTOR_CAUSE_H

#include "digest.h"
#include "report_call_key.h"
#include "report_model.h"

/* What went wrong in this thread, and whether the program ended by it. Null: nothing did. */
const char *cause_error(const struct sonde__report *report,
                        const struct sonde__report_thread *thread, bool *ret_is_fatal);

/* Memory for cause_of_call(); large. */
struct cause_room {
    struct sonde__report_path path;
    struct sonde__report_call_key key;
};

/* Write the cause; "": it is not known. Return OK | MEMORY. The thread is one in which something
 * went wrong. */
SONDE_NODISCARD enum sonde_status cause_of_stall(const struct sonde__report *report,
                                                 const struct sonde__report_stall *stall,
                                                 char ret_cause[DIGEST_GROUP_TEXT]);
SONDE_NODISCARD enum sonde_status cause_of_error(const struct sonde__report *report,
                                                 const struct sonde__report_thread *thread,
                                                 char ret_cause[DIGEST_GROUP_TEXT]);
void cause_of_call(const struct sonde__report *report, const struct sonde__report_call *call,
                   struct cause_room *room, char ret_cause[DIGEST_GROUP_TEXT]);

#endif
