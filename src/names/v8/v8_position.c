// SPDX-License-Identifier: Apache-2.0
/* Places in the source, from the tables of functions. */
#include "base_bytes.h"
#include "v8.h"

/* Limit: bytes of a table of positions. */
enum { TABLE_MAX = 1 << 18 };

struct table {
    const uint8_t *at, *end;
};

/* Seven bits in a byte, the lowest first. */
static bool next(struct table *table, uint64_t *ret_bits)
{
    uint64_t bits = 0;
    for (unsigned shift = 0; table->at < table->end && shift < 64; shift += 7) {
        uint8_t byte = *table->at++;
        bits |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80) {
            *ret_bits = bits;
            return true;
        }
    }
    return false;
}

/* A number whose sign is in the lowest bit. */
static int64_t with_sign(uint64_t bits)
{
    return (int64_t)(bits >> 1) ^ -(int64_t)(bits & 1);
}

/* The character that the instruction at `code` comes from; -1: unknown. Entries are pairs of
 * differences; a code offset of an expression is written as -offset - 1. */
static int64_t position_of(const struct v8 *v8, struct table table, int64_t code)
{
    int64_t at = -1, place = 0, found = -1; /* -1: the entry, ahead of the first instruction */
    uint64_t step = 0, move = 0;
    while (next(&table, &step) && next(&table, &move)) {
        int64_t signed_step = with_sign(step);
        uint64_t by = (uint64_t)(signed_step >= 0 ? signed_step : -(signed_step + 1));
        at = (int64_t)((uint64_t)at + (v8->layout.has_step_bits ? step >> 2 : by));
        place = (int64_t)((uint64_t)place + (uint64_t)with_sign(move));
        if (at > code) {
            break;
        }
        found = ((place >> 1) & 0x3fffffff) - 1;
    }
    return found;
}

static bool table_of(struct v8 *v8, uint64_t bytecode, struct table *ret_table)
{
    const int32_t *of = v8->layout.of;
    uint64_t bytes = sonde__v8_word(v8, bytecode, v8->layout.bytecode_positions);
    int32_t type = sonde__v8_type(v8, bytes);
    uint64_t length = sonde__v8_word(v8, bytes, of[V8_ARRAY_LENGTH]);
    if ((type != of[V8_TYPE_BYTES] && type != of[V8_TYPE_TRUSTED_BYTES]) || !v8_is_small(length) ||
        length >> 32 == 0 || length >> 32 > TABLE_MAX) {
        return false;
    }
    uint32_t size = (uint32_t)(length >> 32);
    ret_table->at = v8->at(v8->ctx, bytes - 1 + (uint64_t)of[V8_ARRAY_DATA], size);
    ret_table->end = ret_table->at != NULL ? ret_table->at + size : NULL;
    return ret_table->at != NULL;
}

int64_t sonde__v8_position(struct v8 *v8, uint64_t bytecode, int64_t offset)
{
    struct table table;
    return table_of(v8, bytecode, &table)
               ? position_of(v8, table, offset - (v8->layout.of[V8_BYTECODE_DATA] - 1))
               : -1;
}
