// SPDX-License-Identifier: Apache-2.0
#include "drain_tail.h"

#include <string.h>

#include "image_cfi.h"
#include "mem_heap.h"

/* Code of more bytes is not searched for tail calls while somebody waits for a stack: some 5 ns a
 * byte (Chromium's largest library has 180 MB). */
#define CODE_BYTES_MAX ((uint64_t)192 << 20)

void drain_tails_done(struct drain_tails *tails)
{
    for (size_t i = 0; i < tails->count; i++) {
        sonde__tail_bytes_done(&tails->graphs[i].bytes);
    }
    sonde__mem_free(tails->graphs);
}

/* An address, in an image of the snapshot. */
struct place {
    const struct sonde__image *image;
    const struct sonde__elf *elf; /* with the image's code */
    uint32_t number;              /* of the image */
    uint64_t vaddr;
};

static bool find_place(struct drain_tails *tails, const struct sonde__image_set *set,
                       uint64_t address, struct place *ret)
{
    const struct sonde__image_range *range = sonde__image_range_find(set, address);
    const void *bytes = NULL;
    size_t size = 0;
    if (range == NULL || range->image >= set->image_count) {
        return false;
    }
    ret->number = range->image;
    ret->image = &set->images[range->image];
    ret->vaddr = address - ret->image->bias;
    if ((ret->image->flags & (SONDE__IMAGE_VDSO | SONDE__IMAGE_DELETED)) != 0 &&
        (tails->target == NULL ||
         !sonde__target_image_bytes(tails->target, ret->image, &bytes, &size))) {
        return false;
    }
    return sonde__symfile_elf(tails->symbols, ret->image, bytes, size, &ret->elf, NULL) == SONDE_OK;
}

static const struct drain_graph *graph_of(struct drain_tails *tails, const struct place *place)
{
    struct drain_graph *graph;
    struct sonde__tail_code code = {.elf = place->elf};
    uint64_t end;
    for (size_t i = 0; i < tails->count; i++) {
        if (tails->graphs[i].elf == place->elf) {
            return &tails->graphs[i];
        }
    }
    if (!sonde__mem_grow(&tails->graphs, tails->count, &tails->capacity, sizeof *tails->graphs)) {
        return NULL;
    }
    graph = &tails->graphs[tails->count++];
    memset(graph, 0, sizeof *graph);
    graph->elf = place->elf;
    if (sonde__symfile_tails(tails->symbols, place->image, NULL, 0, &graph->graph, &graph->base)) {
        return graph;
    }
    if (sonde__symfile_index(tails->symbols, place->image, NULL, 0, &code.symbols, NULL) !=
        SONDE_OK) {
        code.symbols = NULL;
    }
    if (!sonde__elf_text_range(place->elf, &graph->base, &end) ||
        end - graph->base > CODE_BYTES_MAX) {
        return graph; /* an empty one: nothing is said */
    }
    code.base = graph->base;
    if (sonde__tail_code_make(&code, &graph->bytes) == SONDE_OK) {
        (void)sonde__tail_open(graph->bytes.graph, graph->bytes.graph_size, graph->bytes.sites,
                               graph->bytes.sites_size, &graph->graph);
        sonde__tail_add_externals(&graph->graph, graph->bytes.externals,
                                  graph->bytes.externals_size);
    }
    return graph;
}

/* Is it a call of main() by start-up code? Then its place. */
static bool find_main(struct drain_tails *tails, const struct sonde__image_set *set,
                      const struct place *caller, struct place *ret)
{
    const struct sonde__symbol_index *names;
    struct sonde__symbol symbol;
    uint64_t to;
    uint32_t entry;
    if (!sonde__tail_hands_over(caller->elf, caller->image->arch, caller->vaddr, &to) ||
        sonde__symfile_index(tails->symbols, caller->image, NULL, 0, &names, NULL) != SONDE_OK ||
        !sonde__symbol_find(names, to, &symbol) || symbol.start != to ||
        strcmp(symbol.name, "exit") != 0) {
        return false;
    }
    for (uint32_t i = 0; i < set->range_count; i++) {
        const struct sonde__image_range *range = &set->ranges[i];
        const struct drain_graph *graph;
        if (range->image < set->image_count &&
            (set->images[range->image].flags & SONDE__IMAGE_MAIN) != 0) {
            if (!find_place(tails, set, range->start, ret) ||
                (graph = graph_of(tails, ret)) == NULL ||
                !sonde__tail_main(&graph->graph, &entry)) {
                return false;
            }
            ret->vaddr = graph->base + entry;
            return true;
        }
    }
    return false;
}

