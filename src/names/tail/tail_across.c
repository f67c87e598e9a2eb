// SPDX-License-Identifier: Apache-2.0
#include "tail_across.h"

#include "mem_heap.h"

/* Functions of all images that the search meets; the index is the number used in the search. */
enum { FUNCTIONS_MAX = 512, EXTERNALS_MAX = 256 };

struct space {
    const struct sonde__tail_images *images;
    struct sonde__tail_place functions[FUNCTIONS_MAX]; /* entries */
    uint32_t count;
};

static bool number_of(struct space *space, const struct sonde__tail_place *place,
                      uint32_t *ret_number)
{
    for (uint32_t i = 0; i < space->count; i++) {
        if (space->functions[i].image == place->image &&
            space->functions[i].vaddr == place->vaddr) {
            *ret_number = i;
            return true;
        }
    }
    if (space->count == FUNCTIONS_MAX) {
        return false;
    }
    space->functions[space->count] = *place;
    *ret_number = space->count++;
    return true;
}

/* The graph of a place's image, and the node that contains the place. False: there is none. */
static bool node_at(const struct sonde__tail_images *images, const struct sonde__tail_place *place,
                    const struct sonde__tail_graph **ret_graph, uint64_t *ret_base,
                    struct sonde__tail_node *ret_node, uint32_t *ret_number)
{
    *ret_graph = images->graph(images->ctx, place->image, ret_base);
    if (*ret_graph == NULL || place->vaddr - *ret_base >= UINT32_MAX) {
        return false;
    }
    *ret_number = sonde__tail_node_at(*ret_graph, (uint32_t)(place->vaddr - *ret_base));
    return *ret_number != UINT32_MAX && sonde__tail_node(*ret_graph, *ret_number, ret_node);
}

/* A function's node. False: its image's graph does not have it. */
struct function {
    const struct sonde__tail_graph *graph;
    uint64_t base;
    struct sonde__tail_node node;
};

static bool function_at(const struct sonde__tail_images *images,
                        const struct sonde__tail_place *place, struct function *ret)
{
    uint32_t number;
    return node_at(images, place, &ret->graph, &ret->base, &ret->node, &number) &&
           ret->base + ret->node.start == place->vaddr && ret->node.owner == number;
}

/* Find the target of a function's jump `i` to another image. *ret_known: false if the target is
 * unknown. False: no such jump. */
static bool external_of(const struct sonde__tail_images *images, const struct function *function,
                        const struct sonde__tail_place *from, uint32_t i,
                        struct sonde__tail_place *ret_to, uint32_t *ret_place, bool *ret_known)
{
    struct sonde__tail_place word = {.image = from->image};
    uint32_t cell;
    if (!sonde__tail_external(function->graph, function->node.start, i, &cell, ret_place)) {
        return false;
    }
    word.vaddr = function->base + cell;
    *ret_known = images->word(images->ctx, &word, ret_to);
    return true;
}

static bool function_of_space(void *ctx, uint32_t number, uint32_t *ret_flags, uint32_t *ret_jumps)
{
    struct space *space = ctx;
    const struct sonde__tail_place *place = &space->functions[number];
    struct function function;
    struct sonde__tail_place to;
    uint32_t jump, count = 0;
    bool is_known = true;
    if (!function_at(space->images, place, &function)) {
        *ret_flags = SONDE__TAIL_EXTERNAL; /* unknown whether and where it jumps */
        *ret_jumps = 0;
        return true;
    }
    while (count < EXTERNALS_MAX && is_known &&
           external_of(space->images, &function, place, count, &to, &jump, &is_known)) {
        count++;
    }
    *ret_flags = function.node.flags;
    *ret_jumps = function.node.edge_count;
    if (is_known && count != 0 && count < EXTERNALS_MAX) { /* all of its external jumps are known */
        *ret_flags &= ~(uint32_t)SONDE__TAIL_EXTERNAL;
        *ret_jumps += count;
    }
    return true;
}

static bool jump_of_space(void *ctx, uint32_t number, uint32_t i, uint32_t *ret_to,
                          uint32_t *ret_place)
{
    struct space *space = ctx;
    const struct sonde__tail_place from = space->functions[number];
    struct sonde__tail_place to = from;
    struct function function;
    struct sonde__tail_node target;
    bool is_known;
    if (!function_at(space->images, &from, &function)) {
        return false;
    }
    if (i >= function.node.edge_count) {
        return external_of(space->images, &function, &from, i - function.node.edge_count, &to,
                           ret_place, &is_known) &&
               is_known && number_of(space, &to, ret_to);
    }
    uint32_t node = sonde__tail_edge(function.graph, function.node.first_edge + i, ret_place);
    if (node == UINT32_MAX || !sonde__tail_node(function.graph, node, &target) ||
        !sonde__tail_node(function.graph, target.owner, &target)) {
        return false;
    }
    to.vaddr = function.base + target.start;
    return number_of(space, &to, ret_to);
}

