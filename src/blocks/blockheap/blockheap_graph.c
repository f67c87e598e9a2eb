// SPDX-License-Identifier: Apache-2.0
/* The edges of all blocks and of the objects that they lead to, and questions about them. */
#include "blockheap_graph.h"

#include <stdlib.h>
#include <string.h>

#include "base_status.h"
#include "blockheap_inside.h"
#include "mem_heap.h"

enum {
    EDGES_MAX = 1 << 26,
    BODY_MAX = 1 << 16, /* larger blocks and objects: their beginning */
    OBJECTS_MAX = 1 << 22,
    BODIES_LEAST = 1 << 24, /* bytes of objects that lie elsewhere: in data of images */
};

struct building {
    struct sonde__blockheap *heap;
    struct sonde__blockheap_graph *graph;
    const struct sonde__blockheap_found *found;
    uint64_t *objects; /* seen, a hash of a power of two; 0: free */
    size_t object_count, object_capacity;
    uint64_t *queue;
    size_t queued, queue_capacity;
    uint8_t *body;
    struct sonde__blockheap_captures *box;
    uint64_t bytes_left; /* of blocks and objects to read: no more than what was searched, as long
                            as none lies in another one, which only a forged memory has */
    bool no_memory;
};

/* The body of a block or object. What is beyond the limit counts as lost. */
static bool read_body(struct building *b, uint64_t address, uint32_t size)
{
    if (size > b->bytes_left) {
        b->graph->lost++;
        return false;
    }
    b->bytes_left -= size;
    return b->heap->memory.read(b->heap->memory.ctx, address, b->body, size);
}

static void add_edge(struct building *b, const struct sonde__blockheap_edge *edge)
{
    struct sonde__blockheap_graph *graph = b->graph;
    if (edge->to == 0) {
        return;
    }
    if (graph->count >= EDGES_MAX) {
        graph->lost++;
    } else if (!sonde__mem_grow(&graph->edges, graph->count, &graph->capacity,
                                sizeof *graph->edges)) {
        b->no_memory = true;
    } else {
        graph->edges[graph->count++] = *edge;
    }
}

static bool is_found(const struct sonde__blockheap_found *found, uint64_t address)
{
    size_t low = 0, high = found->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (found->items[middle].address < address) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low < found->count && found->items[low].address == address;
}

/* --- objects that were met --- */

static size_t object_slot(const uint64_t *objects, size_t capacity, uint64_t address)
{
    size_t slot = (size_t)(address * 0x9e3779b97f4a7c15u >> 32) & (capacity - 1);
    while (objects[slot] != 0 && objects[slot] != address) {
        slot = (slot + 1) & (capacity - 1);
    }
    return slot;
}

static bool grow_objects(struct building *b)
{
    size_t capacity = b->object_capacity == 0 ? 1024 : 2 * b->object_capacity;
    uint64_t *objects;
    if (b->object_capacity != 0 && b->object_count < b->object_capacity / 2) {
        return true;
    }
    objects = sonde__mem_alloc_zeroed(capacity * sizeof *objects);
    if (objects == NULL) {
        return false;
    }
    for (size_t i = 0; i < b->object_capacity; i++) {
        if (b->objects[i] != 0) {
            objects[object_slot(objects, capacity, b->objects[i])] = b->objects[i];
        }
    }
    sonde__mem_free(b->objects);
    b->objects = objects;
    b->object_capacity = capacity;
    return true;
}

/* What an owned capture leads to is looked at once. */
static void meet(struct building *b, uint64_t address)
{
    size_t slot;
    if (address == 0 || address % 8 != 0 || is_found(b->found, address) ||
        b->object_count >= OBJECTS_MAX) {
        return;
    }
    if (!grow_objects(b)) {
        b->no_memory = true;
        return;
    }
    slot = object_slot(b->objects, b->object_capacity, address);
    if (b->objects[slot] != 0) {
        return;
    }
    if (!sonde__mem_grow(&b->queue, b->queued, &b->queue_capacity, sizeof *b->queue)) {
        b->no_memory = true;
        return;
    }
    b->objects[slot] = address;
    b->object_count++;
    b->queue[b->queued++] = address;
}

/* --- edges --- */

static bool leads_on(uint8_t kind)
{
    return kind == SONDE_BLOCK_STRONG || kind == SONDE_BLOCK_WEAK ||
           kind == SONDE_BLOCK_UNRETAINED || kind == SONDE_BLOCK_BLOCK || kind == SONDE_BLOCK_BYREF;
}

