// SPDX-License-Identifier: Apache-2.0
/* Journals of small numbered entries, in the test's folder. */
#ifndef SONDE_TEST_JOURNALS_H
#define SONDE_TEST_JOURNALS_H

#include "journal.h"

enum { JOURNALS_ENTRIES = 64 };

/* Fails the test if it cannot be opened. */
struct journal *journals_open(struct journal_place stored);
/* Write entries first to last - 1 by one sync. */
void journals_add(struct journal *journal, unsigned first, unsigned last);
/* Is it the entry with this number? Else the test fails. */
void journals_check(const struct journal_entry *entry, unsigned number);
/* Read from a place to the end; they must be entries first, first + 1, … Returns how many. */
unsigned journals_read(struct journal *journal, struct journal_place *place, unsigned first);
/* The path of a file of the journal, until the next call. */
const char *journals_path(unsigned segment);

#endif
