// SPDX-License-Identifier: Apache-2.0
/* Stacks by number, and how often they came by.
 *
 * A depot keeps each distinct stack once and gives it an id of 32 bits. Two stacks have the same id
 * exactly if all their frames are equal, in order: frames are compared, no hash is trusted. Threads
 * and signal handlers may record at the same time; nobody waits. With a label, calls are counted by
 * label and stack, exactly, in counters of each thread's own.
 * Frames are told apart by their addresses; what an unloaded library leaves to the next one at the
 * same place is told apart where an audit or a registry of blocks is refreshed (sonde/audit.h).
 *
 * A depot does not grow beyond what it was created with. What has no room is counted. */
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

/* Labels of sonde_audit_record() are below this. */
#define SONDE_AUDIT_LABELS 1024u

/* Frames that are kept of a stack: so many innermost, or, of a deeper one, 64 of these outermost.
 */
#define SONDE_DEPOT_DEPTH 256u

/* frames_max  frames that it has room for, each counted once for all stacks that share it from the
 *             thread's entry on; 0: 262144. A frame takes about 30 bytes, and memory is used as
 *             frames come.
 *
 * Returns    OK | USAGE (more than 16 million) | MEMORY
 * Context    any thread; not handler      Blocks  no
 * Ownership  the caller's: sonde_depot_destroy()
 * Example    examples/depot_count.c */
SONDE_API SONDE_NODISCARD enum sonde_status sonde_depot_create(uint32_t frames_max,
                                                               struct sonde_depot **ret_depot);

/* depot  may be null; no thread may be recording
 *
 * Context    any thread; not handler      Blocks  no
 * Ownership  frees the depot and all that is in it
 * Example    examples/depot_count.c */
SONDE_API void sonde_depot_destroy(struct sonde_depot *depot);

/* The id of the calling thread's stack. Frame 0 as of sonde_stack_capture().
 *
 * skip    whole frames to leave out, counted from frame 0
 * ret_id  written on OK only; never 0
 *
 * Returns    OK | USAGE | LIMIT (the depot is full)
 * Context    handler      Blocks  no      Ownership  nothing is transferred
 * Example    examples/depot_count.c */
SONDE_API SONDE_NODISCARD enum sonde_status sonde_depot_capture(struct sonde_depot *depot,
                                                                uint32_t skip, uint32_t *ret_id);

/* Count a call of `label` from the calling thread's stack. Frame 0 is the function that calls this
 * one.
 *
 * label  what was called, by a number of yours, below SONDE_AUDIT_LABELS
 * skip   whole frames to leave out, counted from frame 0
 *
 * Returns    OK | USAGE | LIMIT (the depot is full: counted by its label alone, in `lost`)
 * Context    handler      Blocks  no      Ownership  nothing is transferred
 * Example    examples/depot_count.c */
SONDE_API SONDE_NODISCARD enum sonde_status sonde_audit_record(struct sonde_depot *depot,
                                                               uint32_t label, uint32_t skip);

/* The stack of an id: pcs and end; `how` says of each frame only whether its pc is a return
 * address.
 *
 * ret_stack  prepared by sonde_stack_init(); if it has too little room, the innermost frames
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

/* All that sonde_audit_record() counted so far, each label and stack once. Calls that come
 * meanwhile are in it or not, none of them in part.
 *
 * each  called for each entry; a false ends it
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
    uint32_t frames;     /* that there is a place for in use: of stacks, and one for each entry */
    uint64_t dropped;    /* that had none */
    uint64_t lost;       /* calls that were counted by their label alone */
    uint64_t bytes;      /* of memory in use, without the counters */
};

/* Returns    OK | USAGE
 * Context    any thread; not handler      Blocks  no      Ownership  nothing is transferred
 * Example    examples/depot_count.c */
SONDE_API SONDE_NODISCARD enum sonde_status sonde_depot_stat(const struct sonde_depot *depot,
                                                             struct sonde_depot_stat *ret_stat);

#if defined(__GNUC__)
/* Macros, because a function that ends with such a call would give up its frame to it (a tail
 * call), and would not be in the stack: sonde_keep_frame(). */
#    define sonde_depot_capture(depot, skip, ret_id)                                               \
        sonde_keep_frame(sonde_depot_capture(depot, skip, ret_id))
#    define sonde_audit_record(depot, label, skip)                                                 \
        sonde_keep_frame(sonde_audit_record(depot, label, skip))
#endif

#ifdef __cplusplus
}
#endif

#endif
