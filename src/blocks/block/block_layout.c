// SPDX-License-Identifier: Apache-2.0
/* The extended layout, and the lists of generic helpers: codes of one byte each, an operation in
 * the upper half and a count in the lower one. Source: Block_private.h, "Extended layout encoding"
 * and "Generic block helpers". */
#include "base_bytes.h"
#include "block_claims.h"

#define WORD 8u

struct walk {
    uint32_t at, end;
    uint8_t source;
    struct sonde__block_claims *claims;
    const char *problem;
};

/* Claim `count` words of a kind from `at`. False: beyond the end (a problem). */
static bool words(struct walk *walk, enum sonde_block_kind kind, unsigned count)
{
    for (; count > 0; count--, walk->at += WORD) {
        struct sonde__block_claim claim = {
            .offset = walk->at, .size = WORD, .kind = (uint8_t)kind, .source = walk->source};
        if (walk->end - walk->at < WORD) {
            walk->problem = "a list of captures exceeds the block";
            return false;
        }
        sonde__block_claim_add(walk->claims, &claim);
    }
    return true;
}

static bool pass(struct walk *walk, uint32_t bytes)
{
    if (walk->end - walk->at < bytes) {
        walk->problem = "a list of captures exceeds the block";
        return false;
    }
    walk->at += bytes;
    return true;
}

/* 0xXYZ: X strong, then Y byrefs, then Z weak, exact counts. */
static void inline_layout(struct walk *walk, uint64_t layout)
{
    (void)(words(walk, SONDE_BLOCK_STRONG, layout >> 8 & 15) &&
           words(walk, SONDE_BLOCK_BYREF, layout >> 4 & 15) &&
           words(walk, SONDE_BLOCK_WEAK, layout & 15));
}

/* Operations that are no kind of capture. 0: reserved. */
enum {
    OP_END = 0x80, /* whatever the count */
    OP_ESCAPE,     /* the end; with a count, reserved */
    OP_BYTES,      /* bytes without objects */
    OP_WORDS,      /* words without objects */
};

/* 7 to 10 are reserved and count words. */
static const uint8_t layout_operations[16] = {[0] = OP_ESCAPE,
                                              [1] = OP_BYTES,
                                              [2] = OP_WORDS,
                                              [3] = SONDE_BLOCK_STRONG,
                                              [4] = SONDE_BLOCK_BYREF,
                                              [5] = SONDE_BLOCK_WEAK,
                                              [6] = SONDE_BLOCK_UNRETAINED,
                                              [7] = OP_WORDS,
                                              [8] = OP_WORDS,
                                              [9] = OP_WORDS,
                                              [10] = OP_WORDS};

static const uint8_t generic_operations[16] = {[0] = OP_END,
                                               [1] = OP_BYTES,
                                               [2] = OP_WORDS,
                                               [3] = SONDE_BLOCK_STRONG,
                                               [4] = SONDE_BLOCK_BLOCK,
                                               [5] = SONDE_BLOCK_BYREF,
                                               [6] = SONDE_BLOCK_WEAK};

/* Read one code. False: the end. */
static bool follow(struct walk *walk, const uint8_t operations[16], unsigned code)
{
    unsigned count = (code & 15) + 1, operation = operations[code >> 4];
    if (operation == SONDE_BLOCK_UNRETAINED && walk->source != SONDE_BLOCK_BY_LAYOUT) {
        operation = OP_WORDS; /* the runtime ignores it */
    }
    switch (operation) {
    case OP_END:
        return false;
    case OP_BYTES:
        return pass(walk, count);
    case OP_WORDS:
        return pass(walk, count * WORD);
    case OP_ESCAPE:
        if (code == 0) {
            return false;
        }
        /* fall through */
    case 0:
        walk->problem = "a code that is reserved";
        return false;
    default:
        return words(walk, (enum sonde_block_kind)operation, count);
    }
}

/* Read codes to the end. Each advances the offset, which bounds their number. */
static void codes(struct walk *walk, const struct sonde__block_memory *memory, uint64_t address,
                  const uint8_t operations[16])
{
    for (;; address++) {
        uint8_t code;
        if (!memory->read(memory->ctx, address, &code, sizeof code)) {
            walk->problem = "unreadable list of captures";
            return;
        }
        if (!follow(walk, operations, code)) {
            return;
        }
    }
}

const char *sonde__block_layout_claims(const struct sonde__block_memory *memory, uint8_t form,
                                       uint64_t layout, uint32_t begin, uint32_t end,
                                       enum sonde_block_source source,
                                       struct sonde__block_claims *claims)
{
    struct walk walk = {
        .at = begin, .end = end < begin ? begin : end, .source = (uint8_t)source, .claims = claims};
    if (form == SONDE__BLOCK_LAYOUT_INLINE) {
        inline_layout(&walk, layout);
    } else if (form == SONDE__BLOCK_LAYOUT_STRING) {
        codes(&walk, memory, layout, layout_operations);
    }
    return walk.problem;
}

const char *sonde__block_generic_claims(const struct sonde__block_memory *memory,
                                        const struct sonde__block_desc *desc,
                                        struct sonde__block_claims *claims)
{
    struct walk walk = {.at = SONDE__BLOCK_HEADER_BYTES,
                        .end = desc->size,
                        .source = SONDE_BLOCK_BY_GENERIC,
                        .claims = claims};
    switch (desc->generic_form) {
    case SONDE__BLOCK_GENERIC_LAYOUT:
        return sonde__block_layout_claims(memory, desc->layout_form, desc->layout, walk.at,
                                          walk.end, SONDE_BLOCK_BY_GENERIC, claims);
    case SONDE__BLOCK_GENERIC_INLINE:
        (void)(words(&walk, SONDE_BLOCK_STRONG, desc->generic >> 8 & 15) &&
               words(&walk, SONDE_BLOCK_BLOCK, desc->generic >> 12 & 15) &&
               words(&walk, SONDE_BLOCK_BYREF, desc->generic >> 16 & 15) &&
               words(&walk, SONDE_BLOCK_WEAK, desc->generic >> 20 & 15));
        return walk.problem;
    case SONDE__BLOCK_GENERIC_STRING:
        codes(&walk, memory, desc->generic + 1, generic_operations);
        return walk.problem;
    default:
        return NULL;
    }
}
