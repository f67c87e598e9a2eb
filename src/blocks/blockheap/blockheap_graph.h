// SPDX-License-Identifier: Apache-2.0
/* The graph of who holds what: blocks, boxes of their __block variables, and the objects they lead
 * to.
 *
 * A block's edges are its captures, owned if its helpers say so (a layout is not enough). The words
 * of a captured C++ object are edges of the block, owned if the type is known to own its target,
 * else `maybe`. An object's edges are its words that lead to nodes, owned if the class lists them
 * as strong, else `maybe`. In memory of unknown layout that such objects lead to, each word that
 * can be a pointer is a `maybe` edge. Context: any thread, one at a time. */
#ifndef SONDE_BLOCKHEAP_GRAPH_H
#define SONDE_BLOCKHEAP_GRAPH_H

#include "block_captures.h"
#include "blockheap.h"

enum { SONDE__BLOCKHEAP_CAPTURES_MAX = 256 };

/* A capture of all blocks with one descriptor, or the content of a box. */
struct sonde__blockheap_capture {
    uint32_t offset, size;
    uint8_t kind;     /* enum sonde_block_kind */
    uint32_t sources; /* mask of 1 << enum sonde_block_source with this kind; 0: none */
    bool owned;       /* the block keeps it alive */
    bool inside;      /* a part of the C++ object before it */
    uint8_t denied;   /* the kind given by another source; SONDE_BLOCK_UNKNOWN: none disagrees */
    uint8_t denied_by;
    const char *type; /* encoded; not NUL-terminated; null: not known */
    uint32_t type_size;
    const struct sonde__block_member *variable; /* from debug information; null: unknown */
};

struct sonde__blockheap_captures {
    uint32_t count;
    uint32_t lost;       /* captures without room */
    uint32_t block_size; /* size of such a block; 0 for a box */
    const char *problem; /* what could not be read (static text), or null */
    /* By offset. Last member, because cached lists are allocated only as long as needed. */
    struct sonde__blockheap_capture items[SONDE__BLOCKHEAP_CAPTURES_MAX];
};

/* Get the captured variables of the block with function `invoke` from debug information, by offset.
 * Called once for each kind of block; the result must stay valid until the heap is closed. Returns
 * their number; 0: unknown. */
typedef size_t sonde__blockheap_variables(void *ctx, uint64_t invoke,
                                          const struct sonde__block_member **ret_variables);
/* Set this function. Without it captures have no names. */
void sonde__blockheap_set_variables(struct sonde__blockheap *heap,
                                    sonde__blockheap_variables *variables, void *ctx);

/* The captures of a block, by its descriptor and flags; cached until the heap is closed.
 * invoke: its function, for names of variables; 0: no names, and debug information is not read.
 * Null: unreadable descriptor, or no memory. */
const struct sonde__blockheap_captures *sonde__blockheap_captures(struct sonde__blockheap *heap,
                                                                  uint64_t descriptor,
                                                                  uint32_t flags, uint64_t invoke);

/* The content of a box' variable.
 * variable: of the capture of the box, or null; needed if the variable lies after padding.
 * Returns OK | UNREADABLE | CORRUPT | MEMORY. */
SONDE_NODISCARD enum sonde_status sonde__blockheap_byref(
    struct sonde__blockheap *heap, uint64_t address, const struct sonde__block_member *variable,
    struct sonde__block_byref *ret_byref, struct sonde__blockheap_captures *ret_captures);

/* As sonde__block_unwrap(); a wrapped block must also have a class of blocks. */
bool sonde__blockheap_unwrap(struct sonde__blockheap *heap, uint64_t address, uint32_t size,
                             struct sonde__block_wrapped *ret_wrapped);

enum { SONDE__BLOCKHEAP_NAME_MAX = 96 };

/* An object's class, found by its first word. The name must be plausible. */
struct sonde__blockheap_object {
    char name[SONDE__BLOCKHEAP_NAME_MAX];
    uint32_t size; /* bytes of an instance; 0: not known */
    uint64_t class_at;
    bool has_strong;    /* `strong` is known */
    uint64_t strong[4]; /* bit mask of the strong variables among the first 256 words */
};
/* False: no object of a known form at `address`. */
bool sonde__blockheap_object_at(struct sonde__blockheap *heap, uint64_t address,
                                struct sonde__blockheap_object *ret_object);

