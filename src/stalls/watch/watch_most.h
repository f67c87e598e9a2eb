// SPDX-License-Identifier: Apache-2.0
/* How long a stall may have lasted that was not seen whole. Context: the thread that samples. */
#ifndef SONDE_WATCH_MOST_H
#define SONDE_WATCH_MOST_H

#include "watch_session.h"

/* Count a turn that may have been a stall of up to most_ns, and is not reported. */
void sonde__watch_count_unsure(struct sonde__watch_session *session, uint64_t most_ns);
/* Say how long a stall may have lasted if it is not sure that it lasted only so long. */
void sonde__watch_print_most(struct sonde__watch_session *session, uint64_t tid, uint64_t lasted_ns,
                             uint64_t most_ns);
/* Tell of the stalls that last while the program executes another one, and count them: they are not
 * reported. */
void sonde__watch_tell_of_lost(struct sonde__watch_session *session);

#endif
