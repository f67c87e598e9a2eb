// SPDX-License-Identifier: Apache-2.0
/* The depot stores each distinct stack once, under an id of 32 bits.
 *
 * It is a tree from the threads' entries inward. A node is a frame and the node of its caller, so
 * the node of the innermost frame identifies the whole stack, and stacks share the nodes of their
 * common outer frames. A look-up finds a node by an order-sensitive hash of both words, and accepts
 * it only if both words are equal. By induction, two stacks have the same id exactly if all their
 * frames are equal, in order. A caller that knows a frame's node from an earlier stack (from a
 * thread's memo) interns only the frames inside of it.
 *
 * It is lock-free: nodes never move, and slots of the table are written once. When a table is three
 * quarters full, the next one, of twice the size, takes over. An entry moves there when it is next
 * looked up. A search of an older table closes the empty slot where it ends, so that no thread that
 * still uses that table can add the same stack a second time (C. Click, A Lock-Free Hash Table,
 * 2007).
 *
 * It is bounded: a node without room is dropped and counted. Neither it nor what it calls has an
 * id. Unloading an image closes the nodes of its code and all inward of them: code loaded there
 * later gets new nodes. Closed ids can still be read.
 *
 * Context: any thread, handler; sonde__depot_close and _close_others: one at a time. */
#ifndef SONDE_DEPOT_DEPOT_H
#define SONDE_DEPOT_DEPOT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sonde/stack.h"

struct sonde__depot;

/* A frame's word: its pc (of user space, below 2^58) and flags that distinguish equal pcs. */
#define SONDE__DEPOT_PC     (((uint64_t)1 << 58) - 1)
#define SONDE__DEPOT_EXACT  ((uint64_t)1 << 63) /* SONDE_HOW_EXACT */
#define SONDE__DEPOT_SIGNAL ((uint64_t)1 << 62) /* SONDE_HOW_SIGNAL */
#define SONDE__DEPOT_LABEL  ((uint64_t)1 << 61) /* no frame: low bits: label of what was called */
#define SONDE__DEPOT_GAP    ((uint64_t)1 << 60) /* no frame: low bits: number of lost frames */
#define SONDE__DEPOT_CLOSED ((uint64_t)1 << 59) /* an image of the stack was unloaded */
/* No frame, and no address: of a script (record_script.h). Such frames have a root of their own; a
 * link behind a native stack has the id of the innermost one. */
#define SONDE__DEPOT_SCRIPT      ((uint64_t)1 << 58)
#define SONDE__DEPOT_SCRIPT_LINK (SONDE__DEPOT_SCRIPT | SONDE__DEPOT_SIGNAL)

/* Ids. 0: none. Below FIRST are the roots: the walk's end reason (enum sonde_end_reason). */
enum {
    SONDE__DEPOT_NONE = 0,
    SONDE__DEPOT_ROOT = 1,
    SONDE__DEPOT_SCRIPTS = 31, /* the root of frames of scripts */
    SONDE__DEPOT_FIRST = 32,
};
#define SONDE__DEPOT_NODES_MAX ((uint32_t)0xfffffe) /* ids have 24 bits in the table */

/* Bytes of address space for a depot of so many nodes (at most NODES_MAX). It touches only what
 * it uses: about 30 bytes a node. */
uint64_t sonde__depot_size(uint32_t nodes);

/* Make a depot in zeroed memory of that size, aligned to 64 bytes. Context: start-up. */
struct sonde__depot *sonde__depot_init(void *memory, uint32_t nodes);

/* The same in memory that this process shares with a reader, who gets it by sonde__depot_view().
 * Whatever is written to the memory by others makes no access outside of it, only wrong stacks.
 * header: sonde__depot_header_size() zeroed bytes that are not shared. Context: start-up */
struct sonde__depot *sonde__depot_share(void *header, void *memory, uint32_t nodes);

/* Open a depot that another process writes, through another mapping of the same memory. Our own
 * header is in `header` (sonde__depot_header_size() bytes). Whatever the other process writes
 * can only make stacks unreadable. nodes: as in its sonde__depot_init(). */
uint64_t sonde__depot_header_size(void);
const struct sonde__depot *sonde__depot_view(void *header, const void *memory, uint32_t nodes);

/* The id of the next new frame; these ids ascend. */
uint32_t sonde__depot_next(const struct sonde__depot *depot);

/* The same. Later ids are not smaller, so ids separate what was unloaded from what comes later. */
uint32_t sonde__depot_part(struct sonde__depot *depot);

/* Find or add the node of `frame` as called by `caller` (node or root). NONE: no room, or no
 * caller. */
uint32_t sonde__depot_child(struct sonde__depot *depot, uint32_t caller, uint64_t frame);

/* Find or add the node of a whole stack. */
uint32_t sonde__depot_put(struct sonde__depot *depot, const struct sonde_stack *stack);

/* Find or add the node of a stack and a label (what was called there); such a node calls
 * nothing. NONE: no room, or no stack. */
uint32_t sonde__depot_label(struct sonde__depot *depot, uint32_t id, uint32_t label);

/* The number of such a node; they count from 0 in the order in which they were made. */
uint32_t sonde__depot_label_number(const struct sonde__depot *depot, uint32_t id);

/* Find the stack and the label by this number. NONE: no node has this number (yet; if two
 * threads add the same label at once, one of their numbers may never be used). */
uint32_t sonde__depot_labelled(const struct sonde__depot *depot, uint32_t number,
                               uint32_t *ret_label);

/* The root of stacks with this end reason (enum sonde_end_reason). */
static inline uint32_t sonde__depot_root(uint8_t end)
{
    return SONDE__DEPOT_ROOT + end;
}

/* May frames be added to the node: is it known, and was no image of it unloaded? */
bool sonde__depot_is_open(const struct sonde__depot *depot, uint32_t id);

/* For a known id: was an image of it unloaded? */
bool sonde__depot_is_closed(const struct sonde__depot *depot, uint32_t id);

/* Read a node: its word and its caller. False: `id` is no node. */
bool sonde__depot_node(const struct sonde__depot *depot, uint32_t id, uint64_t *ret_frame,
                       uint32_t *ret_caller);

/* Read the stack of `id` into stack's arrays: pcs, how (flags and SONDE_FOUND_CFI), end, lost
 * frames. Its async fields are empty. False: no such stack. */
bool sonde__depot_get(const struct sonde__depot *depot, uint32_t id, struct sonde_stack *stack);

typedef bool sonde__depot_is_kept(void *ctx, uint64_t pc);

/* [start, end) was unloaded: close the nodes of its code and all inward. Returns how many. */
uint32_t sonde__depot_close(struct sonde__depot *depot, uint64_t start, uint64_t end);

/* The same for all addresses that are not kept. */
uint32_t sonde__depot_close_others(struct sonde__depot *depot, sonde__depot_is_kept *is_kept,
                                   void *ctx);

struct sonde__depot_stat {
    uint32_t nodes;   /* in use, of frames and labels */
    uint32_t labels;  /* numbers given to labels */
    uint32_t closed;  /* nodes that are closed */
    uint32_t wasted;  /* lost when threads added the same frame at once */
    uint64_t dropped; /* frames without room */
    uint64_t bytes;   /* of memory used, with tables */
};
struct sonde__depot_stat sonde__depot_stat(const struct sonde__depot *depot);

#endif
