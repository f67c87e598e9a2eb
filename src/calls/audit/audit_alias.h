// SPDX-License-Identifier: Apache-2.0
/* The other names of listed functions: libc has lstat64 where lstat is, and a program calls the one
 * or the other as it was compiled. Context: any thread, start-up. */
#ifndef SONDE_AUDIT_ALIAS_H
#define SONDE_AUDIT_ALIAS_H

#include <stddef.h>

#include "audit_libraries.h"
#include "audit_list.h"

/* Adds to the list what the libraries define at the addresses of listed functions, as far as the
 * list and `text` (the names' memory, of `size` bytes) have room. A name that an earlier library
 * defines means that one's function, and is not added. */
void sonde__audit_add_aliases(const struct sonde__audit_libraries *libraries,
                              struct sonde__audit_list *list, char *text, size_t size);

#endif
