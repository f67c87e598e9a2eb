// SPDX-License-Identifier: Apache-2.0
/* Other names of listed functions: in libc lstat64 and lstat are one function, and programs call
 * either one. Context: any thread, start-up. */
#ifndef SONDE_AUDIT_ALIAS_H
#define SONDE_AUDIT_ALIAS_H

#include <stddef.h>

#include "audit_libraries.h"
#include "audit_list.h"

/* Set `same` of all names, and add to the list what the libraries define at the addresses of listed
 * functions, as far as the list and `text` (`size` bytes for the names) have room. A name that an
 * earlier library defines is bound to that library and is not added. */
void sonde__audit_add_aliases(const struct sonde__audit_libraries *libraries,
                              struct sonde__audit_list *list, char *text, size_t size);

#endif
