// SPDX-License-Identifier: Apache-2.0
/* Searches the ways from the called function to the inner frame's function.
 *
 * 1. Number all functions that can be reached from the called one, but not through the inner
 *    frame's, with their edges.
 * 2. Find which of them lead to the inner frame's function, backwards over the same edges.
 * 3. Order those topologically. If some are left, there are cycles and the ways are unbounded;
 *    else count the ways.
 * If there is one way, its functions are the frames. A function on it that also jumps to another
 * image or an unknown place makes what follows it uncertain, because control could come back from
 * there; that part is left out. Such a function itself is certain, and so is the called one. If no
 * way is known, but a reachable function jumps through a register or a variable, only the called
 * one is given. If a message was called, no way is certain. */
#include "tail_graph.h"

#define EDGES_MAX  (4 * SONDE__TAIL_NODES_MAX)
#define SLOT_COUNT (4 * SONDE__TAIL_NODES_MAX) /* a power of two */

/* Local numbers of the inner frame's function (always 0) and of the called function (1). */
enum { INNER, OUTER };

struct local_edge {
    uint16_t from, to;
    uint32_t place;
};

struct search {
    const struct sonde__tail_source *source;
    uint32_t nodes[SONDE__TAIL_NODES_MAX]; /* local number -> function of the source */
    uint8_t flags[SONDE__TAIL_NODES_MAX];
    uint16_t count;
    uint16_t slots[SLOT_COUNT];         /* local number + 1 */
    struct local_edge edges[EDGES_MAX]; /* by `from` */
    uint32_t edge_count;
    uint16_t first_edge[SONDE__TAIL_NODES_MAX + 1]; /* of each local number but INNER */
    bool leads[SONDE__TAIL_NODES_MAX];              /* to INNER */
};

/* Local number of a node; false: no room. */
static bool number_of(struct search *s, uint32_t node, uint16_t *ret_number)
{
    uint32_t slot = (uint32_t)(((uint64_t)node * 0x9e3779b1u) >> 7) & (SLOT_COUNT - 1);
    for (; s->slots[slot] != 0; slot = (slot + 1) & (SLOT_COUNT - 1)) {
        if (s->nodes[s->slots[slot] - 1] == node) {
            *ret_number = (uint16_t)(s->slots[slot] - 1);
            return true;
        }
    }
    if (s->count == SONDE__TAIL_NODES_MAX) {
        return false;
    }
    s->nodes[s->count] = node;
    *ret_number = s->count++;
    s->slots[slot] = (uint16_t)(*ret_number + 1);
    return true;
}

/* Record the edges of a local number. False: too many, or damage. */
static bool add_edges(struct search *s, uint16_t number)
{
    const struct sonde__tail_source *source = s->source;
    uint32_t flags, jumps;
    if (!source->function(source->ctx, s->nodes[number], &flags, &jumps)) {
        return false;
    }
    s->flags[number] = (uint8_t)flags;
    for (uint32_t i = 0; i < jumps; i++) {
        uint32_t to, place;
        uint16_t to_number;
        if (s->edge_count == EDGES_MAX ||
            !source->jump(source->ctx, s->nodes[number], i, &to, &place) ||
            !number_of(s, to, &to_number)) {
            return false;
        }
        s->edges[s->edge_count++] = (struct local_edge){number, to_number, place};
    }
    return true;
}

/* Step 1. False: too large, or damage. */
static bool explore(struct search *s)
{
    for (uint16_t number = OUTER; number < s->count; number++) {
        s->first_edge[number] = (uint16_t)s->edge_count;
        if (!add_edges(s, number)) {
            return false;
        }
    }
    s->first_edge[s->count] = (uint16_t)s->edge_count;
    return true;
}

/* Step 2. */
static void mark_leading(struct search *s)
{
    bool changed = true;
    s->leads[INNER] = true;
    while (changed) { /* most edges go to larger numbers, so a few rounds suffice */
        changed = false;
        for (uint32_t i = s->edge_count; i > 0; i--) {
            const struct local_edge *edge = &s->edges[i - 1];
            if (s->leads[edge->to] && !s->leads[edge->from]) {
                s->leads[edge->from] = changed = true;
            }
        }
    }
}

/* Can the inner frame's function reach itself, or a function that leads to it? */
static bool comes_back(const struct search *s)
{
    /* Search from INNER's targets. It is a separate search, because functions found only here are
     * not on ways to INNER. */
    struct search again;
    uint32_t flags, jumps;
    if (!s->source->function(s->source->ctx, s->nodes[INNER], &flags, &jumps) || jumps == 0) {
        return false;
    }
    again.source = s->source;
    again.count = 0;
    again.edge_count = 0;
    for (unsigned i = 0; i < SLOT_COUNT; i++) {
        again.slots[i] = 0;
    }
    uint16_t number;
    if (!number_of(&again, s->nodes[INNER], &number) || !add_edges(&again, number)) {
        return true;
    }
    for (uint16_t i = 1; i < again.count; i++) {
        if (!add_edges(&again, i)) {
            return true; /* unknown: assume yes */
        }
    }
    for (uint32_t i = 0; i < again.edge_count; i++) {
        if (again.edges[i].to == INNER) {
            return true;
        }
    }
    return false;
}

