// SPDX-License-Identifier: Apache-2.0
/* Interpreter of call frame programs: an FDE -> its rows, one after the other.
 *
 * A row says for a range of code how the CFA and each register of the caller are computed. Which
 * registers are followed is the user's choice: the compact rules need three, the full step all.
 * Everything else is written to one cell that nobody reads.
 *
 * A program that is malformed ends at the row where it goes wrong; the rows before it stand.
 * Work is linear in the size of the program. Source: DWARF 5 §6.4.2, §6.4.3; aadwarf64 §4.4.
 * Context: handler. */
#ifndef SONDE_UNWIND_PROGRAM_H
#define SONDE_UNWIND_PROGRAM_H

#include "arch_regs.h"
#include "base_bytes.h"
#include "image_cfi.h"
#include "unwind_cfa.h"

enum sonde__cell_kind {
    SONDE__CELL_UNSPECIFIED, /* no rule: by convention, the same value */
    SONDE__CELL_UNDEFINED,   /* not recoverable; of the return address: nobody called */
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
    int32_t value; /* OFFSET, VAL_OFFSET: bytes; expressions: offset in the section of the block's
                      length, as uint32_t */
};

struct sonde__cfa {
    bool is_expression;
    uint8_t reg;
    int32_t offset;      /* bytes, from reg */
    uint32_t expression; /* offset in the section of the block's length */
};

/* States of cells that a program needs: current, initial, remembered. */
#define SONDE__PROGRAM_STATES (SONDE__CFA_DEPTH + 2)

struct sonde__program {
    const struct sonde__cfi *cfi;
    const uint8_t *cell_of;    /* by register: index of its cell; registers >= SONDE__REG_COUNT and
                                  those not followed have the last one */
    struct sonde__cell *cells; /* SONDE__PROGRAM_STATES x cell_count; the first are the row's */
    unsigned cell_count;

    struct sonde__cfi_cie cie; /* whose initial state is held; program null: none */
    enum sonde__cfi_section section;
    struct sonde__cfa cfas[SONDE__PROGRAM_STATES]; /* [0] is the row's */
    struct sonde__cfa_run run;
    uint64_t end; /* vaddr */
    bool done;

    uint64_t row_start; /* vaddr */
    uint64_t row_end;
};

/* Prepare for programs of `cfi`. The arrays stay the caller's. */
void sonde__program_init(struct sonde__program *program, const struct sonde__cfi *cfi,
                         const uint8_t *cell_of, struct sonde__cell *cells, unsigned cell_count);

/* Start an FDE. False: its CIE is malformed. */
bool sonde__program_start(struct sonde__program *program, const struct sonde__cfi_fde *fde);

/* The next row: [row_start, row_end), not empty, cells[] and cfas[0]. False: no more. */
bool sonde__program_next(struct sonde__program *program);

/* Start `fde` and go to the row that covers vaddr. False: none, or malformed before it. */
bool sonde__program_seek(struct sonde__program *program, const struct sonde__cfi_fde *fde,
                         uint64_t vaddr);

/* The bytes of an expression block. Failed and empty when malformed. */
struct sonde__bytes sonde__program_block(const struct sonde__cfi *cfi,
                                         enum sonde__cfi_section section, uint32_t offset);

#endif
