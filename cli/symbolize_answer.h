// SPDX-License-Identifier: Apache-2.0
/* What an address is: its module, and the function with the calls inlined there. */
#ifndef SONDE_SYMBOLIZE_ANSWER_H
#define SONDE_SYMBOLIZE_ANSWER_H

#include "host_maps.h"
#include "symbolize_modules.h"
#include "symbolize_scan.h"
#include "symbolize_tails.h"

enum { SYMBOLIZE_FRAMES_MAX = 256 };

struct symbolize_answer {
    struct symbolize_module *module; /* null: unknown */
    uint64_t vaddr;
    /* functions that left by tail calls between the previous frame and this one; null: none */
    const struct symbolize_tails *tails;
    const char *jit; /* name of code of no module, or null; then `vaddr` is its address */
    struct sonde__symindex_frame frames[SYMBOLIZE_FRAMES_MAX]; /* the innermost call first */
    size_t count;                                              /* 0: no name is known */
};

/* maps: of the process, for plain addresses; may be empty. returns: all places are return
 * addresses. */
void symbolize_ask(struct symbolize_modules *modules, const struct sonde__host_maps *maps,
                   bool returns, const struct symbolize_place *place,
                   struct symbolize_answer *ret_answer);

#endif
