// SPDX-License-Identifier: Apache-2.0
/* Frames that tail calls took away: which functions of an image leave by a jump to which, and what
 * that says of two neighbours on a stack.
 *
 * A stack shows that A called something that runs C now. When A's call names B and not C, B has
 * left by a tail call. The graph of all such jumps is known, so where one way leads from B to C,
 * the functions on it are the frames that are missing; where several do, which of them it was
 * cannot be known, and is not guessed. A function that may jump to what only a register tells, or
 * to another image, is one on which further ways may begin.
 *
 * The graph stands in bytes (docs/index-format.md), in an index file or made of the code at hand
 * (tail_code.h); nothing in them is believed, and a question takes bounded time and memory. Offsets
 * are from the image's base, as the maker chose it. The bytes must outlive the graph. Context: any
 * thread, any number at a time; no heap. */
#ifndef SONDE_TAIL_GRAPH_H
#define SONDE_TAIL_GRAPH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sonde__tail_graph {
    const uint8_t *nodes, *edges, *sites; /* behind their headers */
    uint32_t node_count, edge_count, site_count;
    uint32_t main;            /* node + 1; 0: unknown */
    const uint8_t *externals; /* jumps to other images, by function */
    uint32_t external_count;
    const uint8_t *leaving_calls; /* calls of other images' functions, by return address */
    uint32_t leaving_call_count;
    uint8_t widths[6], site_widths[2];
    uint32_t node_bits, edge_bits, site_bits;
};

/* What a graph was made of, for those who tell it. */
enum sonde__tail_sources {
    SONDE__TAIL_FROM_CODE = 1,
    SONDE__TAIL_FROM_SITES = 2, /* the debug information's call sites */
};
struct sonde__tail_origin {
    uint32_t sources;   /* enum sonde__tail_sources */
    uint32_t functions; /* that the two say different things of: they are open */
    uint32_t calls;     /* the same, left out */
};

/* False: not a graph; *ret_graph is an empty one, which answers nothing. Empty views are such. */
bool sonde__tail_open(const uint8_t *graph, size_t graph_size, const uint8_t *sites,
                      size_t sites_size, struct sonde__tail_graph *ret_graph);

/* With the jumps to other images, and the calls of their functions, which are bytes of their own.
 */
void sonde__tail_add_externals(struct sonde__tail_graph *graph, const uint8_t *externals,
                               size_t size);
void sonde__tail_add_leaving_calls(struct sonde__tail_graph *graph, const uint8_t *calls,
                                   size_t size);

/* Frames that are put in at one place, at most: chains of tail calls are short (libjvm: up to 6).
 */
#define SONDE__TAIL_FRAMES_MAX 32u

/* Functions that one question looks at, at most. */
#define SONDE__TAIL_NODES_MAX 1024u

enum sonde__tail_answer {
    SONDE__TAIL_NOTHING, /* nothing is missing, or nothing can be said */
    SONDE__TAIL_FRAMES,
    SONDE__TAIL_SEVERAL, /* frames are missing, and there are several ways: all begin with the one
                            frame that is given */
};

struct sonde__tail_frame {
    uint32_t entry; /* of the function */
    uint32_t place; /* in its jump; the entry where there are several jumps or none is known */
};

struct sonde__tail_found {
    struct sonde__tail_frame frames[SONDE__TAIL_FRAMES_MAX]; /* innermost first: the last one is
                                                                what the caller called */
    uint32_t count;
    uint32_t ways; /* SEVERAL: how many, UINT32_MAX: any number (they go round, or lead through a
                      jump to what is not known) */
};

/* What the call before `back` (a return address) enters. False: unknown, or it makes no tail
 * calls. ret_is_main: not that address, but the main function of the program. */
bool sonde__tail_site(const struct sonde__tail_graph *graph, uint32_t back, uint32_t *ret_entry,
                      bool *ret_is_main);

/* The word that the call before `back` goes through, to another image's function. False: it is no
 * such call. */
bool sonde__tail_leaving_call(const struct sonde__tail_graph *graph, uint32_t back,
                              uint32_t *ret_cell);

/* The program's main function. False: unknown, or it makes no tail calls. */
bool sonde__tail_main(const struct sonde__tail_graph *graph, uint32_t *ret_entry);

/* What is missing between a caller, which called the function at `entry`, and the frame that is
 * there, whose pc is `inner` (of a return address: minus 1). */
enum sonde__tail_answer sonde__tail_between(const struct sonde__tail_graph *graph, uint32_t entry,
                                            uint32_t inner, struct sonde__tail_found *ret_found);

/* --- for those who show a graph, or write it in another form --- */

enum sonde__tail_flags {
    SONDE__TAIL_OPEN = 1,     /* may jump to what is not known */
    SONDE__TAIL_EXTERNAL = 2, /* jumps to functions of other images */
    SONDE__TAIL_INDIRECT = 4, /* OPEN because it certainly leaves by a jump through a register or a
                                 variable, not because its code or its bounds are in doubt */
};

struct sonde__tail_node {
    uint32_t start, size;
    uint32_t owner; /* the node of its function: itself, or what it is a part of */
    uint32_t flags; /* enum sonde__tail_flags */
    uint32_t first_edge, edge_count;
};
/* Node `number`. False: no such node, or damage. */
bool sonde__tail_node(const struct sonde__tail_graph *graph, uint32_t number,
                      struct sonde__tail_node *ret_node);
/* The node whose code holds an offset; UINT32_MAX: none. */
uint32_t sonde__tail_node_at(const struct sonde__tail_graph *graph, uint32_t offset);
/* Edge `number`: the node that it leads to; UINT32_MAX: none. ret_place: UINT32_MAX: unknown. */
uint32_t sonde__tail_edge(const struct sonde__tail_graph *graph, uint32_t number,
                          uint32_t *ret_place);

/* Jump `i` to another image of the function that starts at an offset. False: there are no more. A
 * function with the flag EXTERNAL and none of them jumps to what only its debug information names.
 * ret_cell: offset of the word that it goes through; ret_place: UINT32_MAX: unknown. */
bool sonde__tail_external(const struct sonde__tail_graph *graph, uint32_t start, uint32_t i,
                          uint32_t *ret_cell, uint32_t *ret_place);

/* --- the search, for those whose functions are of several images --- */

/* Functions are numbers of the asker's. */
struct sonde__tail_source {
    void *ctx;
    /* A function's flags, and how many functions it jumps to. False: not known. */
    bool (*function)(void *ctx, uint32_t function, uint32_t *ret_flags, uint32_t *ret_jumps);
    /* Jump `i` of it. ret_place: UINT32_MAX: unknown. False: damage, or no memory. */
    bool (*jump)(void *ctx, uint32_t function, uint32_t i, uint32_t *ret_to, uint32_t *ret_place);
};

struct sonde__tail_way {
    struct {
        uint32_t function, place;
    } frames[SONDE__TAIL_FRAMES_MAX]; /* as struct sonde__tail_found */
    uint32_t count, ways;
};

/* The ways from a function that was called to another one, that is there. */
enum sonde__tail_answer sonde__tail_search(const struct sonde__tail_source *source, uint32_t from,
                                           uint32_t to, struct sonde__tail_way *ret_way);

#endif
