// SPDX-License-Identifier: Apache-2.0
/* What scans of the stack proved, for the next stack that comes through the same place.
 *
 * A scan (unwind_scan.c) reads code and tries words for a long time; programs come through the same
 * return addresses again and again. Two facts are kept, both of code and not of a stack: at a pc in
 * a function without call frame information, how far sp (or fp) is from the return address; and
 * that the call in front of a return address leads to that function. So a stack of functions that
 * have been seen before is walked without a scan, whichever of them called which. Where scans found
 * no proof and a frame record led on, that is kept for the same distance of the record from sp.
 *
 * Facts about code that may change (of a JIT, of an image that can be unloaded) hold for the same
 * bytes only: each entry is sealed with a hash of them. One table for the process, read and written
 * by all threads without a lock; a check word tells an entry that was read in the middle of being
 * written. Context: handler. */
#ifndef SONDE_UNWIND_SCANS_H
#define SONDE_UNWIND_SCANS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SONDE__SCANS_BITS = 13 }; /* entries, as a power of two: 192 KiB, touched as they are used */

struct sonde__scans {
    struct sonde__scans_entry {
        uint64_t key;   /* 0: free */
        uint64_t value; /* the fact */
        uint64_t check; /* of these two and the code's hash */
    } entries[1 << SONDE__SCANS_BITS];
};

/* What became of the caller's fp. */
enum { SONDE__SCANS_FP_KEPT = -1, SONDE__SCANS_FP_LOST = -2 };

/* The rule at a pc of a function without call frame information. */
struct sonde__scans_rule {
    uint64_t entry;   /* where the function begins; at or before the pc. 0: no rule */
    uint32_t at;      /* the return address lies so far from sp, bytes */
    bool by_fp;       /* or from fp */
    int32_t fp_saved; /* the caller's fp: at that place - fp_saved, or one of the above */
};

/* The rule for a pc, which is_exact or a return address: one behind a call that never returns may
 * be the first instruction of the next function. *ret_seal: hash of the code; 0: it cannot change.
 */
bool sonde__scans_rule(const struct sonde__scans *scans, uint64_t pc, bool is_exact,
                       struct sonde__scans_rule *ret_rule, uint64_t *ret_seal);
void sonde__scans_put_rule(struct sonde__scans *scans, uint64_t pc, bool is_exact,
                           const struct sonde__scans_rule *rule, uint64_t seal);

/* Does the call in front of `pc` lead to the function at `entry`? */
bool sonde__scans_is_caller(const struct sonde__scans *scans, uint64_t entry, uint64_t pc,
                            uint64_t *ret_seal);
void sonde__scans_put_caller(struct sonde__scans *scans, uint64_t entry, uint64_t pc,
                             uint64_t seal);

/* Was there nothing but a frame record, so far from sp? */
bool sonde__scans_is_record(const struct sonde__scans *scans, uint64_t pc, uint64_t distance,
                            uint64_t *ret_seal);
void sonde__scans_put_record(struct sonde__scans *scans, uint64_t pc, uint64_t distance,
                             uint64_t seal);

/* How often a scan from `pc`, in the same code, was cut because it took too long. */
uint32_t sonde__scans_cuts(const struct sonde__scans *scans, uint64_t pc, uint64_t seal);
void sonde__scans_put_cuts(struct sonde__scans *scans, uint64_t pc, uint32_t cuts, uint64_t seal);

/* Not 0. */
uint64_t sonde__scans_hash(const uint8_t *code, size_t size);

#endif
