// SPDX-License-Identifier: Apache-2.0
/* Who holds what: blocks, the boxes of their __block variables, and the objects that they lead to.
 *
 * An edge of a block is a capture; it is owned when the block's helpers say so, never because its
 * layout does. A word of a captured C++ object is an edge of the block: owned where the type is
 * known to own what it points to, else perhaps. An edge of an object is one of its words that leads
 * to a node: owned where the class says that it is a strong variable, else perhaps. Where C++
 * objects and objects of unknown layout lead to memory of no known form, each word there that can
 * be a pointer is an edge, perhaps. Context: any thread, one at a time. */
#ifndef SONDE_BLOCKHEAP_GRAPH_H
#define SONDE_BLOCKHEAP_GRAPH_H

#include "block_captures.h"
#include "blockheap.h"

enum { SONDE__BLOCKHEAP_CAPTURES_MAX = 256 };

/* One capture of the blocks of one descriptor; or of what a box holds. */
struct sonde__blockheap_capture {
    uint32_t offset, size;
    uint8_t kind; /* enum sonde_block_kind */
    uint32_t
        sources; /* bits 1 << enum sonde_block_source that say this kind; 0: no source knows it */
    bool owned;  /* the block keeps it alive */
    bool inside; /* a part of the C++ object before it */
    uint8_t denied; /* a kind that another source says (SONDE_BLOCK_UNKNOWN: none does) */
    uint8_t denied_by;
    const char *type; /* encoded; not NUL-terminated; null: not known */
    uint32_t type_size;
    const struct sonde__block_member *variable; /* from debug information; null: not known */
};

struct sonde__blockheap_captures {
    uint32_t count;
    uint32_t lost;       /* did not fit */
    uint32_t block_size; /* bytes of such a block; of a box 0 */
    const char *problem; /* what could not be read (static text), or null */
    /* By offset. Last, for of lists that are kept only what is used has memory. */
    struct sonde__blockheap_capture items[SONDE__BLOCKHEAP_CAPTURES_MAX];
};

/* What debug information says of the variables of the block whose function begins at `invoke`, by
 * offset. It is asked again for each kind of block; what it gives must stay until the heap is
 * closed. Returns how many; 0: nothing is known. */
typedef size_t sonde__blockheap_variables(void *ctx, uint64_t invoke,
                                          const struct sonde__block_member **ret_variables);
/* Who knows it; without, captures have no names. */
void sonde__blockheap_set_variables(struct sonde__blockheap *heap,
                                    sonde__blockheap_variables *variables, void *ctx);

/* What a block holds, by its descriptor and flags; kept for the next one of its kind, until the
 * heap is closed. invoke: its function, for the names of variables; 0: without those, which spares
 * reading debug information. Null: its descriptor cannot be read, or no memory. */
const struct sonde__blockheap_captures *sonde__blockheap_captures(struct sonde__blockheap *heap,
                                                                  uint64_t descriptor,
                                                                  uint32_t flags, uint64_t invoke);

/* What the variable of a box holds. variable: of the capture that leads to the box, or null: where
 * the variable lies behind padding, it alone knows. Returns OK | UNREADABLE | CORRUPT | MEMORY. */
SONDE_NODISCARD enum sonde_status sonde__blockheap_byref(
    struct sonde__blockheap *heap, uint64_t address, const struct sonde__block_member *variable,
    struct sonde__block_byref *ret_byref, struct sonde__blockheap_captures *ret_captures);

/* What a block runs in the place of code of its own, as sonde__block_unwrap(); a block that is run
 * has a class that blocks have. */
bool sonde__blockheap_unwrap(struct sonde__blockheap *heap, uint64_t address, uint32_t size,
                             struct sonde__block_wrapped *ret_wrapped);

enum { SONDE__BLOCKHEAP_NAME_MAX = 96 };

/* The class of an object: what leads from its first word to a name that can be one. */
struct sonde__blockheap_object {
    char name[SONDE__BLOCKHEAP_NAME_MAX];
    uint32_t size; /* of an instance; 0: not known */
    uint64_t class_at;
    bool has_strong;    /* `strong` is known */
    uint64_t strong[4]; /* bits of the first 256 words: strong variables */
};
/* False: there is no object of a known form at `address`. */
bool sonde__blockheap_object_at(struct sonde__blockheap *heap, uint64_t address,
                                struct sonde__blockheap_object *ret_object);

