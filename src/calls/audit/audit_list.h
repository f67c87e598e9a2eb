// SPDX-License-Identifier: Apache-2.0
/* A list of functions: one name a line, of a symbol, of a method of Objective-C
 * ("-[Class selector]", "+[Class selector]") or of a system call ("syscall:openat"), which is then
 * recorded where no function of its own stands for it; # begins a comment. Context: any thread;
 * sans I/O. */
#ifndef SONDE_AUDIT_LIST_H
#define SONDE_AUDIT_LIST_H

#include <stdbool.h>
#include <stdint.h>

#include <sonde/status.h>

#include "record_page.h"

/* Bytes of a name, and of that of a method, at most. */
#define SONDE__AUDIT_NAME_MAX   240u
#define SONDE__AUDIT_METHOD_MAX 240u

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

bool sonde__audit_list_has(const struct sonde__audit_list *list, const char *name);
bool sonde__audit_list_has_methods(const struct sonde__audit_list *list);

/* What is listed as a system call: its number; of all else -1. */
int64_t sonde__audit_list_number(const char *name);

#endif
