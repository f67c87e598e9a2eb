// SPDX-License-Identifier: Apache-2.0
/* What scans of the stack found, for the next stack that comes through the same place.
 *
 * A scan (unwind_scan.c) reads code and tries words for milliseconds; programs come through the
 * same few return addresses again and again. What is kept is not the answer but where it was found,
 * and it is looked at anew: a caller counts again when the same return address lies at the same
 * distance from sp; a frame record, where scans found no proof and the record led to a call, when
 * it lies at the same distance from sp.
 *
 * Of images that are never unloaded; code of a JIT must still be the same bytes before and behind
 * the return address, and only records are kept of it. One table for the process, read and written
 * by all threads without a lock; a word too many tells an entry that was read in the middle of
 * being written. Context: handler. */
#ifndef SONDE_UNWIND_SCANS_H
#define SONDE_UNWIND_SCANS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SONDE__SCANS_BITS = 11 }; /* entries, as a power of two: 48 KiB */

struct sonde__scans {
    struct sonde__scans_entry {
        uint64_t key;   /* pc, distance; 0: free */
        uint64_t value; /* caller's pc, where its fp is */
        uint64_t check; /* of these two */
    } entries[1 << SONDE__SCANS_BITS];
};

/* What became of the caller's fp. */
enum { SONDE__SCANS_FP_KEPT = -1, SONDE__SCANS_FP_LOST = -2, SONDE__SCANS_FP_UNKNOWN = -3 };

struct sonde__scans_caller {
    uint64_t distance; /* bytes from sp to the slot of the return address */
    uint64_t pc;       /* what lay there */
    int64_t fp_saved;  /* at the slot - that, or one of the above */
};

/* The caller that a scan from the return address `pc` found last. */
bool sonde__scans_caller(const struct sonde__scans *scans, uint64_t pc,
                         struct sonde__scans_caller *ret_caller);
void sonde__scans_put_caller(struct sonde__scans *scans, uint64_t pc,
                             const struct sonde__scans_caller *caller);

/* Was there nothing but a frame record, so far from sp? code: sonde__scans_hash() of what is around
 * pc; 0 where it cannot change. */
bool sonde__scans_is_record(const struct sonde__scans *scans, uint64_t pc, uint64_t distance,
                            uint64_t code);
void sonde__scans_put_record(struct sonde__scans *scans, uint64_t pc, uint64_t distance,
                             uint64_t code);
uint64_t sonde__scans_hash(const uint8_t *code, size_t size);

#endif
