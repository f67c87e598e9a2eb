// SPDX-License-Identifier: Apache-2.0
/* A program stepped by ptrace, one instruction at a time, with the shadow of its stack (x86-64). */
#ifndef TEST_ORACLE_TRACEE_H
#define TEST_ORACLE_TRACEE_H

#include <sys/types.h>

#include "compare.h"

enum { TRACEE_COPIES_MAX = 48 };

/* Step argv[0] and compare at every instruction, until it ends or `limit` instructions are done.
 * from_mark: it first runs freely up to its int3, and libunwind gives the frames outside of that
 * function. Else it starts at the process' first instruction, which is the loader's. */
void tracee_run(struct compare *compare, const char *const argv[], bool from_mark, uint64_t limit);

/* peers.c */

/* Make libunwind open what it keeps from its first use. */
void peers_warm_up(void);

/* libunwind's frames of a process that we hold by ptrace. */
void peers_libunwind(pid_t pid, struct frames *ret_frames);
/* A copy of the process, forked at this very instant and held; 0: not possible. */
pid_t peers_copy(pid_t pid);
/* Ask gdb about the copies of all places of a run, then end them. */
void peers_ask_gdb(struct compare *compare);

#endif
