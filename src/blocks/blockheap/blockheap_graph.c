// SPDX-License-Identifier: Apache-2.0
/* Builds the graph: the edges of all blocks, and of the objects and memory that they lead to. */
#include "blockheap_graph.h"

#include <stdlib.h>
#include <string.h>

#include "base_search.h"
#include "base_status.h"
#include "blockheap_inside.h"
#include "mem_heap.h"
#include "mem_sort.h"
#include "mem_table.h"

enum {
    EDGES_MAX = 1 << 26,
    BODY_MAX = 1 << 16, /* read at once */
    OBJECTS_MAX = 1 << 22,
    BODIES_LEAST = 1 << 24, /* bytes: objects outside the heap, in the data of images */
    PLACES_MAX = 1 << 18,   /* places in memory of unknown layout; each costs a system call */
    ADDRESS_MIN = 4096,
};
#define ALLOCATION_MAX ((uint64_t)1 << 30)

struct building {
    struct sonde__blockheap *heap;
    struct sonde__blockheap_graph *graph;
    const struct sonde__blockheap_found *found;
    uint64_t *queue; /* objects, each once */
    size_t queued, queue_capacity;
    struct sonde__mem_table objects; /* of the queue, by address */
    uint8_t *body;
    struct sonde__blockheap_captures *box;
    uint64_t bytes_left; /* to read of blocks and objects; only forged, overlapping ones exceed
                          * it */
    uint32_t places;     /* places read in memory of unknown layout */
    bool no_memory;
};

/* Read a block or object. Over the budget it counts as lost. */
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
    size_t at = SONDE__SEARCH(0, found->count, i, found->items[i].address < address);
    return at < found->count && found->items[at].address == address;
}

/* --- the queue of objects --- */

/* Queue the target of an owned capture, once. */
static void meet(struct building *b, uint64_t address)
{
    uint32_t hash = sonde__mem_hash(address);
    if (address == 0 || address % 8 != 0 || is_found(b->found, address) ||
        b->queued >= OBJECTS_MAX ||
        (b->queue != NULL &&
         SONDE__TABLE_FIND(&b->objects, hash, i, b->queue[i] == address) != SONDE__TABLE_NONE)) {
        return;
    }
    if (!sonde__mem_grow(&b->queue, b->queued, &b->queue_capacity, sizeof *b->queue) ||
        !sonde__mem_table_add(&b->objects, hash, (uint32_t)b->queued)) {
        b->no_memory = true;
        return;
    }
    b->queue[b->queued++] = address;
}

/* --- edges --- */

static bool leads_on(uint8_t kind)
{
    return kind == SONDE_BLOCK_STRONG || kind == SONDE_BLOCK_WEAK ||
           kind == SONDE_BLOCK_UNRETAINED || kind == SONDE_BLOCK_BLOCK || kind == SONDE_BLOCK_BYREF;
}

/* Can unmanaged bytes be a C++ object? In a stripped program, copying can be inlined into the
 * helpers and has no name. A variable known to be a pointer cannot. */
static bool is_bytes(const struct sonde__blockheap_capture *capture)
{
    const char *type = capture->variable != NULL ? capture->variable->type : NULL;
    size_t length = type != NULL ? strlen(type) : 0;
    return capture->kind == SONDE_BLOCK_DATA &&
           (length == 0 || (type[length - 1] != '*' && type[length - 1] != '&'));
}

/* Is it a C++ object to read? Its parts are read with it. has_cxx: the block has a C++ object. */
static bool is_cxx(const struct sonde__blockheap_capture *capture, bool has_cxx)
{
    return !capture->inside && (capture->kind == SONDE_BLOCK_OBJECT ||
                                (capture->kind == SONDE_BLOCK_UNKNOWN && capture->sources != 0) ||
                                (has_cxx && is_bytes(capture)));
}

static uint64_t word_at(const uint8_t *body, uint32_t offset)
{
    uint64_t word;
    memcpy(&word, body + offset, sizeof word);
    return word;
}

/* Interpret a word of unknown type as a pointer: pointers to aligned memory may have small tags in
 * their low bits. Interior pointers count, too. */
static uint64_t without_tag(uint64_t word)
{
    return word & ~(uint64_t)7;
}

/* The variable of a box, if its place, size and type are needed because it may lie after padding or
 * be a C++ object; else null. */
