// SPDX-License-Identifier: Apache-2.0
#ifndef TEST_RECORD_COUNTS_H
#define TEST_RECORD_COUNTS_H

/* Calls from stacks whose frame 0 is `caller`, over the whole text of a report of calls. */
unsigned long long count_from(const char *text, const char *caller);

#endif
