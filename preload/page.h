// SPDX-License-Identifier: Apache-2.0
/* Shared by the libraries that `sonde run` preloads: the page shared with the supervisor, and a
 * guard that keeps fork children away from it. */
#ifndef SONDE_PRELOAD_PAGE_H
#define SONDE_PRELOAD_PAGE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#include "probe_page.h"

/* The environment variable with the number of the page's descriptor. */
#define SONDE_PRELOAD_VARIABLE "SONDE_RUN_PAGE"

/* In memory that the kernel zeroes in a fork child (MADV_WIPEONFORK). */
struct preload_guard {
    struct sonde__probe_page *page;
    _Atomic uint32_t joins; /* enum preload_joins: a fork child gets a page of its own */
};
enum preload_joins { PRELOAD_JOINS_NOT, PRELOAD_JOINS_NOW, PRELOAD_JOINED };
extern struct preload_guard *preload_guard;

/* The page, or null: not started by `sonde run`, or in a fork child that has none. */
static inline struct sonde__probe_page *preload_page(void)
{
    struct preload_guard *guard = preload_guard;
    return guard != NULL ? guard->page : NULL;
}

/* Remove the last two entries of the vector, if `sonde run` added them, and make it libc's
 * environment, which is not initialized yet: dlsym() in our code may be the first to call malloc(),
 * and jemalloc then reads its options, once. Returns the page's descriptor, or -1 (something else
 * preloaded the library). */
int preload_take_environment(char **envp);

/* Null: mapping failed. */
struct sonde__probe_page *preload_map_page(int fd);
/* Make preload_page() return the page from now on, in this process only. False: the page is of
 * another build, or the system cannot hide it from fork children. page: may be null */
bool preload_guard_page(struct sonde__probe_page *page);

#endif
