// SPDX-License-Identifier: Apache-2.0
#include "tail_make.h"

#include <stdlib.h>
#include <string.h>

#include "base_status.h"
#include "mem_heap.h"
#include "mem_sort.h"
#include "tail_layout.h"

struct make {
    const struct sonde__tail_input *input;
    size_t *first_jump; /* by function; the last element is the end */
    bool *leaves;       /* by function: to other images */
    uint32_t *node;     /* by function: 1 + its node; 0: left out */
    uint32_t *queue;
    uint32_t node_count, edge_count, site_count;
};

struct packer {
    uint8_t *data;
    uint64_t at;
};

static void put_uint(struct packer *p, uint32_t value, unsigned width)
{
    uint8_t *to = p->data + (p->at >> 3);
    for (uint64_t shifted = (uint64_t)value << (p->at & 7); shifted != 0; shifted >>= 8) {
        *to++ |= (uint8_t)shifted;
    }
    p->at += width;
}

static uint8_t width_of(uint32_t value)
{
    return value != 0 ? (uint8_t)(32 - __builtin_clz(value)) : 0;
}

static int by_jump(const void *a, const void *b)
{
    const struct sonde__tail_jump *x = a, *y = b;
    return SONDE__ORDER3(x, y, from, to, place);
}

static int by_back(const void *a, const void *b)
{
    const struct sonde__tail_call *x = a, *y = b;
    return SONDE__ORDER2(x, y, back, to);
}

size_t sonde__tail_jumps_sort(const struct sonde__tail_function *functions,
                              struct sonde__tail_jump *jumps, size_t count)
{
    size_t kept = 0;
    for (size_t i = 0; i < count; i++) {
        jumps[i].from = functions[jumps[i].from].owner;
        jumps[i].to = functions[jumps[i].to].owner;
    }
    if (count != 0) {
        qsort(jumps, count, sizeof *jumps, by_jump);
    }
    for (size_t i = 0; i < count; i++) {
        struct sonde__tail_jump *last = kept != 0 ? &jumps[kept - 1] : NULL;
        if (last == NULL || last->from != jumps[i].from || last->to != jumps[i].to) {
            jumps[kept++] = jumps[i];
        } else if (last->place != jumps[i].place) {
            last->place = SONDE__TAIL_NONE;
        }
    }
    return kept;
}

/* Can a search from this function find anything? */
static bool is_root(const struct make *m, uint32_t function)
{
    const struct sonde__tail_function *f = &m->input->functions[function];
    return f->owner == function && (m->first_jump[function] != m->first_jump[function + 1] ||
                                    m->leaves[function] || (f->flags & SONDE__TAIL_INDIRECT) != 0);
}

/* Keep call sites from which a search can find something, one per return address; conflicting ones
 * are dropped. */
static size_t sort_calls(const struct make *m)
{
    struct sonde__tail_call *calls = m->input->calls;
    size_t count = m->input->call_count, kept = 0;
    if (count != 0) {
        qsort(calls, count, sizeof *calls, by_back);
    }
    for (size_t i = 0; i < count;) {
        size_t end = i + 1;
        bool agree = true;
        for (; end < count && calls[end].back == calls[i].back; end++) {
            agree = agree && calls[end].to == calls[i].to;
        }
        if (agree && (calls[i].to == SONDE__TAIL_MAIN || is_root(m, calls[i].to))) {
            calls[kept++] = calls[i];
        }
        i = end;
    }
    return kept;
}

static void keep_function(struct make *m, uint32_t function, size_t *queued)
{
    if (m->node[function] == 0) {
        m->node[function] = 1;
        m->queue[(*queued)++] = function;
    }
}

/* Mark and number, in address order, functions that make tail calls and those that they lead to. */
static void choose_nodes(struct make *m)
{
    const struct sonde__tail_input *input = m->input;
    size_t queued = 0;
    for (uint32_t i = 0; i < input->function_count; i++) {
        if (is_root(m, i)) {
            keep_function(m, i, &queued);
        }
    }
    for (size_t i = 0; i < queued; i++) {
        for (size_t k = m->first_jump[m->queue[i]]; k < m->first_jump[m->queue[i] + 1]; k++) {
            keep_function(m, input->jumps[k].to, &queued);
        }
    }
    for (uint32_t i = 0; i < input->function_count; i++) {
        uint32_t owner = input->functions[i].owner;
        if (owner != i && m->node[owner] != 0) {
            m->node[i] = 1;
        }
    }
    for (uint32_t i = 0; i < input->function_count; i++) {
        m->node[i] = m->node[i] != 0 ? ++m->node_count : 0;
    }
}

static uint32_t max(uint32_t a, uint32_t b)
{
    return a > b ? a : b;
}

