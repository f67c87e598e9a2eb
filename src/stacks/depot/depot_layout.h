// SPDX-License-Identifier: Apache-2.0
/* The layout of a depot's memory: this header, the tables, the nodes. Frames take nodes from the
 * front of their array, labels from its end, so that labels can be numbered. */
#ifndef SONDE_DEPOT_LAYOUT_H
#define SONDE_DEPOT_LAYOUT_H

#include "depot.h"

enum {
    SONDE__DEPOT_LEVEL_BITS = 8, /* slots of the first table, as a power of two */
    SONDE__DEPOT_LEVELS = 18,
    SONDE__DEPOT_SPARES = 64, /* races lost before a frame can use the node */
    /* Of a view: memory that anybody may write must be read in bounded time. Recorded stacks
     * have at most a quarter of it. */
    SONDE__DEPOT_VIEW_DEPTH = 1024,
};

/* A slot: the id of a node (24 bits) and eight bits of its hash. */
#define SONDE__DEPOT_ID     ((uint32_t)0xffffff)
#define SONDE__DEPOT_FROZEN ((uint32_t)0xffffffff) /* nothing may be added here */

struct sonde__depot_node {
    uint64_t frame;
    uint32_t caller;
};

/* What every look-up reads comes first, in the same few cache lines.
 *
 * If others can write the memory (a program's own wild writes, where it shares the memory with a
 * reader), this header is apart from it: nothing that is read there is an address or a bound, and
 * ids are checked. `shown` is a second header in that memory, for the reader: of it only taken,
 * level, closed, wasted and dropped are set, and none is read here. */
struct sonde__depot {
    uint32_t capacity; /* ids are below this */
    uint32_t level_count;
    uint64_t taken;  /* id of the next frame's node; number of labels << 32 */
    uint32_t level;  /* the table in use */
    uint32_t closed; /* nodes */
    struct sonde__depot_node *nodes;
    uint32_t *slots[SONDE__DEPOT_LEVELS];
    uint32_t wasted;
    uint32_t depth_max; /* limit of nodes in a stack, in memory of another process */
    uint64_t dropped;
    /* Wasted nodes for reuse; 0: none. Nodes below spares_from, which are older than an unloaded
     * image, are not reused: their ids would mean that image. */
    uint32_t spares[SONDE__DEPOT_SPARES];
    uint32_t spares_from;
    struct sonde__depot *shown; /* null: the reader has this header */
};

/* Add to a field, and to the reader's. `amount` may be a negative number's bits. */
#define SONDE__DEPOT_ADD(depot, field, amount)                                                     \
    do {                                                                                           \
        __atomic_fetch_add(&(depot)->field, (amount), __ATOMIC_RELAXED);                           \
        if ((depot)->shown != NULL) {                                                              \
            __atomic_fetch_add(&(depot)->shown->field, (amount), __ATOMIC_RELAXED);                \
        }                                                                                          \
    } while (false)

static inline uint32_t sonde__depot_slot_count(uint32_t level)
{
    return (uint32_t)1 << (SONDE__DEPOT_LEVEL_BITS + level);
}

struct sonde__depot_taken {
    uint32_t next;
    uint32_t labels;
};

static inline struct sonde__depot_taken sonde__depot_taken(const struct sonde__depot *depot)
{
    uint64_t taken = __atomic_load_n(&depot->taken, __ATOMIC_ACQUIRE);
    return (struct sonde__depot_taken){.next = (uint32_t)taken, .labels = (uint32_t)(taken >> 32)};
}

/* The number of nodes that fills a table. */
static inline uint32_t sonde__depot_limit(uint32_t level)
{
    return sonde__depot_slot_count(level) / 4 * 3;
}

#endif