/* Step 3: the number of ways; UINT32_MAX: unbounded. */
static uint32_t count_ways(struct search *s)
{
    uint16_t order[SONDE__TAIL_NODES_MAX];
    uint16_t waiting[SONDE__TAIL_NODES_MAX] = {
        0}; /* edges into it from functions that lead to INNER */
    uint32_t ways[SONDE__TAIL_NODES_MAX] = {0};
    uint32_t done = 0, ready = 0, leading = 0;
    for (uint32_t i = 0; i < s->edge_count; i++) {
        const struct local_edge *edge = &s->edges[i];
        if (s->leads[edge->to]) {
            waiting[edge->to]++;
        }
    }
    for (uint16_t i = 0; i < s->count; i++) {
        leading += s->leads[i];
    }
    if (waiting[OUTER] != 0) {
        return UINT32_MAX;
    }
    ways[OUTER] = 1;
    order[ready++] = OUTER;
    while (done < ready) {
        uint16_t from = order[done++];
        if (from == INNER) {
            continue;
        }
        for (uint32_t i = s->first_edge[from]; i < s->first_edge[from + 1]; i++) {
            uint16_t to = s->edges[i].to;
            if (!s->leads[to]) {
                continue;
            }
            uint64_t sum = (uint64_t)ways[to] + ways[from];
            ways[to] = sum < UINT32_MAX ? (uint32_t)sum : UINT32_MAX;
            if (--waiting[to] == 0) {
                order[ready++] = to;
            }
        }
    }
    return done == leading ? ways[INNER] : UINT32_MAX;
}

/* Can a jump out of the graph be reached from here without the edge to `next`? */
static bool escapes(struct search *s, uint16_t from, uint16_t next)
{
    bool met[SONDE__TAIL_NODES_MAX] = {false};
    uint16_t queue[SONDE__TAIL_NODES_MAX];
    uint32_t count = 0;
    met[INNER] = met[next] = met[from] = true;
    queue[count++] = from;
    for (uint32_t i = 0; i < count; i++) {
        uint16_t number = queue[i];
        if (s->flags[number] != 0) {
            return true;
        }
        for (uint32_t k = s->first_edge[number]; k < s->first_edge[number + 1]; k++) {
            uint16_t to = s->edges[k].to;
            if (!met[to]) {
                met[to] = true;
                queue[count++] = to;
            }
        }
    }
    return false;
}

static bool is_message(const struct search *s)
{
    return s->flags[OUTER] == SONDE__TAIL_MESSAGE;
}

/* Follow the only way. False: not all of it is certain (behind a message nothing is), or it is too
 * long. */
static bool follow(struct search *s, struct sonde__tail_way *ret_way)
{
    struct {
        uint32_t function, place;
    } way[SONDE__TAIL_FRAMES_MAX];
    uint32_t count = 0;
    for (uint16_t number = OUTER; number != INNER;) {
        const struct local_edge *edge = NULL;
        for (uint32_t i = s->first_edge[number]; i < s->first_edge[number + 1]; i++) {
            edge = s->leads[s->edges[i].to] ? &s->edges[i] : edge;
        }
        if (edge == NULL || count == SONDE__TAIL_FRAMES_MAX ||
            (edge->to != INNER && !is_message(s) && escapes(s, number, edge->to))) {
            return false;
        }
        way[count].function = s->nodes[number];
        way[count++].place = edge->place;
        number = edge->to;
    }
    for (uint32_t i = 0; i < count; i++) {
        ret_way->frames[i].function = way[count - 1 - i].function;
        ret_way->frames[i].place = way[count - 1 - i].place;
    }
    ret_way->count = count;
    return true;
}

/* The number of ways that leave the graph; UINT32_MAX: any number. */
static uint32_t count_escapes(const struct search *s)
{
    uint32_t count = 0;
    for (uint16_t i = OUTER; i < s->count; i++) {
        if ((s->flags[i] & SONDE__TAIL_OPEN) != 0) {
            return UINT32_MAX;
        }
        count += (s->flags[i] & SONDE__TAIL_EXTERNAL) != 0;
    }
    return count;
}

static bool any_indirect(const struct search *s)
{
    bool any = false;
    for (uint16_t i = OUTER; i < s->count; i++) {
        any = any || (s->flags[i] & SONDE__TAIL_INDIRECT) != 0;
    }
    return any;
}

/* The called function left by a jump, but the way from there to the inner frame is unknown. */
static enum sonde__tail_answer answer_called(uint32_t called, uint32_t ways,
                                             struct sonde__tail_way *ret_way)
{
    ret_way->frames[0].function = called;
    ret_way->frames[0].place = UINT32_MAX;
    ret_way->count = 1;
    ret_way->ways = ways;
    return SONDE__TAIL_SEVERAL;
}

