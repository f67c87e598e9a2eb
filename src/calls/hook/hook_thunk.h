// SPDX-License-Identifier: Apache-2.0
/* The target of each thunk. A thunk is never reused for another target. Context: any thread. */
#ifndef SONDE_HOOK_THUNK_H
#define SONDE_HOOK_THUNK_H

#include <stdbool.h>
#include <stdint.h>

/* The thunk of a target, switched on. A target keeps its thunk forever. False: none is left. */
bool sonde__hook_thunk_of(uint64_t target, uint32_t function, uint32_t *ret_index);

/* The resolver of the function behind a thunk, where there is one. One thread at a time. */
void sonde__hook_keep_resolver(uint32_t index, uint64_t resolver);
uint64_t sonde__hook_kept_resolver(uint32_t index);

/* Switch recording on or off for a function; SONDE__HOOK_ALL: for every function. */
#define SONDE__HOOK_ALL UINT32_MAX
void sonde__hook_switch(uint32_t function, bool is_on);

#endif
