// SPDX-License-Identifier: Apache-2.0
/* Which thunk leads where. Thunks are never used again for another target. Context: any thread. */
#ifndef SONDE_HOOK_THUNK_H
#define SONDE_HOOK_THUNK_H

#include <stdint.h>

/* The thunk of a target, switched on; 0: none is left. A target keeps its thunk for good. */
uint64_t sonde__hook_thunk_of(uint64_t target, uint32_t function);

/* All that were given pass straight on. */
void sonde__hook_thunks_off(void);

#endif
