// SPDX-License-Identifier: Apache-2.0
/* The recorder with a witness: before it turns to its depot, each recorded call is also written,
 * frame by frame, to the file that CHECKED_LOG_VARIABLE names; and while it runs, traps.c knows. */
#ifndef TEST_RECORD_CHECKED_H
#define TEST_RECORD_CHECKED_H

#include <stdint.h>

#define CHECKED_LOG_VARIABLE "SONDE_TEST_CHECKED_LOG"

struct checked_log { /* the file's head; its size is the room */
    uint64_t size;
    _Atomic uint64_t used;    /* bytes of entries, including those without room */
    _Atomic uint64_t missing; /* entries without room */
    uint64_t entries[];
};

struct checked_entry { /* then `count` words: the pcs */
    uint32_t label, id;
    uint32_t closed; /* nodes of the depot that were closed by then */
    uint16_t count, lost;
    uint32_t end;
    uint32_t padding;
};

/* traps.c: how often the calling thread is inside of the recorder now. Weak: it may not be there.
 */
#pragma GCC visibility push(default)
extern __attribute__((weak)) int *sonde_test_traps_inside(void);
#pragma GCC visibility pop

#endif
