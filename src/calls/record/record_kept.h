// SPDX-License-Identifier: Apache-2.0
/* Values of arguments of recorded calls, and how many calls had each.
 *
 * A value is kept for a number of the record (a function and stack) and one of the arguments that
 * the rule keeps. Each pair has at most EACH different values; others, and those without room, are
 * not kept: a reader sees how many from the number's calls. So the sum of the counts is exact, and
 * never above the number of calls.
 *
 * A table without locks, for any threads and handlers at once: a slot is claimed by the hash of its
 * key, then filled, then complete. Who meets it between trusts the hash; else the bytes are
 * compared. The program may write anything there: counts and values are wrong then, and no access
 * is outside of it. Context: handler. */
#ifndef SONDE_RECORD_KEPT_H
#define SONDE_RECORD_KEPT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SONDE__KEPT_EACH = 15, SONDE__KEPT_VALUE = 240 /* bytes of a value */ };
#if defined(SONDE_FUZZING)
enum { SONDE__KEPT_SLOTS = 64, SONDE__KEPT_BYTES = 1024 };
#else
enum { SONDE__KEPT_SLOTS = 32768 /* a power of two */, SONDE__KEPT_BYTES = 1048576 };
#endif

struct sonde__kept_slot {
    _Atomic uint64_t hash;     /* of number, argument and value; 0: free */
    _Atomic uint64_t count;    /* of calls; of a pair's own slot, of its different values */
    _Atomic uint32_t complete; /* 1: what follows is */
    uint32_t number, at;       /* at: of the value in `bytes` */
    uint16_t argument, size;   /* size: UINT16_MAX: the pair's own slot */
};

struct sonde__kept {       /* all zero: empty */
    _Atomic uint32_t used; /* bytes */
    struct sonde__kept_slot slots[SONDE__KEPT_SLOTS];
    uint8_t bytes[SONDE__KEPT_BYTES];
};

/* Count a call with this value. size: at most SONDE__KEPT_VALUE. False: it was not kept. */
bool sonde__kept_add(struct sonde__kept *kept, uint32_t number, uint32_t argument,
                     const uint8_t *value, size_t size);

struct sonde__kept_value {
    uint32_t number, argument;
    uint64_t count;
    uint8_t value[SONDE__KEPT_VALUE];
    size_t size;
};
/* Read a slot < SONDE__KEPT_SLOTS while others may write. False: it has no value. */
bool sonde__kept_read(const struct sonde__kept *kept, uint32_t slot,
                      struct sonde__kept_value *ret_value);

#endif
