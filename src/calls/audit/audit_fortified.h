// SPDX-License-Identifier: Apache-2.0
/* Functions of libc that compilers and headers call in place of a listed one: with
 * _FORTIFY_SOURCE, __open_2 for open and __read_chk for read; in programs that were built before
 * glibc 2.33, __xstat for stat. Context: any thread, start-up. */
#ifndef SONDE_AUDIT_FORTIFIED_H
#define SONDE_AUDIT_FORTIFIED_H

#include <stddef.h>

#include "audit_libraries.h"
#include "audit_list.h"

/* Add those that a library defines and that are not listed, as the same function (`same`), as far
 * as the list and `text` (`size` bytes for names) have room. To be called after
 * sonde__audit_add_aliases(). */
void sonde__audit_add_fortified(const struct sonde__audit_libraries *libraries,
                                struct sonde__audit_list *list, char *text, size_t size);

#endif
