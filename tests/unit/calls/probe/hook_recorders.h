// SPDX-License-Identifier: Apache-2.0
/* Recorders of the tests, compiled with general registers only, as every recorder is. */
#ifndef TEST_HOOK_RECORDERS_H
#define TEST_HOOK_RECORDERS_H

#include "probe_hook.h"

extern unsigned hook_calls;          /* that a recorder was told of */
extern uint32_t hook_function;       /* the last one's */
extern struct sonde__regs hook_regs; /* the last one's */

/* Overwrites everything that a function may overwrite, except vector registers: the other general
 * registers, the flags, the stack below. */
sonde__probe_recorder hook_wreck;
/* Overwrites vector registers, which no recorder may do. */
sonde__probe_recorder hook_wreck_vectors;

#endif
