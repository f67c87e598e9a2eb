// SPDX-License-Identifier: Apache-2.0
/* Functions, jumps between them and calls -> the bytes of a tail graph and its call sites.
 *
 * The caller has decided what functions and parts are, which jumps are tail calls, and which
 * functions are OPEN. Functions that no call site leads to, and call sites of functions without
 * tail calls, are dropped here. Context: any thread. */
#ifndef SONDE_TAIL_MAKE_H
#define SONDE_TAIL_MAKE_H

#include <sonde/status.h>

#include "tail_graph.h"

#define SONDE__TAIL_NONE UINT32_MAX
/* Call target for the program's main function, whose result is passed to exit(). */
#define SONDE__TAIL_MAIN (UINT32_MAX - 1)

struct sonde__tail_function {
    uint32_t start, end; /* offsets */
    uint32_t owner;      /* index of itself, or of the function that it is a part of */
    uint32_t flags;      /* enum sonde__tail_flags */
};

struct sonde__tail_jump {
    uint32_t from, to; /* indexes of functions */
    uint32_t place;    /* an offset in the jump */
};

struct sonde__tail_call {
    uint32_t back; /* the return address' offset */
    uint32_t to;   /* index of a function, or SONDE__TAIL_MAIN */
};

/* A jump to another image's function. */
struct sonde__tail_external {
    uint32_t from;  /* index of a function */
    uint32_t cell;  /* offset of the word that it goes through */
    uint32_t place; /* offset of the jump */
};

struct sonde__tail_input {
    const struct sonde__tail_function *functions; /* sorted by distinct starts */
    size_t function_count;
    struct sonde__tail_jump *jumps; /* any order; is sorted */
    size_t jump_count;
    struct sonde__tail_call *calls; /* any order; is sorted */
    size_t call_count;
    uint32_t main;                          /* index; NONE: unknown */
    struct sonde__tail_external *externals; /* any order; is sorted */
    size_t external_count;
};

/* A word through which calls and jumps go to another image. */
struct sonde__tail_word {
    uint32_t cell;   /* offset of the word */
    uint32_t symbol; /* index of the dynamic symbol that it is bound to */
};

struct sonde__tail_bytes {
    uint8_t *graph, *sites, *externals, *leaving_calls; /* free with _done() */
    size_t graph_size, sites_size, externals_size, leaving_calls_size;
    struct sonde__tail_word *words; /* by cell */
    size_t word_count;
    uint32_t node_count, edge_count, site_count;
    struct sonde__tail_origin origin; /* set by the caller: what the graph was made from */
};

/* Sort jumps by source function and keep one per pair, with a place only if the pair has one jump;
 * parts are replaced by their functions. Returns their number. */
size_t sonde__tail_jumps_sort(const struct sonde__tail_function *functions,
                              struct sonde__tail_jump *jumps, size_t count);

/* Returns OK | MEMORY. */
SONDE_NODISCARD enum sonde_status sonde__tail_make(const struct sonde__tail_input *input,
                                                   struct sonde__tail_bytes *ret_bytes);
void sonde__tail_bytes_done(struct sonde__tail_bytes *bytes);

#endif
