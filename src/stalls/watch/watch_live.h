// SPDX-License-Identifier: Apache-2.0
/* Current stalls in the live file of the spool (spool_stream.h). Each sample is written when it is
 * taken, so it survives the death of the program and of the watch. Names are not looked up here.
 *
 * A stall is written in parts (Record.growing) from the threshold on, with its earlier samples. The
 * file is emptied when all stalls have ended and the writer's thread has put them into the report
 * of the run. Its size is bounded: of a stall that does not fit, only the duration is updated.
 * Context: the thread that samples. */
#ifndef SONDE_WATCH_LIVE_H
#define SONDE_WATCH_LIVE_H

#include "watch_session.h"

struct sonde__spool_session; /* spool_session.h */

/* An empty report with the header of another one, and its process. Null: out of memory. */
struct sonde__report *sonde__watch_live_report(const struct sonde__report *like);

/* like: a report with the header of the run's report; the texts are copied. Null: out of memory. */
struct sonde__watch_live *sonde__watch_live_create(struct sonde__spool_session *spool,
                                                   const struct sonde__report *like);
void sonde__watch_live_destroy(struct sonde__watch_live *live);

/* Events of a stall. These do nothing without a live file.
 *
 *   _begin      it has begun
 *   _go_on      it has another sample, or its last one continues
 *   _doubt      nothing new of it; but something else may end the program from now on
 *   _end        it has ended, and goes to the writer
 *   _take_back  it was no stall */
void sonde__watch_live_begin(struct sonde__watch_session *session, struct sonde__watch_loop *loop);
void sonde__watch_live_go_on(struct sonde__watch_session *session, struct sonde__watch_loop *loop);
void sonde__watch_live_doubt(struct sonde__watch_session *session, struct sonde__watch_loop *loop);
void sonde__watch_live_end(struct sonde__watch_session *session, struct sonde__watch_loop *loop,
                           uint64_t duration_ns, bool open);
void sonde__watch_live_take_back(struct sonde__watch_session *session,
                                 struct sonde__watch_loop *loop);
/* Empty the file if nothing in it is needed any more. is_written: the writer is idle. */
void sonde__watch_live_settle(struct sonde__watch_session *session, bool is_written);

#endif
