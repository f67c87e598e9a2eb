// SPDX-License-Identifier: Apache-2.0
/* Names of functions as lists and rules have them (audit_list.h), without what recorders need.
 * Context: any thread; sans I/O. */
#ifndef SONDE_AUDIT_NAME_H
#define SONDE_AUDIT_NAME_H

#include <stdbool.h>
#include <stddef.h>

/* What was expected at *ret_at of a name (with its version) or pattern; null: it is one. */
const char *sonde__audit_list_wrong(const char *name, size_t *ret_at);

/* Is it a glob, or a C++ name as people write it? */
bool sonde__audit_list_is_pattern(const char *text);

#endif