struct sonde__blockheap_variable {
    char of[SONDE__BLOCKHEAP_NAME_MAX]; /* the declaring class: the object's, or a superclass */
    char name[SONDE__BLOCKHEAP_NAME_MAX];
};
/* The variable at an offset of a class' objects, from the class' list in an image. False: not
 * listed. */
bool sonde__blockheap_object_variable(struct sonde__blockheap *heap, uint64_t class_at,
                                      uint32_t offset, struct sonde__blockheap_variable *ret_name);

struct sonde__blockheap_edge {
    uint64_t from, to;
    uint32_t offset; /* of the capture or variable, or of the word in a C++ object */
    int32_t inner;   /* offset in the captured box; -1: no box */
    uint8_t kind;    /* enum sonde_block_kind; OBJECT: a word in a captured C++ object */
    bool owned;
    bool maybe;     /* whether it is owned is unknown */
    bool by_object; /* `from` is not a block */
    bool by_memory; /* memory of unknown layout. Offset 0: `from` is inside of `to` */
};

/* Does an object of this C++ type own what its words point to? */
enum sonde__blockheap_owner {
    SONDE__BLOCKHEAP_OWNER_UNKNOWN,
    SONDE__BLOCKHEAP_OWNER,     /* std::shared_ptr, std::unique_ptr */
    SONDE__BLOCKHEAP_NOT_OWNER, /* std::weak_ptr */
};
/* Judged by the variable's type, or by the type encoded in a helper's name.
 * in_box: the capture is the content of a box. */
enum sonde__blockheap_owner
sonde__blockheap_owner_of(const struct sonde__blockheap_capture *capture, bool in_box);

struct sonde__blockheap_graph {
    struct sonde__blockheap_edge *edges; /* by `from` */
    uint32_t *by_to;                     /* indexes into `edges`, by `to` */
    size_t count, capacity;
    uint64_t lost; /* edges, blocks, objects and memory over the limits */
};

/* Returns OK | MEMORY. Ownership: _graph_done(). */
SONDE_NODISCARD enum sonde_status sonde__blockheap_graph(struct sonde__blockheap *heap,
                                                         const struct sonde__blockheap_found *found,
                                                         struct sonde__blockheap_graph *ret_graph,
                                                         struct sonde_error *ret_error);
void sonde__blockheap_graph_done(struct sonde__blockheap_graph *graph);

/* The edges to `address`: graph->edges[graph->by_to[*ret_first + i]]. Returns their number. */
size_t sonde__blockheap_to(const struct sonde__blockheap_graph *graph, uint64_t address,
                           size_t *ret_first);
/* The edges of `address`: graph->edges[*ret_first + i]. */
size_t sonde__blockheap_from(const struct sonde__blockheap_graph *graph, uint64_t address,
                             size_t *ret_first);

/* Where a search from an address back through memory of unknown layout ends: at an edge of a block
 * or object. */
struct sonde__blockheap_root {
    uint32_t edge;   /* index of the block's or object's edge */
    uint32_t places; /* number of places in memory on the way; at least 1 */
    uint32_t last;   /* index of the edge to the address, or to its allocation */
};
/* Find the blocks and objects that lead to `address`, or to its allocation, through such memory: by
 * shortest paths, nearest first, each once, except those that lead to `address` directly.
 * inside  the start of the allocation with `address`; else the same address
 * Returns their number, at most `max`. */
size_t sonde__blockheap_roots(const struct sonde__blockheap_graph *graph, uint64_t address,
                              uint64_t inside, struct sonde__blockheap_root *ret_roots, size_t max);

/* The allocation in glibc's heap that contains an address. False: unknown. */
bool sonde__blockheap_allocation(struct sonde__blockheap *heap, uint64_t address,
                                 uint64_t *ret_start, uint64_t *ret_size);

/* The shortest cycle through `address` of owned or `maybe` edges, as indexes of edges. Returns its
 * length; 0: none of at most `max`. */
size_t sonde__blockheap_cycle(const struct sonde__blockheap_graph *graph, uint64_t address,
                              uint32_t *ret_edges, size_t max);

#endif