static const struct sonde__block_member *variable_of_box(struct building *b,
                                                         const struct sonde__blockheap_item *item,
                                                         uint32_t offset, uint64_t box)
{
    const struct sonde__blockheap_captures *named;
    struct sonde__block_byref byref;
    if (b->heap->variables == NULL ||
        sonde__block_byref_read(&b->heap->memory, box, &byref) != SONDE_OK ||
        (byref.size <= byref.variable + 8 &&
         (byref.dispose == 0 || byref.kind >= SONDE__BLOCK_BYREF_DATA))) {
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

/* Is this word a part of the object that the helpers treat separately? */
static bool is_part(const struct sonde__blockheap_captures *captures, uint32_t from, uint32_t at)
{
    for (uint32_t i = from + 1; i < captures->count && captures->items[i].inside; i++) {
        if (captures->items[i].offset == at && leads_on(captures->items[i].kind)) {
            return true;
        }
    }
    return false;
}

/* The end of a C++ object; without debug information the start of the next managed variable. */
static uint32_t end_of_object(const struct sonde__blockheap_captures *captures, uint32_t i,
                              uint32_t size)
{
    const struct sonde__blockheap_capture *capture = &captures->items[i];
    if (capture->size != 0) {
        return capture->size < size - capture->offset ? capture->offset + capture->size : size;
    }
    for (i++; i < captures->count; i++) {
        if (!captures->items[i].inside && captures->items[i].kind != SONDE_BLOCK_DATA) {
            return captures->items[i].offset < size ? captures->items[i].offset : size;
        }
    }
    return size;
}

/* Add edges for words of a captured C++ object or C struct that may be pointers.
 * box_at: offset of the capture of its box; -1: it is in the block itself. */
static void add_cxx(struct building *b, const struct sonde__blockheap_item *item,
                    const uint8_t *body, uint32_t size,
                    const struct sonde__blockheap_captures *captures, uint32_t i, int32_t box_at)
{
    enum sonde__blockheap_owner owner = sonde__blockheap_owner_of(&captures->items[i], box_at >= 0);
    uint32_t at = (captures->items[i].offset + 7) & ~7u;
    uint32_t end = end_of_object(captures, i, size);
    for (; at + 8 <= end; at += 8) {
        struct sonde__blockheap_edge edge = {.from = item->address,
                                             .to = word_at(body, at),
                                             .offset = box_at >= 0 ? (uint32_t)box_at : at,
                                             .inner = box_at >= 0 ? (int32_t)at : -1,
                                             .kind = SONDE_BLOCK_OBJECT,
                                             .owned = owner != SONDE__BLOCKHEAP_NOT_OWNER,
                                             .maybe = owner == SONDE__BLOCKHEAP_OWNER_UNKNOWN};
        if (owner == SONDE__BLOCKHEAP_OWNER_UNKNOWN) {
            edge.to = without_tag(edge.to);
        }
        if (edge.to < ADDRESS_MIN || is_part(captures, i, at) ||
            blockheap_own_left(b->heap, edge.to) == 0) {
            continue;
        }
        add_edge(b, &edge);
        if (edge.owned) {
            meet(b, edge.to);
        }
    }
}

static void add_captures(struct building *b, const struct sonde__blockheap_item *item,
                         const uint8_t *body, uint32_t size,
                         const struct sonde__blockheap_captures *captures, int32_t box_at,
                         bool has_cxx)
{
    for (uint32_t i = 0; i < captures->count; i++) {
        const struct sonde__blockheap_capture *capture = &captures->items[i];
        struct sonde__blockheap_edge edge;
        struct sonde__block_byref byref;
        uint8_t box[256], *bytes = box;
        if (is_cxx(capture, has_cxx) && capture->offset < size) {
            add_cxx(b, item, body, size, captures, i, box_at);
            continue;
        }
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
                add_captures(b, item, bytes, (uint32_t)part, b->box, (int32_t)capture->offset,
                             byref.dispose != 0);
            }
        }
    }
}

static void add_block(struct building *b, const struct sonde__blockheap_item *item)
{
    const struct sonde__blockheap_captures *captures =
        sonde__blockheap_captures(b->heap, item->descriptor, item->flags, 0);
    uint32_t size = item->size < BODY_MAX ? item->size : BODY_MAX;
    bool has_cxx = (item->flags & SONDE_BLOCK_HAS_CXX) != 0;
    for (uint32_t i = 0; captures != NULL && i < captures->count; i++) {
        if (is_cxx(&captures->items[i], has_cxx)) { /* debug information has its size and type */
            captures =
                sonde__blockheap_captures(b->heap, item->descriptor, item->flags, item->invoke);
            break;
        }
    }
    if (captures != NULL && size > SONDE__BLOCK_HEADER_BYTES && read_body(b, item->address, size)) {
        add_captures(b, item, b->body, size, captures, -1, has_cxx);
    }
}

/* --- objects, and memory of unknown layout --- */

/* How to read the words of a node. */
struct node {
    uint64_t address;
    uint64_t size; /* bytes; below 1 << 32 */
    bool is_object;
    bool is_known; /* an object whose class lists strong variables */
    const struct sonde__blockheap_object *object;
};

static bool is_strong(const struct node *node, uint32_t at)
{
    uint32_t word = at / 8;
    return node->is_known && word < 256 && (node->object->strong[word / 64] >> word % 64 & 1) != 0;
}

