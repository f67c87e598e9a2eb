// SPDX-License-Identifier: Apache-2.0
/* --follow: the command line that the probe puts in front of every program that a watched one
 * executes (preload/follow.c). The watch of a followed program passes it on.
 * Context: a process with one thread. */
#ifndef SONDE_WATCH_FOLLOW_H
#define SONDE_WATCH_FOLLOW_H

#include <stdbool.h>
#include <stddef.h>

#include "probe_page.h"
#include "watch_run.h"

/* False: the command line does not fit. supervisor: the pid of this watch's supervisor. */
bool sonde__watch_fill_follow(const struct sonde__watch_options *options, int32_t supervisor,
                              struct sonde__probe_follow *follow);
/* The same where a plugin records the programs: `sonde run --join`, which takes no supervisor of
 * its own. page_fd: of the memory that the plugin shares, in this supervisor. */
bool sonde__watch_fill_join(const struct sonde__watch_options *options, int32_t supervisor,
                            int32_t page_fd, struct sonde__probe_follow *follow);
/* "3 programs were started without being followed: ..."; false: all were followed. */
bool sonde__watch_describe_missed(const struct sonde__probe_follow *follow, char *ret_text,
                                  size_t capacity);
/* Must exit() wait until the report is complete? Not in a followed program, whose report is removed
 * if it has no stalls. */
bool sonde__watch_awaits_report(const struct sonde__watch_options *options);

/* Can running threads be sampled by a signal only? Then the probe sets its handler when the program
 * starts. */
bool sonde__watch_wants_signal(const struct sonde__watch_options *options);

#endif
