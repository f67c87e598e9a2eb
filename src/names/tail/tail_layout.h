// SPDX-License-Identifier: Apache-2.0
/* The format of a tail graph and of its call sites (docs/index-format.md), for writer (tail_make.c)
 * and reader (tail_graph.c). */
#ifndef SONDE_TAIL_LAYOUT_H
#define SONDE_TAIL_LAYOUT_H

#include <stdint.h>

#include "base_bytes.h"

/* Header of the graph, offsets of its fields. */
enum {
    TAIL_AT_NODE_COUNT = 0, /* without the terminating one */
    TAIL_AT_EDGE_COUNT = 4,
    TAIL_AT_MAIN = 8,    /* node + 1 of the main function, whose result exit() gets; 0: unknown */
    TAIL_AT_WIDTHS = 12, /* 6 bytes; 2 of 0 */
    TAIL_GRAPH_HEADER = 20,
};
/* Header of the call sites. */
enum {
    TAIL_AT_SITE_COUNT = 0,
    TAIL_AT_SITE_WIDTHS = 4, /* 2 bytes; 2 of 0 */
    TAIL_SITES_HEADER = 8,
};

/* A jump to another image: start of the function, word, 1 + place of the jump or 0. */
#define TAIL_EXTERNAL_BYTES 12u

/* A call of another image's function: return address, word. */
#define TAIL_LEAVING_CALL_BYTES 8u

enum tail_width {
    /* of a node */
    TAIL_WIDTH_START,
    TAIL_WIDTH_SIZE,
    TAIL_WIDTH_OWNER, /* 1 + the node that it is a part of; 0: it is a function */
    TAIL_WIDTH_EDGE,  /* its first edge; those of the next node follow */
    /* of an edge */
    TAIL_WIDTH_TO,    /* node */
    TAIL_WIDTH_PLACE, /* 1 + an offset in the jump; 0: there are several, or it is unknown */
    TAIL_WIDTH_COUNT,
};
#define TAIL_FLAG_BITS 3u /* behind the owner: enum sonde__tail_flags */

enum { TAIL_SITE_WIDTH_BACK, TAIL_SITE_WIDTH_TO, TAIL_SITE_WIDTH_COUNT };

/* Zero bytes after packed fields, because a field is read as eight bytes. */
#define TAIL_PAD 8u

/* `width` (0 to 32) bits at bit `at`. */
static inline uint32_t tail_bits(const uint8_t *p, uint64_t at, unsigned width)
{
    const uint8_t *from = p + (at >> 3);
    uint64_t word = sonde__base_le64(from);
    return (uint32_t)(word >> (at & 7) & (((uint64_t)1 << width) - 1));
}

#endif
