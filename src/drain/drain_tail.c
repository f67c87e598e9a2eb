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

bool drain_tails_find(struct drain_tails *tails, const struct sonde__image_set *set,
                      const struct sonde_stack *stack, uint32_t inner,
                      struct drain_tail_calls *ret_calls)
{
    struct sonde__tail_found found;
    struct place callee;
    const struct sonde__image_range *range;
    const struct drain_graph *graph;
    uint64_t pc, start, end;
    if (tails->symbols == NULL || !is_asked(stack, inner) ||
        !find_callee(tails, set, stack->pcs[inner + 1], &callee)) {
        return false;
    }
    pc = sonde_stack_lookup_pc(stack, inner);
    range = sonde__image_range_find(set, pc);
    if (range == NULL || range->image != callee.number) {
        return false;
    }
    pc -= callee.image->bias;
    if (sonde__cfi_fde_bounds(&callee.image->cfi, callee.image->arch, pc, &start, &end) &&
        start == callee.vaddr) {
        return false; /* the function that was called: as nearly always */
    }
    graph = graph_of(tails, &callee);
    if (graph == NULL || callee.vaddr - graph->base >= UINT32_MAX ||
        pc - graph->base >= UINT32_MAX) {
        return false;
    }
    ret_calls->image = callee.number;
    ret_calls->count = 0;
    ret_calls->ways = 0;
    enum sonde__tail_answer answer =
        sonde__tail_between(&graph->graph, (uint32_t)(callee.vaddr - graph->base),
                            (uint32_t)(pc - graph->base), &found);
    for (uint32_t i = 0; i < found.count; i++) {
        ret_calls->places[i] = graph->base + found.frames[i].place;
    }
    ret_calls->count = found.count;
    ret_calls->ways = answer == SONDE__TAIL_SEVERAL ? found.ways : 0;
    return answer != SONDE__TAIL_NOTHING;
}
