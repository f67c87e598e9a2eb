// SPDX-License-Identifier: Apache-2.0
/* Queries on a graph of who holds what. */
#include <string.h>

#include "base_search.h"
#include "blockheap_graph.h"
#include "mem_heap.h"

size_t sonde__blockheap_to(const struct sonde__blockheap_graph *graph, uint64_t address,
                           size_t *ret_first)
{
    size_t end;
    size_t at = SONDE__SEARCH(0, graph->count, i, graph->edges[graph->by_to[i]].to < address);
    for (end = at; end < graph->count && graph->edges[graph->by_to[end]].to == address; end++) {
    }
    *ret_first = at;
    return end - at;
}

size_t sonde__blockheap_from(const struct sonde__blockheap_graph *graph, uint64_t address,
                             size_t *ret_first)
{
    size_t end;
    size_t at = SONDE__SEARCH(0, graph->count, i, graph->edges[i].from < address);
    for (end = at; end < graph->count && graph->edges[end].from == address; end++) {
    }
    *ret_first = at;
    return end - at;
}

/* Breadth-first search over edges. `came` has the edge before each, by the first edge of its
 * node. */
size_t sonde__blockheap_cycle(const struct sonde__blockheap_graph *graph, uint64_t address,
                              uint32_t *ret_edges, size_t max)
{
    enum { NOT_SEEN = -1, BEGIN = -2 };
    int64_t *came = sonde__mem_alloc_array(graph->count + 1, sizeof *came);
    uint32_t *queue = sonde__mem_alloc_array(graph->count + 1, sizeof *queue);
    size_t first, count, head = 0, tail = 0, length = 0;
    int64_t last = NOT_SEEN;
    if (came != NULL && queue != NULL) {
        for (size_t i = 0; i < graph->count; i++) {
            came[i] = NOT_SEEN;
        }
        count = sonde__blockheap_from(graph, address, &first);
        for (size_t i = 0; i < count; i++) {
            if (graph->edges[first + i].owned) {
                came[first + i] = BEGIN;
                queue[tail++] = (uint32_t)(first + i);
            }
        }
        while (head < tail && last == NOT_SEEN) {
            uint32_t edge = queue[head++];
            if (graph->edges[edge].to == address) {
                last = edge;
                break;
            }
            count = sonde__blockheap_from(graph, graph->edges[edge].to, &first);
            for (size_t i = 0; i < count; i++) {
                if (graph->edges[first + i].owned && came[first + i] == NOT_SEEN) {
                    came[first + i] = edge;
                    queue[tail++] = (uint32_t)(first + i);
                }
            }
        }
        for (int64_t e = last; e >= 0; e = came[e]) {
            length++;
        }
        if (length > max) {
            length = 0;
        } else {
            size_t i = length;
            for (int64_t e = last; e >= 0; e = came[e]) {
                ret_edges[--i] = (uint32_t)e;
            }
        }
    }
    sonde__mem_free(came);
    sonde__mem_free(queue);
    return length;
}

/* --- backwards through memory --- */

struct back {
    const struct sonde__blockheap_graph *graph;
    uint64_t address;
    bool *seen;              /* by edge */
    uint32_t *queue;         /* edges of memory */
    uint32_t *last, *places; /* for each edge */
    size_t tail;
    struct sonde__blockheap_root *roots;
    size_t count, max;
};

/* Was it reported already, as a root or as a direct holder? */
static bool is_listed(const struct back *b, uint64_t from)
{
    size_t first, count = sonde__blockheap_to(b->graph, b->address, &first);
    for (size_t i = 0; i < b->count; i++) {
        if (b->graph->edges[b->roots[i].edge].from == from) {
            return true;
        }
    }
    for (size_t i = 0; i < count; i++) {
        if (b->graph->edges[b->graph->by_to[first + i]].from == from) {
            return true;
        }
    }
    return false;
}

/* Follow the edges to `to`.
 * before: the edge that continues from there; null: start of the search. */
static void step_back(struct back *b, uint64_t to, const uint32_t *before)
{
    size_t first, count = sonde__blockheap_to(b->graph, to, &first);
    for (size_t i = 0; i < count; i++) {
        uint32_t at = b->graph->by_to[first + i];
        const struct sonde__blockheap_edge *edge = &b->graph->edges[at];
        if (!edge->owned || b->seen[at]) {
            continue;
        }
        b->seen[at] = true;
        b->last[at] = before != NULL ? b->last[*before] : at;
        b->places[at] = before != NULL ? b->places[*before] + 1 : 0;
        if (edge->by_memory) {
            b->queue[b->tail++] = at;
        } else if ((before != NULL || to != b->address) && b->count < b->max &&
                   !is_listed(b, edge->from)) {
            b->roots[b->count++] = (struct sonde__blockheap_root){at, b->places[at], b->last[at]};
        }
    }
}

size_t sonde__blockheap_roots(const struct sonde__blockheap_graph *graph, uint64_t address,
                              uint64_t inside, struct sonde__blockheap_root *ret_roots, size_t max)
{
    struct back b = {.graph = graph, .address = address, .roots = ret_roots, .max = max};
    b.seen = sonde__mem_alloc_zeroed((graph->count + 1) * sizeof *b.seen);
    b.queue = sonde__mem_alloc_array(graph->count + 1, sizeof *b.queue);
    b.last = sonde__mem_alloc_array(graph->count + 1, sizeof *b.last);
    b.places = sonde__mem_alloc_array(graph->count + 1, sizeof *b.places);
    if (b.seen != NULL && b.queue != NULL && b.last != NULL && b.places != NULL) {
        step_back(&b, address, NULL);
        if (inside != address) {
            step_back(&b, inside, NULL);
        }
        for (size_t head = 0; head < b.tail && b.count < max; head++) {
            step_back(&b, graph->edges[b.queue[head]].from, &b.queue[head]);
        }
    }
    sonde__mem_free(b.seen);
    sonde__mem_free(b.queue);
    sonde__mem_free(b.last);
    sonde__mem_free(b.places);
    return b.count;
}
