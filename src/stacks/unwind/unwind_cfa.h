// SPDX-License-Identifier: Apache-2.0
/* The decoder of call frame instructions, for any state to run them on.
 *
 * There are two states: cells for any set of registers (unwind_program.h), and a compact rule in
 * three words (unwind_plain.c), which builds a table in two thirds of the time. The decoder alone
 * knows the instructions, the coding of their operands and where they end. Each state gives a
 * constant struct sonde__cfa_state, whose functions are inlined into the decoder. Its function
 * `other` decodes what only cells can hold.
 *
 * Source: DWARF 5 §6.4.2, table 7.29. Context: handler. */
#ifndef SONDE_UNWIND_CFA_H
#define SONDE_UNWIND_CFA_H

#include "base_bytes.h"
#include "image_cfi.h"

/* DW_CFA_* and vendor extensions. */
enum {
    CFA_NOP = 0x00,
    CFA_SET_LOC = 0x01,
    CFA_ADVANCE_LOC1 = 0x02,
    CFA_ADVANCE_LOC2 = 0x03,
    CFA_ADVANCE_LOC4 = 0x04,
    CFA_OFFSET_EXTENDED = 0x05,
    CFA_RESTORE_EXTENDED = 0x06,
    CFA_UNDEFINED = 0x07,
    CFA_SAME_VALUE = 0x08,
    CFA_REGISTER = 0x09,
    CFA_REMEMBER_STATE = 0x0a,
    CFA_RESTORE_STATE = 0x0b,
    CFA_DEF_CFA = 0x0c,
    CFA_DEF_CFA_REGISTER = 0x0d,
    CFA_DEF_CFA_OFFSET = 0x0e,
    CFA_DEF_CFA_EXPRESSION = 0x0f,
    CFA_EXPRESSION = 0x10,
    CFA_OFFSET_EXTENDED_SF = 0x11,
    CFA_DEF_CFA_SF = 0x12,
    CFA_DEF_CFA_OFFSET_SF = 0x13,
    CFA_VAL_OFFSET = 0x14,
    CFA_VAL_OFFSET_SF = 0x15,
    CFA_VAL_EXPRESSION = 0x16,
    CFA_AARCH64_NEGATE_RA_STATE_WITH_PC = 0x2c,
    CFA_AARCH64_NEGATE_RA_STATE = 0x2d, /* also GNU_window_save, SPARC only */
    CFA_GNU_ARGS_SIZE = 0x2e,
    CFA_GNU_NEGATIVE_OFFSET_EXTENDED = 0x2f,
    CFA_ADVANCE_LOC = 0x40, /* with the operand in the low six bits */
    CFA_OFFSET = 0x80,
    CFA_RESTORE = 0xc0,
    CFA_LOW_BITS = 0x3f,
};

/* Limit of remembered states. Compilers nest one, rarely two. */
#define SONDE__CFA_DEPTH 8

/* The position in a program. */
struct sonde__cfa_run {
    const uint8_t *at, *end; /* the next instruction; one past the last */
    uint64_t vaddr;          /* start of the current row */
    uint64_t code_align;
    int64_t data_align;
    unsigned depth; /* remembered states */
};

/* The state that instructions change. False: the state cannot hold it. */
struct sonde__cfa_state {
    /* `reg` is saved at CFA + offset. */
    bool (*save)(void *state, uint64_t reg, int64_t offset);
    /* `reg` gets the rule that the CIE's program gave it. */
    bool (*restore)(void *state, uint64_t reg);
    /* The CFA is reg + offset; only its register changes; only its offset changes. */
    bool (*set_cfa)(void *state, uint64_t reg, int64_t offset);
    bool (*set_cfa_register)(void *state, uint64_t reg);
    bool (*set_cfa_offset)(void *state, int64_t offset);
    /* Store the row in `slot` (< SONDE__CFA_DEPTH); restore it. */
    void (*remember)(void *state, unsigned slot);
    void (*recall)(void *state, unsigned slot);
    /* Any other instruction, with its operands at `at`. Returns their end; null: malformed,
     * unknown, or the state cannot hold it. *ret_delta: bytes by which the location advances. */
    const uint8_t *(*other)(void *state, uint8_t op, const uint8_t *at, uint64_t *ret_delta);
};

/* Why a run stopped. */
enum sonde__cfa_end {
    SONDE__CFA_ROW,     /* the location advanced: the state is that of the row before */
    SONDE__CFA_PROGRAM, /* no more instructions: the state is that of the last row */
    SONDE__CFA_REFUSED, /* malformed, or the state cannot hold it */
};

/* Start a program, after that of its CIE. */
static inline struct sonde__cfa_run sonde__cfa_start(const struct sonde__cfi_cie *cie,
                                                     const uint8_t *program, size_t size,
                                                     uint64_t vaddr)
{
    return (struct sonde__cfa_run){.at = program,
                                   .end = size > 0 ? program + size : program,
                                   .vaddr = vaddr,
                                   .code_align = cie->code_align,
                                   .data_align = cie->data_align};
}

/* Read an operand of any length. Returns its end; null: it is cut off. */
const uint8_t *sonde__cfa_read_long(const uint8_t *at, const uint8_t *end, uint64_t *ret_value);

/* Read the ULEB128 operand at `at` (null: an earlier one was cut off). */
static inline __attribute__((always_inline)) const uint8_t *
sonde__cfa_read(const uint8_t *at, const uint8_t *end, uint64_t *ret_value)
{
    uint64_t value = 0;
    if (at != NULL && at < end && *at < 0x80) {
        *ret_value = *at;
        return at + 1;
    }
    if (at != NULL) {
        at = sonde__cfa_read_long(at, end, &value);
        *ret_value = value;
    }
    return at;
}

