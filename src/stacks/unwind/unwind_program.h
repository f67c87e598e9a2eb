// SPDX-License-Identifier: Apache-2.0
/* Interpreter of call frame programs: turns an FDE into its rows, one after the other.
 *
 * A row says for a range of code how to compute the CFA and each register of the caller. The user
 * chooses the registers to follow: the compact rules need three, the full step all. The rest goes
 * to one cell that nobody reads.
 *
 * A malformed program ends at its bad row; the rows before it are valid. The work is linear in the
 * size of the program. Source: DWARF 5 §6.4.2, §6.4.3; aadwarf64 §4.4.
 * Context: handler. */
#ifndef SONDE_UNWIND_PROGRAM_H
#define SONDE_UNWIND_PROGRAM_H

#include "arch_regs.h"
#include "base_bytes.h"
#include "image_cfi.h"
#include "unwind_cfa.h"

enum sonde__cell_kind {
    SONDE__CELL_UNSPECIFIED, /* no rule: by convention, the same value */
    SONDE__CELL_UNDEFINED,   /* not recoverable; for the return address: nothing called */
    SONDE__CELL_SAME,
    SONDE__CELL_OFFSET,     /* saved at CFA + value */
    SONDE__CELL_VAL_OFFSET, /* is CFA + value */
    SONDE__CELL_REGISTER,   /* saved in another register */
    SONDE__CELL_EXPRESSION, /* saved at the address that an expression gives */
    SONDE__CELL_VAL_EXPRESSION,
};

struct sonde__cell {
    uint8_t kind;  /* enum sonde__cell_kind */
    uint8_t reg;   /* REGISTER */
    int32_t value; /* OFFSET, VAL_OFFSET: bytes; expressions: offset of the block's length in the
                      section, as uint32_t */
};

struct sonde__cfa {
    bool is_expression;
    uint8_t reg;
    int32_t offset;      /* bytes, from reg */
    uint32_t expression; /* offset of the block's length in the section */
};

/* States of cells that a program needs: current, initial, remembered. */
#define SONDE__PROGRAM_STATES (SONDE__CFA_DEPTH + 2)

struct sonde__program {
    const struct sonde__cfi *cfi;
    const uint8_t *cell_of;    /* by register: index of its cell; registers not followed, or >=
                                  SONDE__REG_COUNT, have the last one */
    struct sonde__cell *cells; /* SONDE__PROGRAM_STATES x cell_count; the first are the row's */
    unsigned cell_count;

    struct sonde__cfi_cie cie; /* the CIE whose initial state is held; program null: none */
    enum sonde__cfi_section section;
    struct sonde__cfa cfas[SONDE__PROGRAM_STATES]; /* [0] is the row's */
    struct sonde__cfa_run run;
    uint64_t end; /* vaddr */
    bool done;

    uint64_t row_start; /* vaddr */
    uint64_t row_end;
};

/* Prepare for programs of `cfi`. The caller keeps the arrays. */
void sonde__program_init(struct sonde__program *program, const struct sonde__cfi *cfi,
                         const uint8_t *cell_of, struct sonde__cell *cells, unsigned cell_count);

/* Start an FDE. False: its CIE is malformed. */
bool sonde__program_start(struct sonde__program *program, const struct sonde__cfi_fde *fde);

/* Run to the next row: [row_start, row_end), not empty, cells[] and cfas[0]. False: no more. */
bool sonde__program_next(struct sonde__program *program);

/* Start `fde` and go to the row that covers vaddr. False: none, or malformed before it. */
bool sonde__program_seek(struct sonde__program *program, const struct sonde__cfi_fde *fde,
                         uint64_t vaddr);

/* The bytes of an expression block; failed and empty if malformed. */
struct sonde__bytes sonde__program_block(const struct sonde__cfi *cfi,
                                         enum sonde__cfi_section section, uint32_t offset);

#endif
