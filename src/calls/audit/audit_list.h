// SPDX-License-Identifier: Apache-2.0
/* A list of functions: one name a line, of a symbol, of a method of Objective-C ("-[Class
 * selector]", "+[Class selector]") or of a system call ("syscall:openat"), which is recorded where
 * it is not made by a function of that name; # begins a comment. A symbol may have a version
 * ("realpath@GLIBC_2.3"), or be a pattern (audit_expand.h). Context: any thread; sans I/O. */
#ifndef SONDE_AUDIT_LIST_H
#define SONDE_AUDIT_LIST_H

#include <stdbool.h>
#include <stdint.h>

#include <sonde/status.h>

#include "audit_name.h"
#include "record_page.h"

/* Bytes of a name, and of that of a method, at most. */
#define SONDE__AUDIT_NAME_MAX   240u
#define SONDE__AUDIT_METHOD_MAX 240u

/* Longest line that is read; a longer one is not a name. */
#define SONDE__AUDIT_LINE_MAX 1000u

struct sonde__audit_list {
    const char *names[SONDE__RECORD_FUNCTIONS];
    const char *versions[SONDE__RECORD_FUNCTIONS]; /* that was asked for; null: any */
    uint32_t same[SONDE__RECORD_FUNCTIONS]; /* the first name of the same function; its own index if
                                               none is known (audit_alias.h) */
    uint32_t count;
};

/* Called for each invalid line, which is left out: line and column, from 1, and what was
 * expected there. */
struct sonde__audit_list_flaws {
    void (*each)(void *ctx, uint64_t line, const char *what);
    void *ctx;
};

/* text: NUL-terminated; it is cut into the names, which point into it. Repeated names count once.
 * flaws: null: the first line that is no name is an error. Returns OK | CORRUPT (a line is no name;
 * ret_error->at is its number) | LIMIT (too many) | ABSENT (none). */
SONDE_NODISCARD enum sonde_status
sonde__audit_list_parse(char *text, const struct sonde__audit_list_flaws *flaws,
                        struct sonde__audit_list *ret_list, struct sonde_error *ret_error);

/* Add a name, which must stay and may be changed meanwhile, unless it is listed. line: for the
 * error. Returns OK | CORRUPT (too long with its version) | LIMIT. */
SONDE_NODISCARD enum sonde_status sonde__audit_list_add(struct sonde__audit_list *list, char *name,
                                                        uint64_t line,
                                                        struct sonde_error *ret_error);
bool sonde__audit_list_has(const struct sonde__audit_list *list, const char *name);

/* The number of what is listed as a system call; else -1. */
int64_t sonde__audit_list_number(const char *name);

#endif
