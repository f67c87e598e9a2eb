// SPDX-License-Identifier: Apache-2.0
/* Who holds what: blocks, the boxes of their __block variables, and the objects they lead to.
 *
 * The edges of a block are its captures; they are owned if its helpers say so, never because its
 * layout does. The words of a captured C++ object are edges of the block: owned if the type is
 * known to own what it points to, else `maybe`. The edges of an object are its words that lead to
 * nodes: owned if its class lists them as strong, else `maybe`. Where C++ objects and objects of
 * unknown layout lead to memory of unknown form, each word there that can be a pointer is a `maybe`
 * edge. Context: any thread, one at a time. */
#ifndef SONDE_BLOCKHEAP_GRAPH_H
#define SONDE_BLOCKHEAP_GRAPH_H

#include "block_captures.h"
#include "blockheap.h"

enum { SONDE__BLOCKHEAP_CAPTURES_MAX = 256 };

/* A capture of all blocks with one descriptor, or the content of a box. */
struct sonde__blockheap_capture {
    uint32_t offset, size;
    uint8_t kind;     /* enum sonde_block_kind */
    uint32_t sources; /* flags 1 << enum sonde_block_source: the sources of this kind; 0: none */
    bool owned;       /* the block keeps it alive */
    bool inside;      /* a part of the C++ object before it */
    uint8_t denied;   /* the kind that another source says (SONDE_BLOCK_UNKNOWN: none does) */
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
    /* By offset. Last: cached lists are allocated only as long as they are used. */
    struct sonde__blockheap_capture items[SONDE__BLOCKHEAP_CAPTURES_MAX];
};

/* The captured variables of the block whose function begins at `invoke`, from debug information, by
 * offset. Called again for each kind of block; the result must stay until the heap is closed.
 * Returns how many; 0: unknown. */
typedef size_t sonde__blockheap_variables(void *ctx, uint64_t invoke,
                                          const struct sonde__block_member **ret_variables);
/* Set that function; without it captures have no names. */
void sonde__blockheap_set_variables(struct sonde__blockheap *heap,
                                    sonde__blockheap_variables *variables, void *ctx);

/* What a block holds, by its descriptor and flags; cached until the heap is closed.
 * invoke: its function, for the names of variables; 0: without names, which spares reading debug
 * information.
 * Null: its descriptor cannot be read, or no memory. */
const struct sonde__blockheap_captures *sonde__blockheap_captures(struct sonde__blockheap *heap,
                                                                  uint64_t descriptor,
                                                                  uint32_t flags, uint64_t invoke);

/* What the variable of a box holds.
 * variable: of the capture that leads to the box, or null; needed where the variable lies after
 * padding.
 * Returns OK | UNREADABLE | CORRUPT | MEMORY. */
SONDE_NODISCARD enum sonde_status sonde__blockheap_byref(
    struct sonde__blockheap *heap, uint64_t address, const struct sonde__block_member *variable,
    struct sonde__block_byref *ret_byref, struct sonde__blockheap_captures *ret_captures);

/* As sonde__block_unwrap(); a wrapped block must have a class of blocks. */
bool sonde__blockheap_unwrap(struct sonde__blockheap *heap, uint64_t address, uint32_t size,
                             struct sonde__block_wrapped *ret_wrapped);

enum { SONDE__BLOCKHEAP_NAME_MAX = 96 };

/* The class of an object, as its first word leads to it; the name must be a possible one. */
struct sonde__blockheap_object {
    char name[SONDE__BLOCKHEAP_NAME_MAX];
    uint32_t size; /* bytes of an instance; 0: not known */
    uint64_t class_at;
    bool has_strong;    /* `strong` is known */
    uint64_t strong[4]; /* a bit for each of the first 256 words: a strong variable */
};
/* False: no object of a known form is at `address`. */
bool sonde__blockheap_object_at(struct sonde__blockheap *heap, uint64_t address,
                                struct sonde__blockheap_object *ret_object);

struct sonde__blockheap_variable {
    char of[SONDE__BLOCKHEAP_NAME_MAX]; /* the class that declares it: the object's, or a superclass
                                         */
    char name[SONDE__BLOCKHEAP_NAME_MAX];
};
/* The variable at an offset of the objects of a class, from the class's own list in an image.
 * False: not listed. */
bool sonde__blockheap_object_variable(struct sonde__blockheap *heap, uint64_t class_at,
                                      uint32_t offset, struct sonde__blockheap_variable *ret_name);

struct sonde__blockheap_edge {
    uint64_t from, to;
    uint32_t offset; /* of the capture or variable; or of the word in a C++ object */
    int32_t inner;   /* offset in the box that the capture leads to; -1: directly */
    uint8_t kind;    /* enum sonde_block_kind; OBJECT: a word in a captured C++ object */
    bool owned;
    bool maybe;     /* whether it is owned is unknown */
    bool by_object; /* `from` is no block */
    bool by_memory; /* memory of unknown form. Offset 0: `from` is inside of `to` */
};

/* Does an object of this C++ type own what its words point to? */
enum sonde__blockheap_owner {
    SONDE__BLOCKHEAP_OWNER_UNKNOWN,
    SONDE__BLOCKHEAP_OWNER,     /* std::shared_ptr, std::unique_ptr */
    SONDE__BLOCKHEAP_NOT_OWNER, /* std::weak_ptr */
};
/* By the type of the variable, or the one that is encoded in the name of a helper.
 * in_box: the capture is the content of a box. */
enum sonde__blockheap_owner
sonde__blockheap_owner_of(const struct sonde__blockheap_capture *capture, bool in_box);

struct sonde__blockheap_graph {
    struct sonde__blockheap_edge *edges; /* by `from` */
    uint32_t *by_to;                     /* their indices, by `to` */
    size_t count, capacity;
    uint64_t lost; /* edges, blocks, objects and memory that were left out beyond the limits */
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

/* The end of a search from an address back over memory of unknown form: an edge of a block or
 * object. */
struct sonde__blockheap_root {
    uint32_t edge;   /* index: of the block or object */
    uint32_t places; /* in memory on the way; at least 1 */
    uint32_t last;   /* index: the edge that leads to the address, or to its allocation */
};
/* The blocks and objects that lead to `address` through such memory, or to its allocation: on
 * shortest paths, nearest first, each once, without those that lead to `address` directly.
 * inside  the start of the allocation that `address` is in; else the same address
 * Returns how many, `max` at most. */
size_t sonde__blockheap_roots(const struct sonde__blockheap_graph *graph, uint64_t address,
                              uint64_t inside, struct sonde__blockheap_root *ret_roots, size_t max);

/* The allocation of the C library's heap (glibc) that an address is in. False: unknown. */
bool sonde__blockheap_allocation(struct sonde__blockheap *heap, uint64_t address,
                                 uint64_t *ret_start, uint64_t *ret_size);

/* The shortest cycle of owned edges (`maybe` ones count) through `address`, as indices of edges.
 * Returns its length; 0: there is none of at most `max`. */
size_t sonde__blockheap_cycle(const struct sonde__blockheap_graph *graph, uint64_t address,
                              uint32_t *ret_edges, size_t max);

#endif
