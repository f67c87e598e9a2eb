// SPDX-License-Identifier: Apache-2.0
/* What helpers do, by following their code; of a box its own flags as well. Of a box the dispose
 * helper alone tells: copying one is a move, which optimised code makes without a call. */
#include "block_helper.h"
#include "blockheap_inside.h"
#include "mem_heap.h"

static void follow(struct sonde__blockheap *heap, uint64_t helper,
                   enum sonde__block_helper_form form, uint32_t begin, uint32_t size,
                   struct sonde__block_work *work, struct sonde__block_claims *claims,
                   bool *ret_whole, const char **ret_problem)
{
    struct sonde__block_followed followed;
    sonde__block_helper_claims(&heap->memory, helper, form, begin, size, work, claims, &followed);
    if (followed.problem != NULL) {
        *ret_whole = false;
        *ret_problem = followed.problem;
    }
}

void blockheap_claim_helpers(struct sonde__blockheap *heap, const struct sonde__block_desc *desc,
                             struct sonde__block_claims *claims, bool *ret_said,
                             const char **ret_problem)
{
    struct sonde__block_work *work =
        desc->copy != 0 || desc->dispose != 0 ? sonde__mem_alloc(sizeof *work) : NULL;
    bool whole = true;
    if (work == NULL) {
        return;
    }
    if (desc->copy != 0) {
        follow(heap, desc->copy, SONDE__BLOCK_HELPER_COPY, SONDE__BLOCK_HEADER_BYTES, desc->size,
               work, claims, &whole, ret_problem);
    }
    if (desc->dispose != 0) {
        follow(heap, desc->dispose, SONDE__BLOCK_HELPER_DISPOSE, SONDE__BLOCK_HEADER_BYTES,
               desc->size, work, claims, &whole, ret_problem);
    }
    *ret_said |= whole;
    sonde__mem_free(work);
}

static void claim_kind(struct sonde__blockheap *heap, const struct sonde__block_byref *byref,
                       struct sonde__block_claims *claims)
{
    uint8_t kind;
    switch (byref->kind) {
    case SONDE__BLOCK_BYREF_STRONG:
        kind = SONDE_BLOCK_STRONG;
        break;
    case SONDE__BLOCK_BYREF_WEAK:
        kind = SONDE_BLOCK_WEAK;
        break;
    case SONDE__BLOCK_BYREF_UNRETAINED:
        kind = SONDE_BLOCK_UNRETAINED;
        break;
    case SONDE__BLOCK_BYREF_LAYOUT:
        (void)sonde__block_layout_claims(
            &heap->memory,
            byref->layout < 0x1000 ? SONDE__BLOCK_LAYOUT_INLINE : SONDE__BLOCK_LAYOUT_STRING,
            byref->layout, byref->variable, byref->size, SONDE_BLOCK_BY_LAYOUT, claims);
        return;
    default:
        return;
    }
    if (claims->count < claims->capacity) {
        claims->items[claims->count++] = (struct sonde__block_claim){
            .offset = byref->variable, .size = 8, .kind = kind, .source = SONDE_BLOCK_BY_LAYOUT};
    }
}

void blockheap_claim_byref(struct sonde__blockheap *heap, const struct sonde__block_byref *byref,
                           struct sonde__block_claims *claims, bool *ret_said,
                           const char **ret_problem)
{
    struct sonde__block_work *work = byref->dispose != 0 ? sonde__mem_alloc(sizeof *work) : NULL;
    bool whole = work != NULL;
    if (work != NULL) {
        follow(heap, byref->dispose, SONDE__BLOCK_HELPER_DISPOSE, 24, byref->size, work, claims,
               &whole, ret_problem);
        sonde__mem_free(work);
    }
    *ret_said |= whole;
    claim_kind(heap, byref, claims);
}
