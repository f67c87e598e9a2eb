// SPDX-License-Identifier: Apache-2.0
/* Stalls to inject into an event loop, one function a kind.
 *
 * A program calls inject_start() once, then inject_tick() from a timer of its loop each 20 ms: some
 * calls return at once, each twentieth stalls by the next function of the list that the command
 * line gives. What was done is the truth that a report is held against: a line of stdout each,
 *
 *     injected inject_burn 401 ms
 */
#ifndef SONDE_TEST_INJECT_H
#define SONDE_TEST_INJECT_H

#include <stdbool.h>

enum { INJECT_TICK_MS = 20, INJECT_EACH = 20 };

/* Usage of a program: PROGRAM MILLISECONDS KIND...; kinds: burn sleep read poll flock mutex cond
 * child, or `idle` (ticks for that time without a stall), `work` (the same, busy for 18 of each
 * 20 ms), `late` (sleeps that long before the loop's first turn, then idles a second). Starts two
 * named threads that wait. INJECT_AFTER=N in the environment: N times as many ticks come before the
 * first stall as between two of them, for whoever attaches to the program. */
void inject_start(int argc, char **argv);
/* False: all is done, the loop shall end. */
bool inject_tick(void);

#endif