static bool is_direct(const struct search *s)
{
    for (uint32_t i = s->first_edge[OUTER]; i < s->first_edge[OUTER + 1]; i++) {
        if (s->edges[i].to == INNER) {
            return true;
        }
    }
    return false;
}

/* A message was sent: the methods that leave by a jump, without the message itself. */
static enum sonde__tail_answer answer_message(struct search *s, struct sonde__tail_way *ret_way)
{
    if (!s->leads[OUTER] || is_direct(s)) {
        return SONDE__TAIL_NOTHING;
    }
    if (!comes_back(s) && count_ways(s) == 1 && follow(s, ret_way)) {
        ret_way->count--;
    }
    ret_way->ways = UINT32_MAX;
    return SONDE__TAIL_POSSIBLE;
}

enum sonde__tail_answer sonde__tail_search(const struct sonde__tail_source *source, uint32_t from,
                                           uint32_t to, struct sonde__tail_way *ret_way)
{
    struct search s;
    uint16_t number;
    ret_way->count = 0;
    ret_way->ways = 0;
    s.source = source;
    s.count = 0;
    s.edge_count = 0;
    for (unsigned i = 0; i < SLOT_COUNT; i++) {
        s.slots[i] = 0;
    }
    for (unsigned i = 0; i < SONDE__TAIL_NODES_MAX; i++) {
        s.leads[i] = false;
    }
    s.flags[INNER] = 0;
    s.first_edge[INNER] = 0;
    (void)number_of(&s, to, &number);
    (void)number_of(&s, from, &number);
    if (from == to || !explore(&s)) {
        return SONDE__TAIL_NOTHING;
    }
    mark_leading(&s);
    if (is_message(&s)) {
        return answer_message(&s, ret_way);
    }
    if (!s.leads[OUTER]) {
        return any_indirect(&s) ? answer_called(from, UINT32_MAX, ret_way) : SONDE__TAIL_NOTHING;
    }
    ret_way->ways = comes_back(&s) ? UINT32_MAX : count_ways(&s);
    if (ret_way->ways == 1 && follow(&s, ret_way)) {
        return SONDE__TAIL_FRAMES;
    }
    uint64_t ways = (uint64_t)ret_way->ways + count_escapes(&s);
    ret_way->ways = ways < UINT32_MAX ? (uint32_t)ways : UINT32_MAX;
    if (ret_way->ways <= 1) { /* one way, but too long to show */
        return SONDE__TAIL_NOTHING;
    }
    return answer_called(from, ret_way->ways, ret_way);
}

/* --- one image --- */

static bool node_of_graph(void *ctx, uint32_t function, uint32_t *ret_flags, uint32_t *ret_jumps)
{
    struct sonde__tail_node node;
    if (!sonde__tail_node(ctx, function, &node)) {
        return false;
    }
    *ret_flags = node.flags;
    *ret_jumps = node.edge_count;
    return true;
}

static bool edge_of_graph(void *ctx, uint32_t function, uint32_t i, uint32_t *ret_to,
                          uint32_t *ret_place)
{
    struct sonde__tail_node node, target;
    if (!sonde__tail_node(ctx, function, &node)) {
        return false;
    }
    uint32_t to = sonde__tail_edge(ctx, node.first_edge + i, ret_place);
    if (to == UINT32_MAX || !sonde__tail_node(ctx, to, &target)) {
        return false;
    }
    *ret_to = target.owner;
    return true;
}

enum sonde__tail_answer sonde__tail_between(const struct sonde__tail_graph *graph, uint32_t entry,
                                            uint32_t inner, struct sonde__tail_found *ret_found)
{
    struct sonde__tail_graph view = *graph;
    const struct sonde__tail_source source = {&view, node_of_graph, edge_of_graph};
    struct sonde__tail_node from, to, node;
    struct sonde__tail_way way;
    uint32_t from_number = sonde__tail_node_at(graph, entry);
    uint32_t to_number = sonde__tail_node_at(graph, inner);
    enum sonde__tail_answer answer;
    ret_found->count = 0;
    ret_found->ways = 0;
    if (from_number == UINT32_MAX || !sonde__tail_node(graph, from_number, &from) ||
        from.start != entry || from.owner != from_number) {
        return SONDE__TAIL_NOTHING;
    }
    if (to_number == UINT32_MAX) {
        to.owner = UINT32_MAX; /* a function without known jumps to it */
    } else if (!sonde__tail_node(graph, to_number, &to) || from.owner == to.owner) {
        return SONDE__TAIL_NOTHING;
    }
    answer = sonde__tail_search(&source, from.owner, to.owner, &way);
    for (uint32_t i = 0; i < way.count; i++) {
        uint32_t place = way.frames[i].place;
        if (!sonde__tail_node(graph, way.frames[i].function, &node)) {
            return SONDE__TAIL_NOTHING;
        }
        ret_found->frames[i] =
            (struct sonde__tail_frame){node.start, place != UINT32_MAX ? place : node.start};
    }
    ret_found->count = way.count;
    ret_found->ways = way.ways;
    return answer;
}