/* What the call before the caller's pc enters. */
static bool find_callee(struct drain_tails *tails, const struct sonde__image_set *set,
                        uint64_t back, struct place *ret)
{
    struct place caller;
    uint64_t vaddr, word;
    if (!find_place(tails, set, back - 1, &caller)) {
        return false;
    }
    caller.vaddr++;
    switch (sonde__tail_callee(caller.elf, caller.image->arch, caller.vaddr, &vaddr)) {
    case SONDE__TAIL_CALLEE_DIRECT:
        *ret = caller;
        ret->vaddr = vaddr;
        return true;
    case SONDE__TAIL_CALLEE_SLOT: /* what the program's memory says, whoever is meant by the name */
        return tails->target != NULL &&
               sonde__target_read(tails->target, vaddr + caller.image->bias, &word, sizeof word) ==
                   sizeof word &&
               find_place(tails, set, word, ret);
    default:
        return find_main(tails, set, &caller, ret);
    }
}

/* May frames be missing between these two? Where the caller was found by its frame pointer, the
 * one in between may just have had none. */
static bool is_asked(const struct sonde_stack *stack, uint32_t inner)
{
    uint32_t outer = inner + 1;
    unsigned found;
    if (outer >= stack->count || (stack->lost_count != 0 && stack->lost_at == outer)) {
        return false;
    }
    found = stack->how[outer] & SONDE_HOW_FOUND_MASK;
    return (stack->how[outer] & (SONDE_HOW_EXACT | SONDE_HOW_SIGNAL)) == 0 &&
           (stack->how[inner] & SONDE_HOW_SIGNAL) == 0 &&
           (found == SONDE_FOUND_CFI || found == SONDE_FOUND_LR);
}

/* --- one image --- */

static bool find_inside(const struct drain_graph *graph, const struct place *callee, uint64_t vaddr,
                        struct drain_tail_calls *ret_calls)
{
    struct sonde__tail_found found;
    enum sonde__tail_answer answer;
    if (callee->vaddr - graph->base >= UINT32_MAX || vaddr - graph->base >= UINT32_MAX) {
        return false;
    }
    answer = sonde__tail_between(&graph->graph, (uint32_t)(callee->vaddr - graph->base),
                                 (uint32_t)(vaddr - graph->base), &found);
    for (uint32_t i = 0; i < found.count; i++) {
        ret_calls->images[i] = callee->number;
        ret_calls->places[i] = graph->base + found.frames[i].place;
    }
    ret_calls->count = found.count;
    ret_calls->ways = answer == SONDE__TAIL_SEVERAL ? found.ways : 0;
    return answer != SONDE__TAIL_NOTHING;
}

/* --- several images --- */

/* Functions that are met on the ways, of all images: their numbers are those of the search. */
enum { FUNCTIONS_MAX = 512, EXTERNALS_MAX = 256 };

struct space {
    struct drain_tails *tails;
    const struct sonde__image_set *set;
    struct space_function {
        struct place place; /* its entry */
    } functions[FUNCTIONS_MAX];
    uint32_t count;
};

static bool number_of(struct space *space, const struct place *place, uint32_t *ret_number)
{
    for (uint32_t i = 0; i < space->count; i++) {
        if (space->functions[i].place.number == place->number &&
            space->functions[i].place.vaddr == place->vaddr) {
            *ret_number = i;
            return true;
        }
    }
    if (space->count == FUNCTIONS_MAX) {
        return false;
    }
    space->functions[space->count].place = *place;
    *ret_number = space->count++;
    return true;
}

