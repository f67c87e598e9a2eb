// SPDX-License-Identifier: Apache-2.0
/* Ids for stacks, and call counts.
 *
 * A depot stores each distinct stack once, under a 32-bit id. Two stacks have the same id exactly
 * if all their frames are equal, in order: frames are compared, no hash is trusted. Threads and
 * signal handlers may record concurrently without waiting. Calls are counted exactly, by label and
 * stack, in per-thread counters.
 *
 * Frames are compared by address. If another library is loaded in place of an unloaded one, their
 * frames are told apart only if an audit or a registry of blocks was refreshed in between
 * (sonde_audit_refresh()).
 *
 * A depot does not grow beyond the size given at its creation. What does not fit is counted. */
#ifndef SONDE_DEPOT_H
#define SONDE_DEPOT_H

#include <stddef.h>
#include <stdint.h>

#include "sonde/stack.h"
#include "sonde/status.h"

#ifdef __cplusplus
extern "C" {
#endif

struct sonde_depot;

/* Labels of sonde_audit_record() are less than this. */
#define SONDE_AUDIT_LABELS 1024u

/* Frames kept of one stack. 64 of those of a deeper stack are its outermost ones. */
#define SONDE_DEPOT_DEPTH 256u

/* frames_max  room for this many frames; 0: 262144. Stacks share frames that are equal from the
 *             thread's entry on. A frame takes about 30 bytes, allocated on first use
 *
 * Returns    OK | USAGE (more than 16 million) | MEMORY
 * Context    any thread; not handler      Blocks  no
 * Ownership  the caller's: sonde_depot_destroy()
 * Example    examples/depot_count.c */
SONDE_API SONDE_NODISCARD enum sonde_status sonde_depot_create(uint32_t frames_max,
                                                               struct sonde_depot **ret_depot);

/* depot  may be null; no thread may be recording into it
 *
 * Context    any thread; not handler      Blocks  no
 * Ownership  frees the depot and its contents
 * Example    examples/depot_count.c */
SONDE_API void sonde_depot_destroy(struct sonde_depot *depot);

/* Get the id of the calling thread's stack. Frame 0 is as in sonde_stack_capture().
 *
 * skip    whole frames to leave out, counted from frame 0
 * ret_id  written on OK only; never 0
 *
 * Returns    OK | USAGE | LIMIT (the depot is full)
 * Context    handler      Blocks  no      Ownership  nothing is transferred
 * Example    examples/depot_count.c */
SONDE_API SONDE_NODISCARD enum sonde_status sonde_depot_capture(struct sonde_depot *depot,
                                                                uint32_t skip, uint32_t *ret_id);

/* Count a call of `label` from the calling thread's stack. Frame 0 is the caller of this function.
 *
 * label  a number of your choice for the called function, less than SONDE_AUDIT_LABELS
 * skip   whole frames to leave out, counted from frame 0
 *
 * Returns    OK | USAGE | LIMIT (the depot is full: counted in `lost`, without its stack)
 * Context    handler      Blocks  no      Ownership  nothing is transferred
 * Example    examples/depot_count.c */
SONDE_API SONDE_NODISCARD enum sonde_status sonde_audit_record(struct sonde_depot *depot,
                                                               uint32_t label, uint32_t skip);

/* Get the stack of an id: pcs and end reason. `how` has the flags EXACT and SIGNAL; how the frames
 * were found is not stored (CFI for all).
 *
 * ret_stack  prepared by sonde_stack_init(); if too small, it gets the innermost frames
 *
 * Returns    OK | USAGE | ABSENT (no such id)
 * Context    handler      Blocks  no      Ownership  nothing is transferred
 * Example    examples/depot_count.c */
SONDE_API SONDE_NODISCARD enum sonde_status
sonde_depot_stack(const struct sonde_depot *depot, uint32_t id, struct sonde_stack *ret_stack);

/* Calls of one label from one stack. */
struct sonde_audit_entry {
    uint32_t label;
    uint32_t stack; /* id */
    uint64_t count;
};

/* List the counts of sonde_audit_record() so far, each pair of label and stack once. Calls recorded
 * meanwhile may or may not be included.
 *
 * each  called for each entry; return 0 to continue, anything else to end
 *
 * Returns    OK | USAGE
 * Context    any thread; not handler      Blocks  no
 * Ownership  the entry is valid during the call
 * Example    examples/depot_count.c */
SONDE_API SONDE_NODISCARD enum sonde_status
sonde_audit_entries(const struct sonde_depot *depot,
                    int (*each)(void *ctx, const struct sonde_audit_entry *entry), void *ctx);

struct sonde_depot_stat {
    size_t struct_bytes; /* sizeof(struct sonde_depot_stat) */
    uint32_t frames;     /* in use: those of stacks, and one for each entry */
    uint64_t dropped;    /* what did not fit */
    uint64_t lost;       /* calls counted without a stack */
    uint64_t bytes;      /* memory in use, without the counters */
};

/* Returns    OK | USAGE
 * Context    any thread; not handler      Blocks  no      Ownership  nothing is transferred
 * Example    examples/depot_count.c */
SONDE_API SONDE_NODISCARD enum sonde_status sonde_depot_stat(const struct sonde_depot *depot,
                                                             struct sonde_depot_stat *ret_stat);

#if defined(__GNUC__)
/* Macros, because a caller that ends with such a call has to keep its frame: sonde_keep_frame(). */
#    define sonde_depot_capture(depot, skip, ret_id)                                               \
        sonde_keep_frame(sonde_depot_capture(depot, skip, ret_id))
#    define sonde_audit_record(depot, label, skip)                                                 \
        sonde_keep_frame(sonde_audit_record(depot, label, skip))
#endif

#ifdef __cplusplus
}
#endif

#endif
