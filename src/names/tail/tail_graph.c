// SPDX-License-Identifier: Apache-2.0
#include "tail_graph.h"

#include <string.h>

#include "base_search.h"
#include "tail_layout.h"

static bool widths_fit(const uint8_t *widths, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        if (widths[i] > 32) {
            return false;
        }
    }
    return true;
}

static uint64_t packed_bytes(uint64_t count, uint32_t bits)
{
    return (count * bits + 7) / 8 + TAIL_PAD;
}

static bool open_sites(const uint8_t *sites, size_t size, struct sonde__tail_graph *graph)
{
    if (size < TAIL_SITES_HEADER) {
        return false;
    }
    graph->site_count = sonde__base_le32(sites + TAIL_AT_SITE_COUNT);
    memcpy(graph->site_widths, sites + TAIL_AT_SITE_WIDTHS, sizeof graph->site_widths);
    graph->site_bits =
        (uint32_t)graph->site_widths[TAIL_SITE_WIDTH_BACK] + graph->site_widths[TAIL_SITE_WIDTH_TO];
    graph->sites = sites + TAIL_SITES_HEADER;
    return widths_fit(graph->site_widths, TAIL_SITE_WIDTH_COUNT) && graph->site_bits != 0 &&
           packed_bytes(graph->site_count, graph->site_bits) <= size - TAIL_SITES_HEADER;
}

bool sonde__tail_open(const uint8_t *graph, size_t graph_size, const uint8_t *sites,
                      size_t sites_size, struct sonde__tail_graph *ret_graph)
{
    struct sonde__tail_graph g = {0};
    uint64_t node_bytes;
    memset(ret_graph, 0, sizeof *ret_graph);
    if (graph_size < TAIL_GRAPH_HEADER) {
        return false;
    }
    g.node_count = sonde__base_le32(graph + TAIL_AT_NODE_COUNT);
    g.edge_count = sonde__base_le32(graph + TAIL_AT_EDGE_COUNT);
    g.main = sonde__base_le32(graph + TAIL_AT_MAIN);
    memcpy(g.widths, graph + TAIL_AT_WIDTHS, sizeof g.widths);
    if (!widths_fit(g.widths, TAIL_WIDTH_COUNT) || g.node_count == UINT32_MAX) {
        return false;
    }
    g.node_bits = (uint32_t)g.widths[TAIL_WIDTH_START] + g.widths[TAIL_WIDTH_SIZE] +
                  g.widths[TAIL_WIDTH_OWNER] + TAIL_FLAG_BITS + g.widths[TAIL_WIDTH_EDGE];
    g.edge_bits = (uint32_t)g.widths[TAIL_WIDTH_TO] + g.widths[TAIL_WIDTH_PLACE];
    node_bytes = packed_bytes((uint64_t)g.node_count + 1, g.node_bits);
    if (node_bytes > graph_size - TAIL_GRAPH_HEADER ||
        packed_bytes(g.edge_count, g.edge_bits) > graph_size - TAIL_GRAPH_HEADER - node_bytes ||
        !open_sites(sites, sites_size, &g)) {
        return false;
    }
    g.nodes = graph + TAIL_GRAPH_HEADER;
    g.edges = g.nodes + node_bytes;
    *ret_graph = g;
    return true;
}

static uint32_t first_edge_of(const struct sonde__tail_graph *graph, uint32_t number)
{
    unsigned width = graph->widths[TAIL_WIDTH_EDGE];
    return tail_bits(graph->nodes, ((uint64_t)number + 1) * graph->node_bits - width, width);
}

bool sonde__tail_node(const struct sonde__tail_graph *graph, uint32_t number,
                      struct sonde__tail_node *ret_node)
{
    const uint8_t *w = graph->widths;
    uint64_t at = (uint64_t)number * graph->node_bits;
    uint32_t owner, end;
    if (number >= graph->node_count) {
        return false;
    }
    ret_node->start = tail_bits(graph->nodes, at, w[TAIL_WIDTH_START]);
    at += w[TAIL_WIDTH_START];
    ret_node->size = tail_bits(graph->nodes, at, w[TAIL_WIDTH_SIZE]);
    at += w[TAIL_WIDTH_SIZE];
    owner = tail_bits(graph->nodes, at, w[TAIL_WIDTH_OWNER]);
    at += w[TAIL_WIDTH_OWNER];
    ret_node->owner = owner != 0 ? owner - 1 : number;
    ret_node->flags = tail_bits(graph->nodes, at, TAIL_FLAG_BITS);
    ret_node->first_edge = first_edge_of(graph, number);
    end = first_edge_of(graph, number + 1);
    if (ret_node->owner >= graph->node_count || end > graph->edge_count ||
        ret_node->first_edge > end) {
        return false;
    }
    ret_node->edge_count = end - ret_node->first_edge;
    return true;
}