/* The node of a function. False: its image's graph does not have it. */
static bool node_of(const struct drain_graph *graph, const struct place *place,
                    struct sonde__tail_node *ret_node)
{
    uint64_t offset = place->vaddr - graph->base;
    uint32_t number =
        offset < UINT32_MAX ? sonde__tail_node_at(&graph->graph, (uint32_t)offset) : UINT32_MAX;
    return number != UINT32_MAX && sonde__tail_node(&graph->graph, number, ret_node) &&
           ret_node->start == offset && ret_node->owner == number;
}

/* Where jump `i` of a function to another image leads, as the process' memory says. *ret_known:
 * false where it does not say: not bound yet, or to what is not known to be a function. False:
 * there is no such jump. */
static bool external_of(struct space *space, const struct drain_graph *graph,
                        const struct place *from, uint32_t i, struct place *ret_to,
                        uint32_t *ret_place, bool *ret_known)
{
    uint32_t cell;
    uint64_t word, start, end;
    if (!sonde__tail_external(&graph->graph, (uint32_t)(from->vaddr - graph->base), i, &cell,
                              ret_place)) {
        return false;
    }
    *ret_known = space->tails->target != NULL &&
                 sonde__target_read(space->tails->target, graph->base + cell + from->image->bias,
                                    &word, sizeof word) == sizeof word &&
                 find_place(space->tails, space->set, word, ret_to) &&
                 sonde__cfi_fde_bounds(&ret_to->image->cfi, ret_to->image->arch, ret_to->vaddr,
                                       &start, &end) &&
                 start == ret_to->vaddr;
    return true;
}

static bool function_of_space(void *ctx, uint32_t function, uint32_t *ret_flags,
                              uint32_t *ret_jumps)
{
    struct space *space = ctx;
    const struct place place = space->functions[function].place;
    const struct drain_graph *graph = graph_of(space->tails, &place);
    struct sonde__tail_node node;
    struct place to;
    uint32_t jump, count = 0;
    bool is_known = true;
    if (graph == NULL || !node_of(graph, &place, &node)) {
        *ret_flags = SONDE__TAIL_EXTERNAL; /* nothing is known of what it jumps to, if it does */
        *ret_jumps = 0;
        return true;
    }
    while (count < EXTERNALS_MAX && is_known &&
           external_of(space, graph, &place, count, &to, &jump, &is_known)) {
        count++;
    }
    *ret_flags = node.flags;
    *ret_jumps = node.edge_count;
    if (is_known && count != 0 && count < EXTERNALS_MAX) { /* all are jumps that are known */
        *ret_flags &= ~(uint32_t)SONDE__TAIL_EXTERNAL;
        *ret_jumps += count;
    }
    return true;
}

static bool jump_of_space(void *ctx, uint32_t function, uint32_t i, uint32_t *ret_to,
                          uint32_t *ret_place)
{
    struct space *space = ctx;
    struct place to = space->functions[function].place;
    const struct place from = to;
    const struct drain_graph *graph = graph_of(space->tails, &from);
    struct sonde__tail_node node, target;
    bool is_known;
    if (graph == NULL || !node_of(graph, &from, &node)) {
        return false;
    }
    if (i >= node.edge_count) {
        return external_of(space, graph, &from, i - node.edge_count, &to, ret_place, &is_known) &&
               is_known && number_of(space, &to, ret_to);
    }
    uint32_t number = sonde__tail_edge(&graph->graph, node.first_edge + i, ret_place);
    if (number == UINT32_MAX || !sonde__tail_node(&graph->graph, number, &target) ||
        !sonde__tail_node(&graph->graph, target.owner, &target)) {
        return false;
    }
    to.vaddr = graph->base + target.start;
    return number_of(space, &to, ret_to);
}

