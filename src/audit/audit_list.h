// SPDX-License-Identifier: Apache-2.0
/* A list of functions: one name a line, # begins a comment. Context: any thread; sans I/O. */
#ifndef SONDE_AUDIT_LIST_H
#define SONDE_AUDIT_LIST_H

#include <stdint.h>

#include <sonde/status.h>

#include "record_page.h"

struct sonde__audit_list {
    const char *names[SONDE__RECORD_FUNCTIONS];
    uint32_t count;
};

/* text: NUL-terminated, is cut into the names, which point into it. A name that stands twice is
 * taken once. Returns OK | CORRUPT (a line is no name; ret_error->at is its number, from 1) | LIMIT
 * (too many) | ABSENT (none). */
SONDE_NODISCARD enum sonde_status sonde__audit_list_parse(char *text,
                                                          struct sonde__audit_list *ret_list,
                                                          struct sonde_error *ret_error);

#endif