/* The function that contains a place, from its image's graph (parts belong to their function), else
 * from the caller's callback. */
static bool to_function(const struct sonde__tail_images *images, struct sonde__tail_place *place)
{
    const struct sonde__tail_graph *graph;
    struct sonde__tail_node node;
    uint64_t base, entry;
    uint32_t number;
    if (node_at(images, place, &graph, &base, &node, &number) &&
        sonde__tail_node(graph, node.owner, &node)) {
        place->vaddr = base + node.start;
        return true;
    }
    if (!images->entry(images->ctx, place, &entry)) {
        return false;
    }
    place->vaddr = entry;
    return true;
}

static void set_answer(enum sonde__tail_answer answer, uint32_t count, uint32_t ways,
                       struct sonde__tail_frames *ret_found)
{
    ret_found->count = count;
    ret_found->ways = answer == SONDE__TAIL_SEVERAL || answer == SONDE__TAIL_POSSIBLE ? ways : 0;
    ret_found->is_possible = answer == SONDE__TAIL_POSSIBLE;
}

/* Search the jumps of one image only. */
static enum sonde__tail_answer find_inside(const struct sonde__tail_images *images,
                                           const struct sonde__tail_place *entry,
                                           const struct sonde__tail_place *inner,
                                           struct sonde__tail_frames *ret_found)
{
    uint64_t base;
    const struct sonde__tail_graph *graph = images->graph(images->ctx, entry->image, &base);
    struct sonde__tail_found found;
    enum sonde__tail_answer answer;
    if (graph == NULL || entry->vaddr - base >= UINT32_MAX || inner->vaddr - base >= UINT32_MAX) {
        return SONDE__TAIL_NOTHING;
    }
    answer = sonde__tail_between(graph, (uint32_t)(entry->vaddr - base),
                                 (uint32_t)(inner->vaddr - base), &found);
    for (uint32_t i = 0; i < found.count; i++) {
        ret_found->places[i] =
            (struct sonde__tail_place){entry->image, base + found.frames[i].place};
    }
    set_answer(answer, found.count, found.ways, ret_found);
    return answer;
}

/* Search the jumps of all images. */
static enum sonde__tail_answer find_across(const struct sonde__tail_images *images,
                                           const struct sonde__tail_place *entry,
                                           const struct sonde__tail_place *inner,
                                           struct sonde__tail_frames *ret_found)
{
    struct space *space = sonde__mem_alloc(sizeof *space);
    const struct sonde__tail_source source = {space, function_of_space, jump_of_space};
    struct sonde__tail_way way = {.count = 0};
    struct sonde__tail_place there = *inner;
    struct function called;
    enum sonde__tail_answer answer = SONDE__TAIL_NOTHING;
    uint32_t from, to;
    set_answer(answer, 0, 0, ret_found);
    if (space == NULL) {
        return SONDE__TAIL_NOTHING;
    }
    space->images = images;
    space->count = 0;
    if (function_at(images, entry, &called) && to_function(images, &there) &&
        number_of(space, &there, &to) && number_of(space, entry, &from)) {
        answer = sonde__tail_search(&source, from, to, &way);
    }
    for (uint32_t i = 0; i < way.count; i++) {
        struct sonde__tail_place *frame = &ret_found->places[i];
        uint64_t base;
        *frame = space->functions[way.frames[i].function];
        if (way.frames[i].place != UINT32_MAX &&
            images->graph(images->ctx, frame->image, &base) != NULL) {
            frame->vaddr = base + way.frames[i].place;
        }
    }
    set_answer(answer, way.count, way.ways, ret_found);
    sonde__mem_free(space);
    return answer;
}

enum sonde__tail_answer sonde__tail_across(const struct sonde__tail_images *images,
                                           const struct sonde__tail_place *entry,
                                           const struct sonde__tail_place *inner,
                                           struct sonde__tail_frames *ret_found)
{
    struct sonde__tail_frames across;
    enum sonde__tail_answer inside = SONDE__TAIL_NOTHING, answer;
    if (entry->image == inner->image) {
        inside = find_inside(images, entry, inner, ret_found);
    }
    if (inside == SONDE__TAIL_FRAMES || inside == SONDE__TAIL_POSSIBLE) {
        return inside;
    }
    answer = find_across(images, entry, inner, &across);
    if (inside == SONDE__TAIL_SEVERAL && answer != SONDE__TAIL_FRAMES) {
        return inside;
    }
    *ret_found = across; /* the way through other images is also known */
    return answer;
}
