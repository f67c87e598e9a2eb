// SPDX-License-Identifier: Apache-2.0
/* How often rude.c calls getenv() in each part. */
#ifndef RUDE_H
#define RUDE_H

enum {
    FIRST_CALLS = 3,
    CLOSED_CALLS = 5,
    FORKED_CALLS = 7,
    DROPPED_CALLS = 11,
    LIMITED_CALLS = 13,
    CHILD_CALLS = 1000
};

#endif
