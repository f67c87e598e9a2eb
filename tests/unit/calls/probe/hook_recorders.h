// SPDX-License-Identifier: Apache-2.0
/* Recorders of the tests, compiled with general registers only, as every recorder is. */
#ifndef TEST_HOOK_RECORDERS_H
#define TEST_HOOK_RECORDERS_H

#include "probe_hook.h"

extern unsigned hook_calls;          /* that a recorder was told of */
extern uint32_t hook_function;       /* the last one's */
extern struct sonde__regs hook_regs; /* the last one's */

/* Overwrites all that the calling convention lets a function overwrite, but vector registers: the
 * other general registers, the flags, the stack below. */
sonde__probe_recorder hook_wreck;
/* What no recorder may do: overwrites vector registers. */
sonde__probe_recorder hook_wreck_vectors;

#endif
