// SPDX-License-Identifier: Apache-2.0
#include "drain_tail.h"

#include <string.h>

#include "image_cfi.h"
#include "mem_heap.h"
#include "tail_across.h"

/* Limit of the code to search for tail calls while a user waits for a stack: a search takes some 5
 * ns per byte. Chromium's largest library has 180 MB. */
#define CODE_BYTES_MAX ((uint64_t)192 << 20)

void drain_tails_done(struct drain_tails *tails)
{
    while (tails->graphs != NULL) {
        struct drain_graph *graph = tails->graphs;
        tails->graphs = graph->next;
        sonde__tail_bytes_done(&graph->bytes);
        sonde__mem_free(graph);
    }
}

/* An address in an image of the snapshot. */
struct place {
    const struct sonde__image *image;
    const struct sonde__elf *elf; /* with the image's code */
    uint32_t number;              /* of the image */
    uint64_t vaddr;
};

/* Open the image's ELF with its code. */
static bool open_elf(struct drain_tails *tails, struct place *place)
{
    const void *bytes = NULL;
    size_t size = 0;
    if ((place->image->flags & (SONDE__IMAGE_VDSO | SONDE__IMAGE_DELETED)) != 0 &&
        (tails->target == NULL ||
         !sonde__target_image_bytes(tails->target, place->image, &bytes, &size))) {
        return false;
    }
    return sonde__symfile_elf(tails->symbols, place->image, bytes, size, &place->elf, NULL) ==
           SONDE_OK;
}

static bool find_place(struct drain_tails *tails, const struct sonde__image_set *set,
                       uint64_t address, struct place *ret)
{
    const struct sonde__image_range *range = sonde__image_range_find(set, address);
    if (range == NULL || range->image >= set->image_count) {
        return false;
    }
    ret->number = range->image;
    ret->image = &set->images[range->image];
    ret->vaddr = address - ret->image->bias;
    return open_elf(tails, ret);
}