/* Count the edges and compute the width of each field. */
static void measure_graph(struct make *m, uint8_t *w)
{
    const struct sonde__tail_input *input = m->input;
    uint32_t size = 0, start = 0, place = 0;
    for (uint32_t i = 0; i < input->function_count; i++) {
        const struct sonde__tail_function *f = &input->functions[i];
        if (m->node[i] == 0) {
            continue;
        }
        start = max(start, f->start);
        size = max(size, f->end - f->start);
        for (size_t k = m->first_jump[i]; k < m->first_jump[i + 1]; k++) {
            place = max(place, input->jumps[k].place + 1);
            m->edge_count++;
        }
    }
    w[TAIL_WIDTH_START] = width_of(start);
    w[TAIL_WIDTH_SIZE] = width_of(size);
    w[TAIL_WIDTH_OWNER] = w[TAIL_WIDTH_TO] = width_of(m->node_count);
    w[TAIL_WIDTH_EDGE] = width_of(m->edge_count);
    w[TAIL_WIDTH_PLACE] = width_of(place);
}

static void pack_nodes(const struct make *m, const uint8_t *w, struct packer nodes,
                       struct packer edges)
{
    const struct sonde__tail_input *input = m->input;
    uint32_t edge = 0;
    for (uint32_t i = 0; i < input->function_count; i++) {
        const struct sonde__tail_function *f = &input->functions[i];
        if (m->node[i] == 0) {
            continue;
        }
        put_uint(&nodes, f->start, w[TAIL_WIDTH_START]);
        put_uint(&nodes, f->end - f->start, w[TAIL_WIDTH_SIZE]);
        put_uint(&nodes, f->owner != i ? m->node[f->owner] : 0, w[TAIL_WIDTH_OWNER]);
        put_uint(&nodes, f->flags, TAIL_FLAG_BITS);
        put_uint(&nodes, edge, w[TAIL_WIDTH_EDGE]);
        for (size_t k = m->first_jump[i]; k < m->first_jump[i + 1]; k++, edge++) {
            put_uint(&edges, m->node[input->jumps[k].to] - 1, w[TAIL_WIDTH_TO]);
            put_uint(&edges, input->jumps[k].place + 1, w[TAIL_WIDTH_PLACE]);
        }
    }
    /* a last node marks the end of the previous one's edges */
    nodes.at +=
        (unsigned)w[TAIL_WIDTH_START] + w[TAIL_WIDTH_SIZE] + w[TAIL_WIDTH_OWNER] + TAIL_FLAG_BITS;
    put_uint(&nodes, edge, w[TAIL_WIDTH_EDGE]);
}

static enum sonde_status pack_graph(struct make *m, struct sonde__tail_bytes *bytes)
{
    uint8_t w[TAIL_WIDTH_COUNT];
    struct packer nodes = {0}, edges = {0};
    measure_graph(m, w);
    size_t node_bits = (size_t)w[TAIL_WIDTH_START] + w[TAIL_WIDTH_SIZE] + w[TAIL_WIDTH_OWNER] +
                       TAIL_FLAG_BITS + w[TAIL_WIDTH_EDGE];
    size_t edge_bits = w[TAIL_WIDTH_TO] + (size_t)w[TAIL_WIDTH_PLACE];
    size_t node_bytes = (((size_t)m->node_count + 1) * node_bits + 7) / 8 + TAIL_PAD;
    size_t edge_bytes = ((size_t)m->edge_count * edge_bits + 7) / 8 + TAIL_PAD;
    bytes->graph_size = TAIL_GRAPH_HEADER + node_bytes + edge_bytes;
    bytes->graph = sonde__mem_alloc_zeroed(bytes->graph_size);
    if (bytes->graph == NULL) {
        return SONDE_MEMORY;
    }
    sonde__base_put_le32(bytes->graph + TAIL_AT_NODE_COUNT, m->node_count);
    sonde__base_put_le32(bytes->graph + TAIL_AT_EDGE_COUNT, m->edge_count);
    sonde__base_put_le32(bytes->graph + TAIL_AT_MAIN,
                         m->input->main != SONDE__TAIL_NONE ? m->node[m->input->main] : 0);
    memcpy(bytes->graph + TAIL_AT_WIDTHS, w, sizeof w);
    nodes.data = bytes->graph + TAIL_GRAPH_HEADER;
    edges.data = nodes.data + node_bytes;
    pack_nodes(m, w, nodes, edges);
    return SONDE_OK;
}

static enum sonde_status pack_sites(struct make *m, size_t call_count,
                                    struct sonde__tail_bytes *bytes)
{
    const struct sonde__tail_call *calls = m->input->calls;
    uint32_t back = 1;
    uint8_t w[TAIL_SITE_WIDTH_COUNT];
    struct packer sites = {0};
    if (call_count != 0) {
        back = max(back, calls[call_count - 1].back);
    }
    m->site_count = (uint32_t)call_count;
    w[TAIL_SITE_WIDTH_BACK] = width_of(back);
    w[TAIL_SITE_WIDTH_TO] = width_of(m->node_count);
    bytes->sites_size =
        TAIL_SITES_HEADER + ((size_t)m->site_count * (w[0] + (size_t)w[1]) + 7) / 8 + TAIL_PAD;
    bytes->sites = sonde__mem_alloc_zeroed(bytes->sites_size);
    if (bytes->sites == NULL) {
        return SONDE_MEMORY;
    }
    sonde__base_put_le32(bytes->sites + TAIL_AT_SITE_COUNT, m->site_count);
    memcpy(bytes->sites + TAIL_AT_SITE_WIDTHS, w, sizeof w);
    sites.data = bytes->sites + TAIL_SITES_HEADER;
    for (size_t i = 0; i < call_count; i++) {
        uint32_t to = calls[i].to == SONDE__TAIL_MAIN ? 0 : m->node[calls[i].to];
        put_uint(&sites, calls[i].back, w[TAIL_SITE_WIDTH_BACK]);
        put_uint(&sites, to, w[TAIL_SITE_WIDTH_TO]);
    }
    return SONDE_OK;
}

