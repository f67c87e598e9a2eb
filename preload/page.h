// SPDX-License-Identifier: Apache-2.0
/* Common to the libraries that `sonde run` puts into a program: the page shared with the
 * supervisor, and a guard that keeps fork children away from it. */
#ifndef SONDE_PRELOAD_PAGE_H
#define SONDE_PRELOAD_PAGE_H

#include <stdbool.h>
#include <stddef.h>

#include "probe_page.h"

/* The environment variable with the number of the page's descriptor. */
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

/* Removes the last two entries of the vector, if `sonde run` added them, and makes it libc's, which
 * is not initialised: the first call of malloc() may come from us (dlsym() does), and jemalloc
 * reads its options then, once. Returns the number of the page's descriptor, or -1 (something else
 * preloaded the library). */
int preload_take_environment(char **envp);

/* Null: it cannot be mapped. */
struct sonde__probe_page *preload_map_page(int fd);
/* From now on preload_page() returns it, in this process only. False: the page is of another build,
 * or the system cannot hide it from fork children. page: may be null */
bool preload_guard_page(struct sonde__probe_page *page);

#endif