/* Multiply by the CIE's data alignment, which factors nearly all distances. */
static inline bool sonde__cfa_scale(const struct sonde__cfa_run *run, int64_t factored,
                                    int64_t *ret_offset)
{
    return !__builtin_mul_overflow(factored, run->data_align, ret_offset);
}

static inline __attribute__((always_inline)) const uint8_t *
sonde__cfa_save(const struct sonde__cfa_state *to, void *state, const struct sonde__cfa_run *run,
                uint64_t reg, const uint8_t *at)
{
    uint64_t factored = 0;
    int64_t offset = 0;
    at = sonde__cfa_read(at, run->end, &factored);
    return at != NULL && sonde__cfa_scale(run, (int64_t)factored, &offset) &&
                   to->save(state, reg, offset)
               ? at
               : NULL;
}

/* DW_CFA_advance_loc1, 2 and 4. */
static inline __attribute__((always_inline)) const uint8_t *
sonde__cfa_advance(const struct sonde__cfa_run *run, uint8_t op, const uint8_t *at,
                   uint64_t *ret_delta)
{
    const unsigned width = 1u << (op - CFA_ADVANCE_LOC1);
    if (run->end - at < (ptrdiff_t)width) {
        return NULL;
    }
    *ret_delta = sonde__base_le(at, width) * run->code_align;
    return at + width;
}

/* Run the instruction at `at`. Returns its end; null: refused. *ret_delta: bytes by which the
 * location advances. One switch for all instructions: two in a row make a table 3 % slower. */
static inline __attribute__((always_inline)) const uint8_t *
sonde__cfa_run_one(const struct sonde__cfa_state *to, void *state, struct sonde__cfa_run *run,
                   const uint8_t *at, uint64_t *ret_delta)
{
    const uint8_t op = *at++;
    uint64_t reg = 0;
    uint64_t value = 0;
    *ret_delta = 0;
    switch (op) {
    case CFA_ADVANCE_LOC ... CFA_ADVANCE_LOC + CFA_LOW_BITS:
        *ret_delta = (op & CFA_LOW_BITS) * run->code_align;
        return at;
    case CFA_OFFSET ... CFA_OFFSET + CFA_LOW_BITS:
        return sonde__cfa_save(to, state, run, op & CFA_LOW_BITS, at);
    case CFA_RESTORE ... CFA_RESTORE + CFA_LOW_BITS:
        return to->restore(state, op & CFA_LOW_BITS) ? at : NULL;
    case CFA_DEF_CFA_OFFSET:
        at = sonde__cfa_read(at, run->end, &value);
        return at != NULL && to->set_cfa_offset(state, (int64_t)value) ? at : NULL;
    case CFA_NOP:
    case CFA_AARCH64_NEGATE_RA_STATE: /* PAC signatures are always stripped */
    case CFA_AARCH64_NEGATE_RA_STATE_WITH_PC:
        return at;
    case CFA_ADVANCE_LOC1:
    case CFA_ADVANCE_LOC2:
    case CFA_ADVANCE_LOC4:
        return sonde__cfa_advance(run, op, at, ret_delta);
    case CFA_REMEMBER_STATE:
        if (run->depth == SONDE__CFA_DEPTH) {
            return NULL;
        }
        to->remember(state, run->depth++);
        return at;
    case CFA_RESTORE_STATE:
        if (run->depth == 0) {
            return NULL;
        }
        to->recall(state, --run->depth);
        return at;
    case CFA_DEF_CFA:
        at = sonde__cfa_read(sonde__cfa_read(at, run->end, &reg), run->end, &value);
        return at != NULL && to->set_cfa(state, reg, (int64_t)value) ? at : NULL;
    case CFA_DEF_CFA_REGISTER:
        at = sonde__cfa_read(at, run->end, &reg);
        return at != NULL && to->set_cfa_register(state, reg) ? at : NULL;
    case CFA_OFFSET_EXTENDED:
        at = sonde__cfa_read(at, run->end, &reg);
        return sonde__cfa_save(to, state, run, reg, at);
    case CFA_RESTORE_EXTENDED:
        at = sonde__cfa_read(at, run->end, &reg);
        return at != NULL && to->restore(state, reg) ? at : NULL;
    case CFA_GNU_ARGS_SIZE: /* matters only to landing pads */
        return sonde__cfa_read(at, run->end, &value);
    default:
        return to->other(state, op, at, ret_delta);
    }
}

/* Run to the end of the row that begins at run->vaddr. ROW: *ret_next is the start of the next
 * row, and the caller sets run->vaddr to it. */
static inline __attribute__((always_inline)) enum sonde__cfa_end
sonde__cfa_run_row(const struct sonde__cfa_state *to, void *state, struct sonde__cfa_run *run,
                   uint64_t *ret_next)
{
    const uint8_t *at = run->at;
    while (at < run->end) {
        uint64_t delta = 0;
        at = sonde__cfa_run_one(to, state, run, at, &delta);
        if (at == NULL) {
            return SONDE__CFA_REFUSED;
        }
        if (delta != 0) {
            run->at = at;
            *ret_next = run->vaddr + delta; /* a hostile factor may wrap */
            return *ret_next > run->vaddr ? SONDE__CFA_ROW : SONDE__CFA_REFUSED;
        }
    }
    return SONDE__CFA_PROGRAM;
}

#endif