/* The function that holds a place: by its image's graph (a part is its function's), else as the
 * frame information bounds it. */
static bool to_function(struct drain_tails *tails, struct place *place)
{
    const struct drain_graph *graph = graph_of(tails, place);
    struct sonde__tail_node node;
    uint64_t start, end;
    uint64_t offset = graph != NULL ? place->vaddr - graph->base : UINT64_MAX;
    uint32_t number =
        offset < UINT32_MAX ? sonde__tail_node_at(&graph->graph, (uint32_t)offset) : UINT32_MAX;
    if (number != UINT32_MAX && sonde__tail_node(&graph->graph, number, &node) &&
        sonde__tail_node(&graph->graph, node.owner, &node)) {
        place->vaddr = graph->base + node.start;
        return true;
    }
    if (!sonde__cfi_fde_bounds(&place->image->cfi, place->image->arch, place->vaddr, &start,
                               &end)) {
        return false;
    }
    place->vaddr = start;
    return true;
}

static bool find_across(struct drain_tails *tails, const struct sonde__image_set *set,
                        const struct place *callee, uint64_t pc, struct drain_tail_calls *ret_calls)
{
    struct space *space = sonde__mem_alloc(sizeof *space);
    const struct sonde__tail_source source = {space, function_of_space, jump_of_space};
    struct sonde__tail_way way = {.count = 0};
    enum sonde__tail_answer answer = SONDE__TAIL_NOTHING;
    struct place inner;
    uint32_t from, to;
    if (space == NULL) {
        return false;
    }
    space->tails = tails;
    space->set = set;
    space->count = 0;
    if (find_place(tails, set, pc, &inner) && to_function(tails, &inner) &&
        number_of(space, &inner, &to) && number_of(space, callee, &from)) {
        answer = sonde__tail_search(&source, from, to, &way);
    }
    for (uint32_t i = 0; i < way.count; i++) {
        const struct place *place = &space->functions[way.frames[i].function].place;
        const struct drain_graph *graph = graph_of(tails, place);
        bool has_place = graph != NULL && way.frames[i].place != UINT32_MAX;
        ret_calls->images[i] = place->number;
        ret_calls->places[i] = has_place ? graph->base + way.frames[i].place : place->vaddr;
    }
    ret_calls->count = way.count;
    ret_calls->ways = answer == SONDE__TAIL_SEVERAL ? way.ways : 0;
    sonde__mem_free(space);
    return answer != SONDE__TAIL_NOTHING;
}

bool drain_tails_find(struct drain_tails *tails, const struct sonde__image_set *set,
                      const struct sonde_stack *stack, uint32_t inner,
                      struct drain_tail_calls *ret_calls)
{
    struct place callee;
    const struct sonde__image_range *range;
    const struct drain_graph *graph;
    struct drain_tail_calls across;
    uint64_t pc, vaddr, start, end;
    if (tails->symbols == NULL || !is_asked(stack, inner) ||
        !find_callee(tails, set, stack->pcs[inner + 1], &callee)) {
        return false;
    }
    pc = sonde_stack_lookup_pc(stack, inner);
    range = sonde__image_range_find(set, pc);
    if (range == NULL) {
        return false;
    }
    vaddr = pc - callee.image->bias;
    if (range->image != callee.number) {
        return find_across(tails, set, &callee, pc, ret_calls);
    }
    if (sonde__cfi_fde_bounds(&callee.image->cfi, callee.image->arch, vaddr, &start, &end) &&
        start == callee.vaddr) {
        return false; /* the function that was called: as nearly always */
    }
    graph = graph_of(tails, &callee);
    ret_calls->count = 0;
    if (graph != NULL && find_inside(graph, &callee, vaddr, ret_calls) && ret_calls->ways == 0) {
        return true;
    }
    if (find_across(tails, set, &callee, pc, &across) && across.ways == 0) {
        *ret_calls = across; /* what leads through other images is known, too */
    }
    return ret_calls->count != 0;
}
