// SPDX-License-Identifier: Apache-2.0
/* What an address is: its module, and the function with the calls inlined there. */
#ifndef SONDE_SYMBOLIZE_ANSWER_H
#define SONDE_SYMBOLIZE_ANSWER_H

#include "host_maps.h"
#include "symbol_answer.h"
#include "symbolize_modules.h"
#include "symbolize_scan.h"
#include "symbolize_tails.h"

struct symbolize_answer {
    struct symbolize_module *module; /* null: unknown */
    uint64_t vaddr;
    /* functions that left by tail calls between the previous frame and this one; null: none */
    const struct symbolize_tails *tails;
    const char *jit; /* name of code of no module, or null; then `vaddr` is its address */
    struct sonde__call calls[SONDE__CALLS_MAX]; /* innermost first */
    size_t count;                               /* 0: no name is known */
};

/* Set the calls at a vaddr of answer->module. */
void symbolize_find_calls(struct symbolize_answer *answer, uint64_t vaddr);
/* maps: of the process, for plain addresses; may be empty. returns: all places are return
 * addresses. */
void symbolize_ask(struct symbolize_modules *modules, const struct sonde__host_maps *maps,
                   bool returns, const struct symbolize_place *place,
                   struct symbolize_answer *ret_answer);

#endif
