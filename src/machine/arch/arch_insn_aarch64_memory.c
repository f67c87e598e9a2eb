// SPDX-License-Identifier: Apache-2.0
/* Loads and stores of aarch64. */
#include "arch_insn_aarch64.h"

static void place_at(struct sonde__insn *insn, unsigned base, int64_t offset)
{
    insn->base = (uint8_t)base;
    insn->offset = offset;
}

/* Indexing of pairs and unscaled single registers: 1 post-index, 3 pre-index, else no
 * write-back. */
static void indexed(struct sonde__insn *insn, unsigned base, unsigned mode, int64_t offset)
{
    place_at(insn, base, mode == 1 ? 0 : offset);
    insn->writeback = mode == 1 ? 2 : mode == 3 ? 1 : 0;
    insn->offset2 = offset;
}

static bool pairs(uint32_t word, struct sonde__insn *insn)
{
    unsigned size = word >> 30, mode = bits_of(word, 23, 2);
    bool is_vector = bits_of(word, 26, 1) != 0, is_load = bits_of(word, 22, 1) != 0;
    unsigned bytes = is_vector ? 4u << size : size == 2 ? 8 : 4;
    unsigned first = bits_of(word, 0, 5), second = bits_of(word, 10, 5);
    if (size == 3 || (!is_vector && size == 1 && (!is_load || mode == 0))) {
        return false;
    }
    insn->op = is_load ? SONDE__INSN_LOAD_PAIR : SONDE__INSN_STORE_PAIR;
    insn->bits = (uint8_t)(bytes * 8);
    insn->variant = !is_vector && size == 1; /* ldpsw */
    insn->a = in_reg(is_vector ? SONDE__INSN_VECTOR_FIRST + first : or_zero(first));
    insn->c = (uint8_t)(is_vector ? SONDE__INSN_VECTOR_FIRST + second : or_zero(second));
    insn->dst = in_place;
    indexed(insn, bits_of(word, 5, 5), mode, signed_bits(word, 15, 7) * (int64_t)bytes);
    return true;
}

/* Width, sign and register of a single load or store. False: invalid. */
static bool single(uint32_t word, struct sonde__insn *insn)
{
    unsigned size = word >> 30, way = bits_of(word, 22, 2), reg = bits_of(word, 0, 5);
    struct sonde__insn_value value;
    bool is_load = way != 0;
    if (bits_of(word, 26, 1)) {
        unsigned scale = size | (way >> 1) << 2;
        if (scale > 4) {
            return false;
        }
        is_load = (way & 1) != 0;
        insn->bits = (uint8_t)(8u << scale);
        value = in_reg(SONDE__INSN_VECTOR_FIRST + reg);
    } else {
        insn->bits = (uint8_t)(8u << size);
        value = in_reg(or_zero(reg));
        if (way >= 2) {
            if (size == 3) { /* prfm */
                insn->op = SONDE__INSN_NOTHING;
                return way == 2;
            }
            if (size == 2 && way == 3) {
                return false;
            }
            insn->op = SONDE__INSN_MOVE_SIGNED;
            insn->from_bits = insn->bits;
            insn->bits = way == 2 ? 64 : 32;
            insn->dst = value;
            insn->a = in_place;
            return true;
        }
    }
    insn->op = SONDE__INSN_MOVE;
    insn->dst = is_load ? value : in_place;
    insn->a = is_load ? in_place : value;
    return true;
}

/* Bytes that a single load or store moves. */
static int64_t scale_of(const struct sonde__insn *insn, uint32_t word)
{
    unsigned bits = insn->op == SONDE__INSN_MOVE_SIGNED ? insn->from_bits
                    : insn->op == SONDE__INSN_NOTHING   ? 8u << (word >> 30)
                                                        : insn->bits;
    return bits / 8;
}

/* swp, ldadd and the like. */
static bool atomic(uint32_t word, struct sonde__insn *insn)
{
    static const uint8_t ops[] = {SONDE__INSN_ADD, SONDE__INSN_AND_NOT, SONDE__INSN_XOR,
                                  SONDE__INSN_OR};
    unsigned op = bits_of(word, 12, 3);
    bool is_swap = bits_of(word, 15, 1) != 0;
    if (bits_of(word, 26, 1) != 0) {
        return false;
    }
    insn->bits = (uint8_t)(8u << (word >> 30));
    insn->dst = in_reg(or_zero(bits_of(word, 0, 5)));
    place_at(insn, bits_of(word, 5, 5), 0);
    if (is_swap && op == 4) { /* ldapr */
        insn->op = SONDE__INSN_MOVE;
        insn->a = in_place;
        return true;
    }
    if ((is_swap && op != 0) || op > 3) { /* minima and maxima are not decoded */
        return false;
    }
    insn->op = SONDE__INSN_FETCH;
    insn->variant = is_swap ? SONDE__INSN_MOVE : ops[op];
    insn->a = in_reg(or_zero(bits_of(word, 16, 5)));
    return true;
}

