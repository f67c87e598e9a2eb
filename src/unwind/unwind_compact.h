// SPDX-License-Identifier: Apache-2.0
/* The compact rule: one step of the walk in twelve bytes, following sp, fp and return address only.
 *
 * All code of compilers and nearly all assembler is of these forms; a process has a few hundred
 * distinct ones. A row that is none of them is OTHER and asks for the full interpreter.
 * Context: handler. */
#ifndef SONDE_UNWIND_COMPACT_H
#define SONDE_UNWIND_COMPACT_H

#include "unwind_program.h"

/* How the CFA, which is the caller's sp, is found. */
enum sonde__rule_cfa {
    SONDE__RULE_NONE,     /* no CFI covers this address */
    SONDE__RULE_OTHER,    /* see the full interpreter */
    SONDE__RULE_END,      /* the return address is undefined: the outermost frame */
    SONDE__RULE_SP,       /* sp + cfa_offset */
    SONDE__RULE_FP,       /* fp + cfa_offset */
    SONDE__RULE_PLT,      /* sp + cfa_offset, + 1 << shift when (pc & 15) >= threshold */
    SONDE__RULE_SP_DEREF, /* the word at sp + cfa_offset (signal frames) */
    SONDE__RULE_FP_DEREF, /* the word at fp + cfa_offset (functions that realign their stack) */
};

/* Where the caller's fp or the return address is. */
enum sonde__rule_from {
    SONDE__FROM_KEPT, /* in its register: fp unchanged, return address in lr */
    SONDE__FROM_UNDEFINED,
    SONDE__FROM_CFA, /* the word at CFA + offset, ... */
    SONDE__FROM_SP,
    SONDE__FROM_FP,
};

#define SONDE__RULE_SIGNAL         0x80 /* flags: a signal frame: the caller's pc is exact */
#define SONDE__RULE_PLT_THRESHOLD  0x0f
#define SONDE__RULE_PLT_SHIFT_BITS 4
#define SONDE__RULE_PLT_SHIFT_MASK 0x07

struct sonde__rule {
    int32_t cfa_offset; /* bytes */
    int16_t fp_offset;  /* bytes */
    int16_t ra_offset;  /* bytes */
    uint8_t cfa;        /* enum sonde__rule_cfa */
    uint8_t fp_from;    /* enum sonde__rule_from */
    uint8_t ra_from;    /* enum sonde__rule_from */
    uint8_t flags;
};

/* An interpreter that follows what compact rules need: fp, return address, sp. */
#define SONDE__COMPACT_CELLS 4
struct sonde__compact {
    struct sonde__program program;
    uint8_t arch;
    uint8_t cell_of[SONDE__REG_COUNT];
    struct sonde__cell cells[SONDE__PROGRAM_STATES * SONDE__COMPACT_CELLS];
};

void sonde__compact_init(struct sonde__compact *compact, const struct sonde__cfi *cfi,
                         unsigned arch);

/* The row at which the program stands, as a rule. */
struct sonde__rule sonde__compact_rule(const struct sonde__compact *compact);

/* The rule for an address from one section in place, without a table. */
struct sonde__rule sonde__compact_find(const struct sonde__cfi *cfi, unsigned arch,
                                       enum sonde__cfi_section section, uint64_t vaddr);

#endif