static const struct drain_graph *graph_of(struct drain_tails *tails, const struct place *place)
{
    struct drain_graph *graph;
    struct sonde__tail_code code = {.elf = place->elf};
    uint64_t end;
    for (graph = tails->graphs; graph != NULL; graph = graph->next) {
        if (graph->elf == place->elf) {
            return graph;
        }
    }
    graph = sonde__mem_alloc_zeroed(sizeof *graph);
    if (graph == NULL) {
        return NULL;
    }
    graph->next = tails->graphs;
    tails->graphs = graph;
    graph->elf = place->elf;
    if (sonde__symfile_tails(tails->symbols, place->image, NULL, 0, &graph->graph, &graph->base)) {
        return graph;
    }
    if (sonde__symfile_index(tails->symbols, place->image, NULL, 0, &code.symbols, NULL) !=
        SONDE_OK) {
        code.symbols = NULL;
    }
    if (!sonde__elf_text_range(place->elf, &graph->base, &end) ||
        end - graph->base > (tails->code_bytes_max != 0 ? tails->code_bytes_max : CODE_BYTES_MAX)) {
        return graph; /* an empty graph */
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

/* Find main(), if the caller is start-up code that calls it. */
static bool find_main(struct drain_tails *tails, const struct sonde__image_set *set,
                      const struct place *caller, struct place *ret)
{
    struct sonde__function function;
    uint64_t to;
    uint32_t entry;
    if (!sonde__tail_hands_over(caller->elf, caller->image->arch, caller->vaddr, &to)) {
        return false;
    }
    sonde__symfile_function(tails->symbols, caller->image, NULL, 0, to, &function);
    if (!function.has_start || function.start != to || strcmp(function.name, "exit") != 0) {
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

/* The probe's vfork() jumps to libc's. That frame is not the program's. */
static bool is_of_probe(const struct place *place)
{
    const char *slash = strrchr(place->image->path, '/');
    return slash != NULL && strcmp(slash, "/libsonde-preload.so") == 0;
}

/* Find the function that is entered by the call before `back`. */
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
    case SONDE__TAIL_CALLEE_SLOT: /* the word was read from memory, so its name is not needed */
        return tails->target != NULL &&
               sonde__target_read(tails->target, vaddr + caller.image->bias, &word, sizeof word) ==
                   sizeof word &&
               find_place(tails, set, word, ret) && !is_of_probe(ret);
    default:
        return find_main(tails, set, &caller, ret);
    }
}

/* Can frames be missing between these two? Only if the caller was found by CFI or lr: with frame
 * pointers, the frame in between may just lack one. */
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

/* --- the search --- */

struct world {
    struct drain_tails *tails;
    const struct sonde__image_set *set;
};

static bool to_place(const struct world *world, const struct sonde__tail_place *at,
                     struct place *ret)
{
    ret->image = &world->set->images[at->image];
    ret->number = at->image;
    ret->vaddr = at->vaddr;
    return open_elf(world->tails, ret);
}

static const struct sonde__tail_graph *graph_in_world(void *ctx, uint32_t image, uint64_t *ret_base)
{
    const struct world *world = ctx;
    const struct drain_graph *graph;
    struct place place;
    if (!to_place(world, &(struct sonde__tail_place){image, 0}, &place) ||
        (graph = graph_of(world->tails, &place)) == NULL) {
        return NULL;
    }
    *ret_base = graph->base;
    return &graph->graph;
}

/* Read the word from the target's memory. False: it is not bound yet, or not to the start of a
 * function. */
static bool word_in_world(void *ctx, const struct sonde__tail_place *at,
                          struct sonde__tail_place *ret_to)
{
    const struct world *world = ctx;
    const struct sonde__image *image = &world->set->images[at->image];
    struct place to;
    uint64_t word, start, end;
    if (world->tails->target == NULL ||
        sonde__target_read(world->tails->target, at->vaddr + image->bias, &word, sizeof word) !=
            sizeof word ||
        !find_place(world->tails, world->set, word, &to) ||
        !sonde__cfi_fde_bounds(&to.image->cfi, to.image->arch, to.vaddr, &start, &end) ||
        start != to.vaddr) {
        return false;
    }
    *ret_to = (struct sonde__tail_place){to.number, to.vaddr};
    return true;
}

static bool entry_in_world(void *ctx, const struct sonde__tail_place *at, uint64_t *ret_vaddr)
{
    const struct world *world = ctx;
    const struct sonde__image *image = &world->set->images[at->image];
    uint64_t end;
    return sonde__cfi_fde_bounds(&image->cfi, image->arch, at->vaddr, ret_vaddr, &end);
}

bool drain_tails_find(struct drain_tails *tails, const struct sonde__image_set *set,
                      const struct sonde_stack *stack, uint32_t inner,
                      struct sonde__tail_frames *ret_frames)
{
    struct world world = {tails, set};
    const struct sonde__tail_images images = {&world, graph_in_world, word_in_world,
                                              entry_in_world};
    const struct sonde__image_range *range;
    struct place callee, there;
    uint64_t pc, start, end;
    if (tails->symbols == NULL || !is_asked(stack, inner) ||
        !find_callee(tails, set, stack->pcs[inner + 1], &callee)) {
        return false;
    }
    pc = sonde_stack_lookup_pc(stack, inner);
    range = sonde__image_range_find(set, pc);
    if (range == NULL || (range->image == callee.number &&
                          sonde__cfi_fde_bounds(&callee.image->cfi, callee.image->arch,
                                                pc - callee.image->bias, &start, &end) &&
                          start == callee.vaddr)) {
        return false; /* the inner frame is the called function, as nearly always */
    }
    if (!find_place(tails, set, pc, &there)) {
        return false;
    }
    return sonde__tail_across(&images, &(struct sonde__tail_place){callee.number, callee.vaddr},
                              &(struct sonde__tail_place){there.number, there.vaddr},
                              ret_frames) != SONDE__TAIL_NOTHING;
}