static bool single_register(uint32_t word, struct sonde__insn *insn)
{
    unsigned mode = bits_of(word, 10, 2), base = bits_of(word, 5, 5);
    if (bits_of(word, 24, 1)) { /* unsigned, scaled offset */
        if (!single(word, insn)) {
            return false;
        }
        place_at(insn, base, (int64_t)bits_of(word, 10, 12) * scale_of(insn, word));
        return true;
    }
    if (bits_of(word, 21, 1) == 0) {
        if (!single(word, insn)) {
            return false;
        }
        indexed(insn, base, mode, signed_bits(word, 12, 9));
        return mode != 2 || bits_of(word, 26, 1) == 0;
    }
    if (mode == 0) {
        return atomic(word, insn);
    }
    if (mode == 2) { /* register offset */
        unsigned extend = bits_of(word, 13, 3);
        unsigned shift = 0;
        if (!single(word, insn) || (extend & 2) == 0) {
            return false;
        }
        for (int64_t scale = scale_of(insn, word); bits_of(word, 12, 1) && scale > 1; scale /= 2) {
            shift++;
        }
        place_at(insn, base, 0);
        insn->index = or_zero(bits_of(word, 16, 5));
        insn->index_shift = (uint8_t)shift;
        insn->index_bits = extend & 1 ? 64 : 32;
        insn->index_signed = (extend & 4) != 0;
        return true;
    }
    /* ldraa, ldrab: authenticates a pointer, which is used unchanged */
    if (word >> 30 != 3 || bits_of(word, 26, 1) != 0) {
        return false;
    }
    insn->op = SONDE__INSN_MOVE;
    insn->dst = in_reg(or_zero(bits_of(word, 0, 5)));
    insn->a = in_place;
    indexed(insn, base, mode == 3 ? 3 : 0,
            (signed_bits(word, 12, 9) | (bits_of(word, 22, 1) ? -512 : 0)) * 8);
    if (bits_of(word, 22, 1) == 0) {
        insn->offset = (int64_t)bits_of(word, 12, 9) * 8;
        insn->offset2 = insn->offset;
    }
    return true;
}

/* ldxr, stxr, ldar, stlr, cas. */
static bool exclusive(uint32_t word, struct sonde__insn *insn)
{
    unsigned size = word >> 30, kind = bits_of(word, 21, 3);
    bool is_load = bits_of(word, 22, 1) != 0;
    struct sonde__insn_value value = in_reg(or_zero(bits_of(word, 0, 5)));
    insn->bits = (uint8_t)(8u << size);
    place_at(insn, bits_of(word, 5, 5), 0);
    if ((kind & 5) == 5) { /* cas */
        insn->op = SONDE__INSN_COMPARE_SWAP;
        insn->dst = in_reg(or_zero(bits_of(word, 16, 5)));
        insn->a = insn->dst;
        insn->b = value;
        return true;
    }
    if (kind & 1) { /* pairs */
        return false;
    }
    if (!is_load && (kind & 4) == 0) {
        insn->op = SONDE__INSN_STORE_EXCLUSIVE;
        insn->dst = in_reg(or_zero(bits_of(word, 16, 5)));
        insn->a = value;
        return true;
    }
    insn->op = SONDE__INSN_MOVE;
    insn->dst = is_load ? value : in_place;
    insn->a = is_load ? in_place : value;
    return true;
}

static bool literal(uint64_t pc, uint32_t word, struct sonde__insn *insn)
{
    unsigned size = word >> 30;
    bool is_vector = bits_of(word, 26, 1) != 0;
    unsigned reg = bits_of(word, 0, 5);
    if (size == 3) {
        return !is_vector; /* prfm: no effect */
    }
    insn->op = size == 2 && !is_vector ? SONDE__INSN_MOVE_SIGNED : SONDE__INSN_MOVE;
    insn->from_bits = 32;
    insn->bits = is_vector ? (uint8_t)(32u << size) : size == 0 ? 32 : 64;
    insn->dst = in_reg(is_vector ? SONDE__INSN_VECTOR_FIRST + reg : or_zero(reg));
    insn->a = in_place;
    insn->offset = (int64_t)(pc + (uint64_t)(signed_bits(word, 5, 19) * 4));
    return true;
}

bool sonde__aarch64_load_or_store(uint64_t pc, uint32_t word, struct sonde__insn *insn)
{
    switch (bits_of(word, 27, 3)) {
    case 1:
        if (bits_of(word, 24, 2) == 0 && bits_of(word, 26, 1) == 0) {
            return exclusive(word, insn);
        }
        return false;
    case 3:
        return bits_of(word, 24, 2) == 0 ? literal(pc, word, insn) : false;
    case 5:
        return bits_of(word, 25, 1) == 0 && pairs(word, insn);
    case 7:
        return bits_of(word, 25, 1) == 0 && single_register(word, insn);
    default:
        return false;
    }
}
