// SPDX-License-Identifier: Apache-2.0
/* Functions without call frame information and without frame pointers. */
#ifndef SONDE_TEST_BARE_CALLS_H
#define SONDE_TEST_BARE_CALLS_H

enum { BARE_CALLS = 5 };

/* Each calls `next` with these, from a frame of its own size; one by pointer, one that saves the
 * frame pointer's register and uses it for data. */
typedef int bare_next(int depth);
typedef int bare_call(bare_next *next, int depth);
extern bare_call *const bare_calls[BARE_CALLS];

/* Where the functions on the stack return to, innermost last. */
enum { BARE_SHADOW_MAX = 256 };
extern __thread const void *bare_shadow[BARE_SHADOW_MAX];
extern __thread int bare_shadow_count;

#define BARE_ENTER() (bare_shadow[bare_shadow_count++] = __builtin_return_address(0))
#define BARE_LEAVE() ((void)bare_shadow_count--)

#endif