static int by_leaving(const void *a, const void *b)
{
    const struct sonde__tail_external *x = a, *y = b;
    return SONDE__ORDER3(x, y, from, cell, place);
}

/* Keep one per function and word, with a place only if there is one jump. */
static void sort_externals(struct make *m, size_t *ret_count)
{
    struct sonde__tail_external *all = m->input->externals;
    size_t kept = 0;
    if (m->input->external_count != 0) {
        qsort(all, m->input->external_count, sizeof *all, by_leaving);
    }
    for (size_t i = 0; i < m->input->external_count; i++) {
        struct sonde__tail_external *last = kept != 0 ? &all[kept - 1] : NULL;
        if (last == NULL || last->from != all[i].from || last->cell != all[i].cell) {
            m->leaves[all[i].from] = true;
            all[kept++] = all[i];
        } else if (last->place != all[i].place) {
            last->place = SONDE__TAIL_NONE;
        }
    }
    *ret_count = kept;
}

static enum sonde_status pack_externals(struct make *m, size_t count,
                                        struct sonde__tail_bytes *bytes)
{
    const struct sonde__tail_input *input = m->input;
    uint8_t *to;
    bytes->externals_size = count * TAIL_EXTERNAL_BYTES;
    bytes->externals = to = sonde__mem_alloc_zeroed(bytes->externals_size);
    if (to == NULL) {
        return SONDE_MEMORY;
    }
    for (size_t i = 0; i < count; i++, to += TAIL_EXTERNAL_BYTES) {
        sonde__base_put_le32(to, input->functions[input->externals[i].from].start);
        sonde__base_put_le32(to + 4, input->externals[i].cell);
        sonde__base_put_le32(to + 8, input->externals[i].place + 1); /* 0: several */
    }
    return SONDE_OK;
}

static enum sonde_status make(struct make *m, struct sonde__tail_bytes *bytes)
{
    size_t externals;
    const struct sonde__tail_input *input = m->input;
    size_t jumps = sonde__tail_jumps_sort(input->functions, input->jumps, input->jump_count);
    size_t jump = 0;
    size_t calls;
    sort_externals(m, &externals);
    for (size_t i = 0; i <= input->function_count; i++) {
        while (jump < jumps && input->jumps[jump].from < i) {
            jump++;
        }
        m->first_jump[i] = jump;
    }
    calls = sort_calls(m);
    choose_nodes(m);
    SONDE_TRY(pack_graph(m, bytes));
    SONDE_TRY(pack_sites(m, calls, bytes));
    SONDE_TRY(pack_externals(m, externals, bytes));
    bytes->node_count = m->node_count;
    bytes->edge_count = m->edge_count;
    bytes->site_count = m->site_count;
    return SONDE_OK;
}

enum sonde_status sonde__tail_make(const struct sonde__tail_input *input,
                                   struct sonde__tail_bytes *ret_bytes)
{
    struct make m = {.input = input};
    struct sonde__tail_bytes bytes = {0};
    enum sonde_status status = SONDE_MEMORY;
    m.first_jump = sonde__mem_alloc_array(input->function_count + 1, sizeof *m.first_jump);
    m.queue = sonde__mem_alloc_array(input->function_count, sizeof *m.queue);
    m.node = sonde__mem_alloc_zeroed(input->function_count * sizeof *m.node);
    m.leaves = sonde__mem_alloc_zeroed(input->function_count * sizeof *m.leaves);
    if (m.first_jump != NULL && m.queue != NULL && m.node != NULL && m.leaves != NULL) {
        status = make(&m, &bytes);
    }
    sonde__mem_free(m.first_jump);
    sonde__mem_free(m.queue);
    sonde__mem_free(m.node);
    sonde__mem_free(m.leaves);
    if (status == SONDE_OK) {
        *ret_bytes = bytes;
    } else {
        sonde__tail_bytes_done(&bytes);
    }
    return status;
}

void sonde__tail_bytes_done(struct sonde__tail_bytes *bytes)
{
    sonde__mem_free(bytes->graph);
    sonde__mem_free(bytes->sites);
    sonde__mem_free(bytes->externals);
    sonde__mem_free(bytes->leaving_calls);
    sonde__mem_free(bytes->words);
    memset(bytes, 0, sizeof *bytes);
}