/* Add the edge of one word. In an object with a known layout, pointers to objects that are not
 * listed are weak or unretained; pointers to memory may be C or C++ variables. */
static void add_word(struct building *b, const struct node *node, uint32_t at, uint64_t word)
{
    struct sonde__blockheap_object other;
    bool strong = is_strong(node, at);
    uint64_t to = strong ? word : without_tag(word);
    bool is_block, is_object;
    struct sonde__blockheap_edge edge = {.from = node->address,
                                         .to = to,
                                         .offset = at,
                                         .inner = -1,
                                         .kind = SONDE_BLOCK_STRONG,
                                         .owned = true,
                                         .maybe = !strong,
                                         .by_object = true,
                                         .by_memory = !node->is_object};
    if (to < ADDRESS_MIN) {
        return;
    }
    is_block = is_found(b->found, to);
    is_object = !is_block && sonde__blockheap_object_at(b->heap, to, &other);
    if ((is_block || is_object) && node->is_known && !strong) {
        return;
    }
    if (!is_block && !is_object && blockheap_own_left(b->heap, to) == 0) {
        return;
    }
    edge.kind = is_block ? SONDE_BLOCK_BLOCK : SONDE_BLOCK_STRONG;
    add_edge(b, &edge);
    meet(b, to);
}

static void add_words(struct building *b, const struct node *node)
{
    for (uint64_t from = 0; from < node->size && !b->no_memory; from += BODY_MAX) {
        uint64_t left = node->size - from;
        uint32_t part = left < BODY_MAX ? (uint32_t)left : BODY_MAX;
        if (!read_body(b, node->address + from, part)) {
            return;
        }
        for (uint32_t at = node->is_object && from == 0 ? 8 : 0; at + 8 <= part; at += 8) {
            add_word(b, node, (uint32_t)from + at, word_at(b->body, at));
        }
    }
}

/* Size to read, within the limit. */
static uint64_t body_size(struct building *b, uint64_t size)
{
    if (size > ALLOCATION_MAX) {
        b->graph->lost++;
        return ALLOCATION_MAX;
    }
    return size & ~(uint64_t)7;
}

/* Memory is read from the start of its allocation. */
static void add_memory(struct building *b, uint64_t address)
{
    struct node node = {.address = address};
    uint64_t start, size;
    if (!blockheap_extent(b->heap, address, &start, &size)) {
        return;
    }
    if (start != address) {
        const struct sonde__blockheap_edge inside = {.from = address,
                                                     .to = start,
                                                     .inner = -1,
                                                     .kind = SONDE_BLOCK_STRONG,
                                                     .owned = true,
                                                     .maybe = true,
                                                     .by_object = true,
                                                     .by_memory = true};
        add_edge(b, &inside);
        meet(b, start);
        return;
    }
    if (b->places++ >= PLACES_MAX) {
        b->graph->lost++;
        return;
    }
    node.size = body_size(b, size);
    add_words(b, &node);
}

/* An object of unknown layout may have data after its variables, e.g. the elements of an array. */
static void add_object(struct building *b, uint64_t address)
{
    struct sonde__blockheap_object object;
    struct node node = {.address = address, .is_object = true, .object = &object};
    uint64_t start, size;
    if (!sonde__blockheap_object_at(b->heap, address, &object)) {
        add_memory(b, address);
        return;
    }
    node.is_known = object.has_strong;
    node.size = body_size(b, object.size);
    if (!node.is_known && sonde__blockheap_allocation(b->heap, address, &start, &size) &&
        size - (address - start) > object.size) {
        node.size = body_size(b, size - (address - start));
    }
    if (node.size > 8) {
        add_words(b, &node);
    }
}

static int by_from(const void *a, const void *b)
{
    const struct sonde__blockheap_edge *x = a, *y = b;
    return SONDE__ORDER3(x, y, from, offset, inner);
}

struct to_key {
    uint64_t to;
    uint32_t edge;
};

static int by_to(const void *a, const void *b)
{
    const struct to_key *x = a, *y = b;
    return SONDE__ORDER2(x, y, to, edge);
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
    SONDE_TRY(blockheap_read_own(heap, ret_error));
    b.body = sonde__mem_alloc(BODY_MAX);
    b.box = sonde__mem_alloc_zeroed(sizeof *b.box);
    b.no_memory = b.body == NULL || b.box == NULL;
    for (size_t i = 0; i < found->count && !b.no_memory; i++) {
        add_block(&b, &found->items[i]);
    }
    for (size_t i = 0; i < b.queued && !b.no_memory; i++) { /* the queue grows meanwhile */
        add_object(&b, b.queue[i]);
    }
    b.no_memory = b.no_memory || !sort(ret_graph);
    sonde__mem_free(b.body);
    sonde__mem_free(b.box);
    sonde__mem_free(b.queue);
    sonde__mem_table_done(&b.objects);
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