static uint64_t word_at(const uint8_t *body, uint32_t offset)
{
    uint64_t word;
    memcpy(&word, body + offset, sizeof word);
    return word;
}

/* The variable of a box that may lie behind padding: its name is not needed, but its place. */
static const struct sonde__block_member *variable_of_box(struct building *b,
                                                         const struct sonde__blockheap_item *item,
                                                         uint32_t offset, uint64_t box)
{
    const struct sonde__blockheap_captures *named;
    struct sonde__block_byref byref;
    if (b->heap->variables == NULL ||
        sonde__block_byref_read(&b->heap->memory, box, &byref) != SONDE_OK ||
        byref.size <= byref.variable + 8) {
        return NULL;
    }
    named = sonde__blockheap_captures(b->heap, item->descriptor, item->flags, item->invoke);
    for (uint32_t i = 0; named != NULL && i < named->count; i++) {
        if (named->items[i].offset == offset && named->items[i].variable != NULL) {
            return named->items[i].variable;
        }
    }
    return NULL;
}

static void add_captures(struct building *b, const struct sonde__blockheap_item *item,
                         const uint8_t *body, uint32_t size,
                         const struct sonde__blockheap_captures *captures, int32_t box_at)
{
    for (uint32_t i = 0; i < captures->count; i++) {
        const struct sonde__blockheap_capture *capture = &captures->items[i];
        struct sonde__blockheap_edge edge;
        struct sonde__block_byref byref;
        uint8_t box[256], *bytes = box;
        if (!leads_on(capture->kind) || capture->offset + 8 > size) {
            continue;
        }
        edge = (struct sonde__blockheap_edge){.from = item->address,
                                              .to = word_at(body, capture->offset),
                                              .offset = capture->offset,
                                              .inner = -1,
                                              .kind = capture->kind,
                                              .owned = capture->owned};
        if (box_at >= 0) {
            edge.offset = (uint32_t)box_at;
            edge.inner = (int32_t)capture->offset;
        }
        if (capture->kind != SONDE_BLOCK_BYREF) {
            add_edge(b, &edge);
            if (capture->owned) {
                meet(b, edge.to);
            }
        } else if (box_at < 0 &&
                   sonde__blockheap_byref(b->heap, edge.to,
                                          variable_of_box(b, item, capture->offset, edge.to),
                                          &byref, b->box) == SONDE_OK) {
            size_t part = byref.size < sizeof box ? byref.size : sizeof box;
            edge.to = byref.address;
            add_edge(b, &edge);
            if (b->heap->memory.read(b->heap->memory.ctx, byref.address, bytes, part)) {
                add_captures(b, item, bytes, (uint32_t)part, b->box, (int32_t)capture->offset);
            }
        }
    }
}

static void add_block(struct building *b, const struct sonde__blockheap_item *item)
{
    const struct sonde__blockheap_captures *captures =
        sonde__blockheap_captures(b->heap, item->descriptor, item->flags, 0);
    uint32_t size = item->size < BODY_MAX ? item->size : BODY_MAX;
    if (captures != NULL && size > SONDE__BLOCK_HEADER_BYTES && read_body(b, item->address, size)) {
        add_captures(b, item, b->body, size, captures, -1);
    }
}

/* An object that a block is held by, or that leads on to another object. */
static void add_object(struct building *b, uint64_t address)
{
    struct sonde__blockheap_object object, other;
    uint32_t size;
    if (!sonde__blockheap_object_at(b->heap, address, &object)) {
        return;
    }
    size = object.size < BODY_MAX ? object.size & ~7u : BODY_MAX;
    if (size <= 8 || !read_body(b, address, size)) {
        return;
    }
    for (uint32_t at = 8; at + 8 <= size; at += 8) {
        uint64_t to = word_at(b->body, at);
        uint32_t word = at / 8;
        bool strong = word < 256 && (object.strong[word / 64] >> word % 64 & 1) != 0;
        struct sonde__blockheap_edge edge = {.from = address,
                                             .to = to,
                                             .offset = at,
                                             .inner = -1,
                                             .kind = SONDE_BLOCK_STRONG,
                                             .owned = strong || !object.has_strong,
                                             .maybe = !strong,
                                             .by_object = true};
        if (!edge.owned || to == 0 || to % 8 != 0) {
            continue;
        }
        if (is_found(b->found, to)) {
            edge.kind = SONDE_BLOCK_BLOCK;
            add_edge(b, &edge);
        } else if (sonde__blockheap_object_at(b->heap, to, &other)) {
            add_edge(b, &edge);
            meet(b, to);
        }
    }
}

