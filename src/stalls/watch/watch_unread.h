// SPDX-License-Identifier: Apache-2.0
/* What the samples of a stall do not show, and why: said once per watch. Context: the thread that
 * samples. */
#ifndef SONDE_WATCH_UNREAD_H
#define SONDE_WATCH_UNREAD_H

#include "watch_session.h"

/* Say why a stall has no stack or lacks samples, each reason once. */
void sonde__watch_print_unread(struct sonde__watch_session *session,
                               const struct sonde__sampler_stall *stall);
/* Before a stall is reported: say that the functions of the program's interpreter are missing. */
void sonde__watch_print_scripts(struct sonde__watch_session *session,
                                const struct sonde__sampler_stall *stall);

#endif
