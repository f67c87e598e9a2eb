// SPDX-License-Identifier: Apache-2.0
/* Where the blocks (closures) on the heap of this process were made.
 *
 * While a registry runs, it hooks the calls that make and release blocks, as an audit does
 * (audit.h). Each block made on the heap is recorded with its stack, thread and time until its last
 * release. `sonde run --blocks` does this for a whole program from its start. `sonde holders` and
 * `sonde blocks --pid` read either registry from outside.
 *
 * Not seen: blocks made earlier, direct calls inside a runtime, and a runtime linked into the
 * program itself. A fork child records nothing. */
#ifndef SONDE_BLOCK_REGISTRY_H
#define SONDE_BLOCK_REGISTRY_H

#include <stddef.h>
#include <stdint.h>

#include "sonde/depot.h"
#include "sonde/status.h"

#ifdef __cplusplus
extern "C" {
#endif

struct sonde_block_registry;

/* Start to record the blocks that are made, by all threads.
 *
 * depot  stores the stacks. It must live until sonde_block_registry_destroy()
 *
 * Returns    OK (also if no blocks runtime is loaded yet) | USAGE | BUSY (functions are hooked
 *            already: one registry or audit at a time in a process) | MEMORY
 * Context    any thread; not handler, not in a callback of dl_iterate_phdr      Blocks  for the
 *            loader's lock      Ownership  the caller's: sonde_block_registry_destroy()
 * Example    examples/block_registry.c */
SONDE_API SONDE_NODISCARD enum sonde_status
sonde_block_registry_start(struct sonde_depot *depot, struct sonde_block_registry **ret_registry,
                           struct sonde_error *ret_error);

/* Hook objects loaded since the last call, and forget unloaded ones: ids of stacks with their code
 * are not used again (sonde_audit_refresh()).
 *
 * Returns    OK | USAGE | MEMORY (some calls are not seen)
 * Context    as sonde_block_registry_start(), one call at a time      Blocks  for the loader's lock
 * Ownership  nothing is transferred
 * Example    examples/block_registry.c */
SONDE_API SONDE_NODISCARD enum sonde_status
sonde_block_registry_refresh(struct sonde_block_registry *registry);

/* Stop recording. What was recorded can still be read.
 *
 * registry  may be null
 *
 * Context    as sonde_block_registry_start()      Blocks  for the loader's lock
 * Ownership  nothing is transferred
 * Example    examples/block_registry.c */
SONDE_API void sonde_block_registry_stop(struct sonde_block_registry *registry);

/* Stop the registry if it runs, and destroy it. No thread may be in a call that makes or releases a
 * block.
 *
 * registry  may be null
 *
 * Context    as sonde_block_registry_start()      Blocks  for the loader's lock
 * Ownership  frees the registry; the depot stays
 * Example    examples/block_registry.c */
SONDE_API void sonde_block_registry_destroy(struct sonde_block_registry *registry);

struct sonde_block_made {
    size_t struct_bytes; /* sizeof(struct sonde_block_made) */
    uint64_t address;
    uint64_t invoke;  /* the block's function */
    uint64_t time_ns; /* when it was made: CLOCK_MONOTONIC */
    uint32_t stack;   /* id in the depot: who made it; 0: the depot was full */
    uint64_t tid;     /* of the thread that made it */
    uint32_t size_bytes;
};

/* Find where the block at `address` was made.
 *
 * ret_made  written on OK only
 *
 * Returns    OK | USAGE | ABSENT (no recorded block lives there)
 * Context    handler      Blocks  no      Ownership  nothing is transferred
 * Example    examples/block_registry.c */
SONDE_API SONDE_NODISCARD enum sonde_status
sonde_block_registry_find(const struct sonde_block_registry *registry, uint64_t address,
                          struct sonde_block_made *ret_made);

/* List all live blocks, each once. Blocks made or released meanwhile may or may not be included.
 *
 * each  called for each; return 0 to continue, anything else to end. It may make and release blocks
 *
 * Returns    OK | USAGE
 * Context    handler      Blocks  no      Ownership  the block is valid during the call
 * Example    examples/block_registry.c */
SONDE_API SONDE_NODISCARD enum sonde_status
sonde_block_registry_each(const struct sonde_block_registry *registry,
                          int (*each)(void *ctx, const struct sonde_block_made *made), void *ctx);

/* Counts of live blocks at one time, by stack and function. */
struct sonde_block_snapshot;

/* Returns    OK | USAGE | MEMORY
 * Context    any thread; not handler      Blocks  no
 * Ownership  the caller's: sonde_block_snapshot_destroy()
 * Example    examples/block_registry.c */
SONDE_API SONDE_NODISCARD enum sonde_status
sonde_block_snapshot_take(const struct sonde_block_registry *registry,
                          struct sonde_block_snapshot **ret_snapshot);

/* snapshot  may be null
 *
 * Context    any thread; not handler      Blocks  no      Ownership  frees the snapshot
 * Example    examples/block_registry.c */
SONDE_API void sonde_block_snapshot_destroy(struct sonde_block_snapshot *snapshot);

/* Blocks of one function made by one stack, at two times. */
struct sonde_block_growth {
    uint32_t stack; /* id in the depot; 0: stacks that did not fit */
    uint64_t invoke;
    uint64_t count_before, count;
    uint64_t size_bytes_before, size_bytes;
};

/* List each pair of stack and function whose blocks grew or shrank, once.
 *
 * before  may be null: no blocks
 * each    called for each; return 0 to continue, anything else to end
 *
 * Returns    OK | USAGE
 * Context    any thread; not handler      Blocks  no
 * Ownership  the growth is valid during the call
 * Example    examples/block_registry.c */
SONDE_API SONDE_NODISCARD enum sonde_status sonde_block_snapshot_growth(
    const struct sonde_block_snapshot *before, const struct sonde_block_snapshot *now,
    int (*each)(void *ctx, const struct sonde_block_growth *growth), void *ctx);

struct sonde_block_registry_stat {
    size_t struct_bytes; /* sizeof(struct sonde_block_registry_stat) */
    uint64_t made;
    uint64_t ended;
    uint64_t dropped; /* made, but not recorded: no room */
    uint64_t unseen;  /* ended, or lost a reference, by a call that was not seen */
    uint64_t unknown; /* retains and releases of blocks that are not recorded */
};

/* Returns    OK | USAGE
 * Context    handler      Blocks  no      Ownership  nothing is transferred
 * Example    examples/block_registry.c */
SONDE_API SONDE_NODISCARD enum sonde_status
sonde_block_registry_stat(const struct sonde_block_registry *registry,
                          struct sonde_block_registry_stat *ret_stat);

#ifdef __cplusplus
}
#endif

#endif