uint32_t sonde__tail_node_at(const struct sonde__tail_graph *graph, uint32_t offset)
{
    unsigned width = graph->widths[TAIL_WIDTH_START];
    struct sonde__tail_node node;
    /* the first that starts after it */
    uint32_t after =
        SONDE__SEARCH(0, graph->node_count, i,
                      tail_bits(graph->nodes, (uint64_t)i * graph->node_bits, width) <= offset);
    return after != 0 && sonde__tail_node(graph, after - 1, &node) &&
                   offset - node.start < node.size
               ? after - 1
               : UINT32_MAX;
}

uint32_t sonde__tail_edge(const struct sonde__tail_graph *graph, uint32_t number,
                          uint32_t *ret_place)
{
    uint64_t at = (uint64_t)number * graph->edge_bits;
    uint32_t to;
    if (number >= graph->edge_count) {
        return UINT32_MAX;
    }
    to = tail_bits(graph->edges, at, graph->widths[TAIL_WIDTH_TO]);
    *ret_place = tail_bits(graph->edges, at + graph->widths[TAIL_WIDTH_TO],
                           graph->widths[TAIL_WIDTH_PLACE]) -
                 1;
    return to < graph->node_count ? to : UINT32_MAX;
}

bool sonde__tail_site(const struct sonde__tail_graph *graph, uint32_t back, uint32_t *ret_entry,
                      bool *ret_is_main)
{
    unsigned width = graph->site_widths[TAIL_SITE_WIDTH_BACK];
    struct sonde__tail_node node;
    uint32_t first =
        SONDE__SEARCH(0, graph->site_count, i,
                      tail_bits(graph->sites, (uint64_t)i * graph->site_bits, width) < back);
    uint64_t at = (uint64_t)first * graph->site_bits;
    if (first == graph->site_count || tail_bits(graph->sites, at, width) != back) {
        return false;
    }
    uint32_t to = tail_bits(graph->sites, at + width, graph->site_widths[TAIL_SITE_WIDTH_TO]);
    if (to == 0) {
        *ret_is_main = true;
        *ret_entry = 0;
        return true;
    }
    if (!sonde__tail_node(graph, to - 1, &node)) {
        return false;
    }
    *ret_is_main = false;
    *ret_entry = node.start;
    return true;
}

bool sonde__tail_main(const struct sonde__tail_graph *graph, uint32_t *ret_entry)
{
    struct sonde__tail_node node;
    if (graph->main == 0 || !sonde__tail_node(graph, graph->main - 1, &node)) {
        return false;
    }
    *ret_entry = node.start;
    return true;
}

void sonde__tail_add_externals(struct sonde__tail_graph *graph, const uint8_t *externals,
                               size_t size)
{
    graph->externals = externals;
    graph->external_count = size / TAIL_EXTERNAL_BYTES < UINT32_MAX
                                ? (uint32_t)(size / TAIL_EXTERNAL_BYTES)
                                : UINT32_MAX;
}

void sonde__tail_add_leaving_calls(struct sonde__tail_graph *graph, const uint8_t *calls,
                                   size_t size)
{
    graph->leaving_calls = calls;
    graph->leaving_call_count = size / TAIL_LEAVING_CALL_BYTES < UINT32_MAX
                                    ? (uint32_t)(size / TAIL_LEAVING_CALL_BYTES)
                                    : UINT32_MAX;
}

/* The first of `count` entries of `bytes` whose first field is not less. */
static uint32_t first_at(const uint8_t *entries, uint32_t count, uint32_t bytes, uint32_t value)
{
    return SONDE__SEARCH(0, count, i, sonde__base_le32(entries + (size_t)i * bytes) < value);
}

bool sonde__tail_leaving_call(const struct sonde__tail_graph *graph, uint32_t back,
                              uint32_t *ret_cell)
{
    uint32_t i =
        first_at(graph->leaving_calls, graph->leaving_call_count, TAIL_LEAVING_CALL_BYTES, back);
    const uint8_t *at = graph->leaving_calls + (size_t)i * TAIL_LEAVING_CALL_BYTES;
    if (i == graph->leaving_call_count || sonde__base_le32(at) != back) {
        return false;
    }
    *ret_cell = sonde__base_le32(at + 4);
    return true;
}

bool sonde__tail_external(const struct sonde__tail_graph *graph, uint32_t start, uint32_t i,
                          uint32_t *ret_cell, uint32_t *ret_place)
{
    uint32_t first = first_at(graph->externals, graph->external_count, TAIL_EXTERNAL_BYTES, start);
    const uint8_t *at = graph->externals + ((size_t)first + i) * TAIL_EXTERNAL_BYTES;
    if (i >= graph->external_count - first || sonde__base_le32(at) != start) {
        return false;
    }
    *ret_cell = sonde__base_le32(at + 4);
    *ret_place = sonde__base_le32(at + 8) - 1;
    return true;
}
