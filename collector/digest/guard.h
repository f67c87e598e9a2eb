// SPDX-License-Identifier: Apache-2.0
/* What entry of the journal is read just now, in a file: if the program ends there twice, the entry
 * is not read a third time. A report that makes the reader crash costs itself, and no others.
 * Context: one thread. */
#ifndef SONDE_COLLECTOR_GUARD_H
#define SONDE_COLLECTOR_GUARD_H

#include "journal.h"

struct guard {
    int fd;
    struct journal_place suspect; /* where the program ended; zero: nowhere */
    uint64_t ends;                /* how often */
};

/* path: the file, made if it is missing. Returns 0 or an errno. */
int guard_begin(struct guard *guard, const char *path);
/* May the entry at this place be read? Says so in the file. */
bool guard_enter(struct guard *guard, struct journal_place place);
/* Nothing is read now. */
void guard_leave(struct guard *guard);
void guard_end(struct guard *guard);

#endif