static int by_from(const void *a, const void *b)
{
    const struct sonde__blockheap_edge *x = a, *y = b;
    if (x->from != y->from) {
        return x->from < y->from ? -1 : 1;
    }
    if (x->offset != y->offset) {
        return x->offset < y->offset ? -1 : 1;
    }
    return x->inner < y->inner ? -1 : x->inner > y->inner;
}

struct to_key {
    uint64_t to;
    uint32_t edge;
};

static int by_to(const void *a, const void *b)
{
    const struct to_key *x = a, *y = b;
    if (x->to != y->to) {
        return x->to < y->to ? -1 : 1;
    }
    return x->edge < y->edge ? -1 : x->edge > y->edge;
}

static bool sort(struct sonde__blockheap_graph *graph)
{
    struct to_key *keys = sonde__mem_alloc_array(graph->count + 1, sizeof *keys);
    graph->by_to = sonde__mem_alloc_array(graph->count + 1, sizeof *graph->by_to);
    if (keys == NULL || graph->by_to == NULL) {
        sonde__mem_free(keys);
        return false;
    }
    if (graph->count > 1) {
        qsort(graph->edges, graph->count, sizeof *graph->edges, by_from);
    }
    for (size_t i = 0; i < graph->count; i++) {
        keys[i] = (struct to_key){graph->edges[i].to, (uint32_t)i};
    }
    if (graph->count > 1) {
        qsort(keys, graph->count, sizeof *keys, by_to);
    }
    for (size_t i = 0; i < graph->count; i++) {
        graph->by_to[i] = keys[i].edge;
    }
    sonde__mem_free(keys);
    return true;
}

enum sonde_status sonde__blockheap_graph(struct sonde__blockheap *heap,
                                         const struct sonde__blockheap_found *found,
                                         struct sonde__blockheap_graph *ret_graph,
                                         struct sonde_error *ret_error)
{
    struct building b = {.heap = heap,
                         .graph = ret_graph,
                         .found = found,
                         .bytes_left = found->bytes + BODIES_LEAST};
    *ret_graph = (struct sonde__blockheap_graph){0};
    b.body = sonde__mem_alloc(BODY_MAX);
    b.box = sonde__mem_alloc_zeroed(sizeof *b.box);
    b.no_memory = b.body == NULL || b.box == NULL;
    for (size_t i = 0; i < found->count && !b.no_memory; i++) {
        add_block(&b, &found->items[i]);
    }
    for (size_t i = 0; i < b.queued && !b.no_memory; i++) { /* it grows meanwhile */
        add_object(&b, b.queue[i]);
    }
    b.no_memory = b.no_memory || !sort(ret_graph);
    sonde__mem_free(b.body);
    sonde__mem_free(b.box);
    sonde__mem_free(b.queue);
    sonde__mem_free(b.objects);
    if (b.no_memory) {
        sonde__blockheap_graph_done(ret_graph);
        return sonde__base_fail(ret_error, SONDE_MEMORY, "who holds what", NULL, 0, 0);
    }
    return SONDE_OK;
}

void sonde__blockheap_graph_done(struct sonde__blockheap_graph *graph)
{
    sonde__mem_free(graph->edges);
    sonde__mem_free(graph->by_to);
    *graph = (struct sonde__blockheap_graph){0};
}

size_t sonde__blockheap_to(const struct sonde__blockheap_graph *graph, uint64_t address,
                           size_t *ret_first)
{
    size_t low = 0, high = graph->count, end;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (graph->edges[graph->by_to[middle]].to < address) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    for (end = low; end < graph->count && graph->edges[graph->by_to[end]].to == address; end++) {
    }
    *ret_first = low;
    return end - low;
}

size_t sonde__blockheap_from(const struct sonde__blockheap_graph *graph, uint64_t address,
                             size_t *ret_first)
{
    size_t low = 0, high = graph->count, end;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (graph->edges[middle].from < address) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    for (end = low; end < graph->count && graph->edges[end].from == address; end++) {
    }
    *ret_first = low;
    return end - low;
}

/* Breadth first, over edges: `came` has the edge before each, by the first edge of its node. */
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
