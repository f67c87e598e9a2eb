// SPDX-License-Identifier: Apache-2.0
/* --follow: the command line that stands before every program which a watched one executes. The
 * probe puts it there (preload/follow.c); a followed program's own watch has it again.
 * Context: a process with one thread. */
#ifndef SONDE_WATCH_FOLLOW_H
#define SONDE_WATCH_FOLLOW_H

#include <stdbool.h>
#include <stddef.h>

#include "probe_page.h"
#include "watch_run.h"

/* False: it does not fit. `supervisor` is this watch's own. */
bool sonde__watch_fill_follow(const struct sonde__watch_options *options, int32_t supervisor,
                              struct sonde__probe_follow *follow);
/* "3 programs were started without being followed: ..."; false: all were followed. */
bool sonde__watch_describe_missed(const struct sonde__probe_follow *follow, char *ret_text,
                                  size_t capacity);
/* Does exit() wait for the report's end? That of a followed program without stalls is removed. */
bool sonde__watch_awaits_report(const struct sonde__watch_options *options);

#endif
