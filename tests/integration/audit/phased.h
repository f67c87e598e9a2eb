// SPDX-License-Identifier: Apache-2.0
/* How often phased.c calls getenv() before its phases, in the first and in the second one. */
#ifndef PHASED_H
#define PHASED_H

enum { FIRST_CALLS = 5, SECOND_CALLS = 7, THIRD_CALLS = 11 };

#endif
