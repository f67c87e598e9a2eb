// SPDX-License-Identifier: Apache-2.0
/* The graph of tail calls between an image's functions, and the frames that they explain between
 * two adjacent frames.
 *
 * A stack shows A as the caller of C. If A's call instruction calls B, not C, then B left by a tail
 * call. If the graph of all tail calls has exactly one way from B to C, the functions on it are the
 * missing frames. If there are several, none is chosen. A function that jumps through a register or
 * to another image can have further ways.
 *
 * The graph is a byte string (docs/index-format.md), in an index file or made from code
 * (tail_code.h). Its contents are not trusted, and a search takes bounded time and memory. Offsets
 * are from the image's base, as its maker chose it. The bytes must outlive the graph. Context: any
 * thread, any number at a time; no heap. */
#ifndef SONDE_TAIL_GRAPH_H
#define SONDE_TAIL_GRAPH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "symbol_answer.h"

struct sonde__tail_graph {
    const uint8_t *nodes, *edges, *sites; /* after their headers */
    uint32_t node_count, edge_count, site_count;
    uint32_t main;            /* node + 1; 0: unknown */
    const uint8_t *externals; /* jumps to other images, by function */
    uint32_t external_count;
    const uint8_t *leaving_calls; /* calls of other images' functions, by return address */
    uint32_t leaving_call_count;
    uint8_t widths[6], site_widths[2];
    uint32_t node_bits, edge_bits, site_bits;
};

/* What a graph was made from. */
enum sonde__tail_sources {
    SONDE__TAIL_FROM_CODE = 1,
    SONDE__TAIL_FROM_SITES = 2, /* the debug information's call sites */
};
struct sonde__tail_origin {
    uint32_t sources;   /* enum sonde__tail_sources */
    uint32_t functions; /* functions on which the two disagree; they are open */
    uint32_t calls;     /* calls on which they disagree; they are dropped */
};

/* False: not a graph, or empty views; *ret_graph is then empty. */
bool sonde__tail_open(const uint8_t *graph, size_t graph_size, const uint8_t *sites,
                      size_t sites_size, struct sonde__tail_graph *ret_graph);

/* Add the jumps to other images and the calls of other images' functions, which are stored
 * separately. */
void sonde__tail_add_externals(struct sonde__tail_graph *graph, const uint8_t *externals,
                               size_t size);
void sonde__tail_add_leaving_calls(struct sonde__tail_graph *graph, const uint8_t *calls,
                                   size_t size);

/* Functions visited by one search, at most. */
#define SONDE__TAIL_NODES_MAX 1024u

enum sonde__tail_answer {
    SONDE__TAIL_NOTHING, /* nothing missing, or nothing known */
    SONDE__TAIL_FRAMES,
    SONDE__TAIL_SEVERAL, /* frames are missing in several ways; the given one is in all */
    /* The call sends a message of Objective-C, and the inner frame is no method with its selector.
     * The given frames, of such a method, would explain that, but another image's could, too. None
     * is given if several ways would. */
    SONDE__TAIL_POSSIBLE,
};

struct sonde__tail_frame {
    uint32_t entry; /* of the function */
    uint32_t place; /* in its jump; its entry if there are several jumps or none is known */
};

struct sonde__tail_found {
    struct sonde__tail_frame
        frames[SONDE__TAIL_FRAMES_MAX]; /* innermost first; the last one is the called function */
    uint32_t count;
    uint32_t ways; /* SEVERAL: number of ways; UINT32_MAX: unlimited (cycles, an unknown target;
                    * always of POSSIBLE) */
};

/* Find the function that is entered by the call before `back` (a return address). False: unknown,
 * or it makes no tail calls. ret_is_main: it is the program's main function instead of
 * *ret_entry. */
bool sonde__tail_site(const struct sonde__tail_graph *graph, uint32_t back, uint32_t *ret_entry,
                      bool *ret_is_main);

/* Find the word through which the call before `back` calls another image's function. False: it is
 * not such a call. */
bool sonde__tail_leaving_call(const struct sonde__tail_graph *graph, uint32_t back,
                              uint32_t *ret_cell);

/* The program's main function. False: unknown, or it makes no tail calls. */
bool sonde__tail_main(const struct sonde__tail_graph *graph, uint32_t *ret_entry);

/* The frames missing between a caller, which called the function at `entry`, and its inner frame,
 * whose pc is `inner` (for a return address: minus 1). */
enum sonde__tail_answer sonde__tail_between(const struct sonde__tail_graph *graph, uint32_t entry,
                                            uint32_t inner, struct sonde__tail_found *ret_found);

/* --- reading a graph --- */

enum sonde__tail_flags {
    SONDE__TAIL_OPEN = 1,     /* may jump to unknown places */
    SONDE__TAIL_EXTERNAL = 2, /* jumps to functions of other images */
    SONDE__TAIL_INDIRECT = 4, /* OPEN because of a jump through a register or a variable, not
                                 because its code or bounds are in doubt */
    /* INDIRECT alone: no function, but what a message with one selector leads to: the methods of
     * this image with that selector, or another image's. */
    SONDE__TAIL_MESSAGE = SONDE__TAIL_INDIRECT,
};

struct sonde__tail_node {
    uint32_t start, size;
    uint32_t owner; /* the node of its function: itself, or the function that it is a part of */
    uint32_t flags; /* enum sonde__tail_flags */
    uint32_t first_edge, edge_count;
};
/* Read node `number`. False: none, or damage. */
bool sonde__tail_node(const struct sonde__tail_graph *graph, uint32_t number,
                      struct sonde__tail_node *ret_node);
/* The node whose code contains an offset; UINT32_MAX: none. */
uint32_t sonde__tail_node_at(const struct sonde__tail_graph *graph, uint32_t offset);
/* Target node of edge `number`; UINT32_MAX: none. ret_place: UINT32_MAX: unknown. */
uint32_t sonde__tail_edge(const struct sonde__tail_graph *graph, uint32_t number,
                          uint32_t *ret_place);

/* Jump `i` to another image of the function that starts at an offset. False: there are no more. A
 * function with the flag EXTERNAL but without such jumps has them only in its debug information.
 * ret_cell: offset of the word that it goes through; ret_place: UINT32_MAX: unknown. */
bool sonde__tail_external(const struct sonde__tail_graph *graph, uint32_t start, uint32_t i,
                          uint32_t *ret_cell, uint32_t *ret_place);

/* --- the search over functions of any source --- */

/* Functions are numbers chosen by the caller. */
struct sonde__tail_source {
    void *ctx;
    /* Get a function's flags and number of jumps. False: unknown. */
    bool (*function)(void *ctx, uint32_t function, uint32_t *ret_flags, uint32_t *ret_jumps);
    /* Get its jump `i`. ret_place: UINT32_MAX: unknown. False: damage, or no memory. */
    bool (*jump)(void *ctx, uint32_t function, uint32_t i, uint32_t *ret_to, uint32_t *ret_place);
};

struct sonde__tail_way {
    struct {
        uint32_t function, place;
    } frames[SONDE__TAIL_FRAMES_MAX]; /* as struct sonde__tail_found */
    uint32_t count, ways;
};

/* Search the ways from the called function to the inner frame's function. */
enum sonde__tail_answer sonde__tail_search(const struct sonde__tail_source *source, uint32_t from,
                                           uint32_t to, struct sonde__tail_way *ret_way);

#endif
