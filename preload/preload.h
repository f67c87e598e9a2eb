// SPDX-License-Identifier: Apache-2.0
/* The probe in an unmodified program: state shared by its files.
 *
 * Invariant: creates no thread, keeps no descriptor, writes no output, changes no errno and no
 * signal; leaves the environment as it would be without it. A fork child has no page (the kernel
 * wipes the one word that leads to it), so it can never publish turns as its parent. A child of
 * vfork shares everything with its suspended parent, which is harmless: it ends its waits or execs.
 * Context of everything here but the constructor: handler. */
#ifndef SONDE_PRELOAD_H
#define SONDE_PRELOAD_H

#include <stdbool.h>
#include <stdint.h>

#include "probe_turn.h"

/* The variable that carries the number of the page's descriptor from `sonde run`. */
#define SONDE_PRELOAD_VARIABLE "SONDE_RUN_PAGE"

/* In memory that a fork child finds zeroed (MADV_WIPEONFORK). */
struct preload_guard {
    struct sonde__probe_page *page;
};
extern struct preload_guard *preload_guard;

/* The page, or null: not started by `sonde run`, or in a fork child. */
static inline struct sonde__probe_page *preload_page(void)
{
    struct preload_guard *guard = preload_guard;
    return guard != NULL ? guard->page : NULL;
}

struct preload_cell;
/* The C library's own function; null: it has none of that name. */
void *preload_real(struct preload_cell *cell);

/* Around a wait. preload_begin() answers null where nothing is to be done after it. */
struct sonde__probe_slot *preload_begin(struct sonde__probe_wait *wait);
void preload_end(struct sonde__probe_slot *slot);

#endif
