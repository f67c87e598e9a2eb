// SPDX-License-Identifier: Apache-2.0
/* One line at the end of a watch: what was watched, or why nothing was, so that silence is never
 * taken for "no stalls". */
#ifndef SONDE_WATCH_SUMMARY_H
#define SONDE_WATCH_SUMMARY_H

#include "watch_session.h"

/* Call it when the last stall is in the writer's queue. */
void sonde__watch_print_summary(struct sonde__watch_session *session);

/* Format a count: "5,123". ret_text: 32 bytes. */
void sonde__watch_count_text(uint64_t count, char *ret_text);

#endif
