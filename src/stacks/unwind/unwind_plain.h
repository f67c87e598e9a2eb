// SPDX-License-Identifier: Apache-2.0
/* Programs of the plain kind, run straight into a table.
 *
 * Compilers' programs move the CFA, save registers, remember and restore. As long as a program does
 * nothing else, its state is a compact rule in three words, and each row is one look-up in the
 * rules seen; the interpreter (unwind_program.h) needs several times as long for the same rows.
 * Whatever is not plain goes to the interpreter, in the middle of a program if need be: there is
 * one meaning of a program, and this is a shorter way to it. */
#ifndef SONDE_UNWIND_PLAIN_H
#define SONDE_UNWIND_PLAIN_H

#include "unwind_rows.h"

/* What the programs of one CIE start from. */
struct sonde__plain_cie {
    struct sonde__cfi_cie cie;
    struct sonde__rule_key initial;
    bool is_plain;
    int8_t data_align;
    uint8_t code_align;
};

/* Run its initial instructions. */
void sonde__plain_cie_init(struct sonde__plain_cie *plain, struct sonde__compact *compact);

/* The end of an FDE that sonde__plain_put_rows() takes: so no sum in it overflows. */
#define SONDE__PLAIN_END_MAX (UINT64_MAX >> 1)

/* The rows of an FDE as far as `limit` (<= its end), of the table that starts at vaddr `base`.
 * *ret_covered: the end of what they cover. False: no room. */
bool sonde__plain_put_rows(struct sonde__rows *table, struct sonde__compact *compact,
                           const struct sonde__plain_cie *plain, const struct sonde__cfi_fde *fde,
                           uint64_t base, uint64_t limit, uint64_t *ret_covered);

/* The same by the interpreter. It goes on from where it stands: see sonde__program_start(). */
bool sonde__program_put_rows(struct sonde__rows *table, struct sonde__compact *compact,
                             uint64_t base, uint64_t limit, uint64_t *ret_covered);

#endif
