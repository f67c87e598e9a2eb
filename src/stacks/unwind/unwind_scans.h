// SPDX-License-Identifier: Apache-2.0
/* A cache of what scans of the stack proved.
 *
 * A scan (unwind_scan.c) is slow, and programs pass the same return addresses again and again. The
 * cache keeps two facts about code: at a pc in a function without call frame information, how far
 * sp (or fp) is from the return address; and that the call before a return address leads to that
 * function. So a stack of known functions is walked without a scan, whichever of them called which.
 * If a scan found no proof and the walk used a frame record, this is kept for that distance of the
 * record from sp.
 *
 * Facts about code that may change (of a JIT, of an image that can be unloaded) are valid for
 * the same bytes only, so each entry is sealed with a hash of them. There is one table for the
 * process. All threads read and write it without a lock; a check word detects an entry that was
 * read while it was written. Context: handler. */
#ifndef SONDE_UNWIND_SCANS_H
#define SONDE_UNWIND_SCANS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SONDE__SCANS_BITS = 13 }; /* entries, as a power of two: 192 KiB, touched on use */

struct sonde__scans {
    struct sonde__scans_entry {
        uint64_t key;   /* 0: free */
        uint64_t value; /* the fact */
        uint64_t check; /* of the two words above and the code's hash */
    } entries[1 << SONDE__SCANS_BITS];
};

/* Where the caller's fp is. */
enum { SONDE__SCANS_FP_KEPT = -1, SONDE__SCANS_FP_LOST = -2 };

/* The rule at a pc of a function without call frame information. */
struct sonde__scans_rule {
    uint64_t entry;   /* where the function begins; at or before the pc. 0: no rule */
    uint32_t at;      /* distance of the return address from sp, in bytes */
    bool by_fp;       /* from fp instead */
    int32_t fp_saved; /* the caller's fp is so far below the return address, or one of the above */
};

/* Find the rule for a pc, is_exact or a return address: a return address behind a call that
 * never returns may be the first instruction of the next function. *ret_seal: hash of the code;
 * 0: it cannot change. */
bool sonde__scans_rule(const struct sonde__scans *scans, uint64_t pc, bool is_exact,
                       struct sonde__scans_rule *ret_rule, uint64_t *ret_seal);
void sonde__scans_put_rule(struct sonde__scans *scans, uint64_t pc, bool is_exact,
                           const struct sonde__scans_rule *rule, uint64_t seal);

/* Does the call before `pc` lead to the function at `entry`? */
bool sonde__scans_is_caller(const struct sonde__scans *scans, uint64_t entry, uint64_t pc,
                            uint64_t *ret_seal);
void sonde__scans_put_caller(struct sonde__scans *scans, uint64_t entry, uint64_t pc,
                             uint64_t seal);

/* Did a scan find only a frame record at this distance from sp? */
bool sonde__scans_is_record(const struct sonde__scans *scans, uint64_t pc, uint64_t distance,
                            uint64_t *ret_seal);
void sonde__scans_put_record(struct sonde__scans *scans, uint64_t pc, uint64_t distance,
                             uint64_t seal);

/* How often a scan from `pc`, in the same code, exceeded its work limit. */
uint32_t sonde__scans_cuts(const struct sonde__scans *scans, uint64_t pc, uint64_t seal);
void sonde__scans_put_cuts(struct sonde__scans *scans, uint64_t pc, uint32_t cuts, uint64_t seal);

/* Never 0. */
uint64_t sonde__scans_hash(const uint8_t *code, size_t size);

#endif
