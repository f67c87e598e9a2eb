// SPDX-License-Identifier: Apache-2.0
/* Calls of getenv() that inside.c makes. */
#ifndef INSIDE_H
#define INSIDE_H

enum {
    EARLY_CALLS = 3, /* before sonde mark begins the phase consent */
    MARKED_CALLS = 5,
    PLAYING_CALLS = 7, /* after sonde_watch_phase() */
    CHILD_CALLS = 9,   /* in a fork child */
    PARENT_CALLS = 4,  /* beside it */
};

#endif
