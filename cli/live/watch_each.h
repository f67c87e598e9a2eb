// SPDX-License-Identifier: Apache-2.0
/* Watches several processes and their children, each from a process of its own. This process
 * forwards signals and waits. Context: a process with one thread. */
#ifndef SONDE_WATCH_EACH_H
#define SONDE_WATCH_EACH_H

#include <stdbool.h>
#include <stdint.h>

/* Simultaneous watches. */
#define SONDE__CLI_WATCHES_MAX 64u

/* Watch one process; runs in a child. Returns its exit code. */
typedef int sonde__cli_watch_one(void *ctx, int32_t pid);

/* pids: at most SONDE__CLI_WATCHES_MAX. follow: also watch their children, present and future, and
 * so on. Returns when all watches have ended, with the worst exit code of the requested ones; a
 * child that ends before its watch starts is no error. *ret_missed: number of children without
 * room. */
int sonde__cli_watch_each(const int32_t *pids, uint32_t count, bool follow,
                          sonde__cli_watch_one *one, void *ctx, uint32_t *ret_missed);

#endif
