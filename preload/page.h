// SPDX-License-Identifier: Apache-2.0
/* What every library of ours in a program that `sonde run` starts has: the page that it shares with
 * the supervisor, and a guard that keeps fork children away from it. */
#ifndef SONDE_PRELOAD_PAGE_H
#define SONDE_PRELOAD_PAGE_H

#include <stdbool.h>
#include <stddef.h>

#include "probe_page.h"

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

/* Takes the last two entries out of the vector, if `sonde run` put them there. Answers the number
 * of the page's descriptor, or -1 (the library was preloaded by something else). */
int preload_take_environment(char **envp);

/* Null: it cannot be mapped. */
struct sonde__probe_page *preload_map_page(int fd);
/* From now on preload_page() answers it, in this process only. False: the page is of another build,
 * or the system cannot keep it from fork children. page: may be null */
bool preload_guard_page(struct sonde__probe_page *page);

#endif
