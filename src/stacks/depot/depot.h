// SPDX-License-Identifier: Apache-2.0
/* The depot: each distinct stack once, under an id of 32 bits.
 *
 * A tree from the threads' entries inward: a node is a frame and the node of its caller, so the id
 * of the innermost frame is the id of the whole stack, and two stacks share the nodes of what is
 * equal from the entry inward. A node is found by an order-sensitive hash of both words and
 * believed only where both are equal; by induction two stacks have the same id exactly if all their
 * frames are equal, in order. No hash is trusted. A caller that knows the node of a frame from an
 * earlier stack (from a thread's memo) interns only the frames inside of it.
 *
 * Lock-free: nodes are never moved, slots of the table are written once. When a table is three
 * quarters full the next one, of twice the size, takes over; entries follow when they are asked
 * for. An empty slot at which a search in an older table ended is closed, so that no thread that
 * still uses that table can add the same stack a second time (C. Click, A Lock-Free Hash Table,
 * 2007).
 *
 * Bounded: a node that does not fit is dropped and counted; it has no id, nor has what it calls.
 * When an image is unloaded, the nodes with code of it and all inward of them are closed: what is
 * loaded there later gets new ones. Closed ids can still be read.
 *
 * Context: any thread, handler; sonde__depot_close and _close_others: one at a time. */
#ifndef SONDE_DEPOT_DEPOT_H
#define SONDE_DEPOT_DEPOT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sonde/stack.h"

struct sonde__depot;

/* A frame's word: its pc (of user space, below 2^58) and what tells frames of the same pc apart. */
#define SONDE__DEPOT_PC     (((uint64_t)1 << 58) - 1)
#define SONDE__DEPOT_EXACT  ((uint64_t)1 << 63) /* SONDE_HOW_EXACT */
#define SONDE__DEPOT_SIGNAL ((uint64_t)1 << 62) /* SONDE_HOW_SIGNAL */
#define SONDE__DEPOT_LABEL  ((uint64_t)1 << 61) /* no frame: what was called, by the low bits */
#define SONDE__DEPOT_GAP    ((uint64_t)1 << 60) /* no frame: so many left out, by the low bits */
#define SONDE__DEPOT_CLOSED ((uint64_t)1 << 59) /* an image of it was unloaded */

/* Ids. 0: none. Below FIRST are the roots: why the walk ended, by enum sonde_end_reason. */
enum {
    SONDE__DEPOT_NONE = 0,
    SONDE__DEPOT_ROOT = 1,
    SONDE__DEPOT_FIRST = 32,
};
#define SONDE__DEPOT_NODES_MAX ((uint32_t)0xfffffe) /* ids have 24 bits in the table */

/* Bytes of address space for a depot of so many nodes (at most NODES_MAX); only what is used of it
 * is touched: about 30 bytes a node. */
uint64_t sonde__depot_size(uint32_t nodes);

/* A depot in zeroed memory of that size, aligned to 64 bytes. Context: start-up. */
struct sonde__depot *sonde__depot_init(void *memory, uint32_t nodes);

/* To read a depot that another process writes, through another mapping of the same memory: a header
 * of our own, which stands in `header` (sonde__depot_header_size() bytes). What the other side may
 * have spoilt makes stacks unreadable, nothing else. nodes: as of its sonde__depot_init(). */
uint64_t sonde__depot_header_size(void);
const struct sonde__depot *sonde__depot_view(void *header, const void *memory, uint32_t nodes);

/* Ids of frames are given in this order: that of the next one. */
uint32_t sonde__depot_next(const struct sonde__depot *depot);

/* The same, and no id below it is given from now on: ids distinguish what was unloaded from what
 * comes later. */
uint32_t sonde__depot_part(struct sonde__depot *depot);

/* The node of `frame` as called by `caller` (a node or a root). NONE: there is no room, or caller
 * is NONE. */
uint32_t sonde__depot_child(struct sonde__depot *depot, uint32_t caller, uint64_t frame);

/* The node of a whole stack. */
uint32_t sonde__depot_put(struct sonde__depot *depot, const struct sonde_stack *stack);

/* The node of a stack and a label (what was called there): a node under which nothing is put.
 * NONE: no room, or no stack. */
uint32_t sonde__depot_label(struct sonde__depot *depot, uint32_t id, uint32_t label);

/* Such nodes are numbered from 0 in the order in which they were made. */
uint32_t sonde__depot_label_number(const struct sonde__depot *depot, uint32_t id);

/* By its number: the stack and the label. NONE: there is none of this number (yet; a number that
 * two threads took for the same label at the same moment never gets one). */
uint32_t sonde__depot_labelled(const struct sonde__depot *depot, uint32_t number,
                               uint32_t *ret_label);

/* The root of stacks that end so (enum sonde_end_reason). */
static inline uint32_t sonde__depot_root(uint8_t end)
{
    return SONDE__DEPOT_ROOT + end;
}

/* May frames be added to it: known, and no image of it was unloaded? */
bool sonde__depot_is_open(const struct sonde__depot *depot, uint32_t id);

/* The same of an id that is known: was an image of it unloaded? */
bool sonde__depot_is_closed(const struct sonde__depot *depot, uint32_t id);

/* A node: its word and its caller. False: `id` is no node. */
bool sonde__depot_node(const struct sonde__depot *depot, uint32_t id, uint64_t *ret_frame,
                       uint32_t *ret_caller);

/* The stack of `id` into stack's arrays: pcs, how (flags and SONDE_FOUND_CFI), end, what was left
 * out. Its async fields are none. False: no such stack. */
bool sonde__depot_get(const struct sonde__depot *depot, uint32_t id, struct sonde_stack *stack);

typedef bool sonde__depot_is_kept(void *ctx, uint64_t pc);

/* The addresses [start, end) are no longer those of the image that was there: closes the nodes of
 * its code and all inward. Returns how many. */
uint32_t sonde__depot_close(struct sonde__depot *depot, uint64_t start, uint64_t end);

/* The same of all addresses but those that are kept. */
uint32_t sonde__depot_close_others(struct sonde__depot *depot, sonde__depot_is_kept *is_kept,
                                   void *ctx);

struct sonde__depot_stat {
    uint32_t nodes;   /* in use, of frames and labels */
    uint32_t labels;  /* numbers of labels that were given */
    uint32_t closed;  /* of these */
    uint32_t wasted;  /* taken by two threads for the same frame at the same moment */
    uint64_t dropped; /* frames asked for that had no room */
    uint64_t bytes;   /* of memory used, tables included */
};
struct sonde__depot_stat sonde__depot_stat(const struct sonde__depot *depot);

#endif
