// SPDX-License-Identifier: Apache-2.0
/* sonde watch of several processes, and of their children: one watch each, in a process of its own.
 * This process passes signals on to them and waits. Context: a process with one thread. */
#ifndef SONDE_WATCH_EACH_H
#define SONDE_WATCH_EACH_H

#include <stdbool.h>
#include <stdint.h>

/* At a time; of these and all that follow. */
#define SONDE__CLI_WATCHES_MAX 64u

/* Watches one process, in a child; returns its exit code. */
typedef int sonde__cli_watch_one(void *ctx, int32_t pid);

/* pids: at most WATCHES_MAX. follow: also their children, those that come later and theirs. Ends
 * when all watches have ended; returns the worst exit code of those that were asked for: a child
 * that ends before it can be watched is no error. *ret_missed: children for which there was no
 * room. */
int sonde__cli_watch_each(const int32_t *pids, uint32_t count, bool follow,
                          sonde__cli_watch_one *one, void *ctx, uint32_t *ret_missed);

#endif
