// SPDX-License-Identifier: Apache-2.0
/* Records the findings of an emulation, and its problem. */
#include "block_emulate.h"

#include <string.h>

#include "block_claims.h"

bool emulate_fail(struct emulation *f, const char *problem)
{
    if (f->problem == NULL) {
        f->problem = problem;
        f->problem_at = f->cpu.pc;
    }
    return false;
}

static bool is_claimed(const struct emulation *f, const struct sonde__block_claim *claim)
{
    for (size_t i = f->first_claim; i < f->claims->count; i++) {
        const struct sonde__block_claim *old = &f->claims->items[i];
        if (old->offset == claim->offset && old->kind == claim->kind) {
            return true;
        }
    }
    return false;
}

void emulate_claim(struct emulation *f, enum sonde_block_kind kind, uint64_t offset, uint32_t size,
                   const char *type)
{
    struct sonde__block_claim claim = {.offset = (uint32_t)offset,
                                       .size = size,
                                       .kind = (uint8_t)kind,
                                       .source = SONDE_BLOCK_BY_HELPER,
                                       .inside = f->inside_from != 0 && offset >= f->inside_from,
                                       .type = type,
                                       .type_size = type != NULL ? (uint32_t)strlen(type) : 0};
    if (offset < f->begin || offset >= f->size || f->size - offset < size) {
        return; /* the header, or beyond the end */
    }
    if (!is_claimed(f, &claim)) {
        sonde__block_claim_add(f->claims, &claim);
    }
}

void emulate_object(struct emulation *f, enum sonde_block_kind kind, uint64_t value)
{
    uint64_t offset;
    if (emulate_in(value, EMULATE_HELD, &offset)) {
        /* a place inside the pointee, which manages it */
        emulate_claim(f, (offset & 0xffff) == 0 ? kind : SONDE_BLOCK_OBJECT, offset >> 16, 8, NULL);
    } else if (emulate_in(value, EMULATE_BEHIND, &offset)) {
        emulate_claim(f, SONDE_BLOCK_OBJECT, offset >> 16, 8, NULL);
    }
}