struct sonde__blockheap_variable {
    char of[SONDE__BLOCKHEAP_NAME_MAX]; /* the class that declares it: of the object, or above */
    char name[SONDE__BLOCKHEAP_NAME_MAX];
};
/* The variable that begins at an offset of the objects of a class, as the class' own list has it in
 * an image. False: it tells of none. */
bool sonde__blockheap_object_variable(struct sonde__blockheap *heap, uint64_t class_at,
                                      uint32_t offset, struct sonde__blockheap_variable *ret_name);

struct sonde__blockheap_edge {
    uint64_t from, to;
    uint32_t offset; /* of the capture or variable; of a word in a C++ object that word's */
    int32_t inner;   /* in the box that the capture leads to; -1: directly */
    uint8_t kind;    /* enum sonde_block_kind; OBJECT: a word in a captured C++ object */
    bool owned;
    bool maybe;     /* it is not known who owns */
    bool by_object; /* `from` is no block */
    bool by_memory; /* nor an object of a known form. Offset 0: `from` is inside of `to` */
};

/* Does an object of this C++ type own what its words point to? */
enum sonde__blockheap_owner {
    SONDE__BLOCKHEAP_OWNER_UNKNOWN,
    SONDE__BLOCKHEAP_OWNER,     /* std::shared_ptr, std::unique_ptr */
    SONDE__BLOCKHEAP_NOT_OWNER, /* std::weak_ptr */
};
/* By the type of the variable, or the type encoded in a helper's name. in_box: the capture is what
 * a box holds. */
enum sonde__blockheap_owner
sonde__blockheap_owner_of(const struct sonde__blockheap_capture *capture, bool in_box);

struct sonde__blockheap_graph {
    struct sonde__blockheap_edge *edges; /* by `from` */
    uint32_t *by_to;                     /* their indices, by `to` */
    size_t count, capacity;
    uint64_t lost; /* edges, and blocks, objects and memory that were not read, beyond the limits */
};

/* Returns OK | MEMORY. Ownership: _graph_done(). */
SONDE_NODISCARD enum sonde_status sonde__blockheap_graph(struct sonde__blockheap *heap,
                                                         const struct sonde__blockheap_found *found,
                                                         struct sonde__blockheap_graph *ret_graph,
                                                         struct sonde_error *ret_error);
void sonde__blockheap_graph_done(struct sonde__blockheap_graph *graph);

/* The edges that lead to `address`: graph->edges[graph->by_to[*ret_first + i]]. Returns how many.
 */
size_t sonde__blockheap_to(const struct sonde__blockheap_graph *graph, uint64_t address,
                           size_t *ret_first);
/* The edges of `address`: graph->edges[*ret_first + i]. */
size_t sonde__blockheap_from(const struct sonde__blockheap_graph *graph, uint64_t address,
                             size_t *ret_first);

/* Where a search from an address back over memory of no known form ends: an edge of a block or of
 * an object. */
struct sonde__blockheap_root {
    uint32_t edge;   /* index: of the block or object */
    uint32_t places; /* in memory on the way: at least 1 */
    uint32_t last;   /* index: the edge that leads to the address, or to the allocation it is in */
};
/* The blocks and objects that lead to `address` by way of such memory, or that lead to the
 * allocation that it is in, on the shortest ways, nearest first; each block or object once, and
 * none that leads to `address` directly. inside  the start of the allocation that `address` is in;
 * else the same address Returns how many, `max` at most. */
size_t sonde__blockheap_roots(const struct sonde__blockheap_graph *graph, uint64_t address,
                              uint64_t inside, struct sonde__blockheap_root *ret_roots, size_t max);

/* The allocation of the C library's heap (glibc) that an address is in. False: none is known. */
bool sonde__blockheap_allocation(struct sonde__blockheap *heap, uint64_t address,
                                 uint64_t *ret_start, uint64_t *ret_size);

/* The shortest way from `address` back to it over owned edges (`maybe` ones count), as indices of
 * edges. Returns its length, 0: there is none of at most `max`. */
size_t sonde__blockheap_cycle(const struct sonde__blockheap_graph *graph, uint64_t address,
                              uint32_t *ret_edges, size_t max);

#endif
