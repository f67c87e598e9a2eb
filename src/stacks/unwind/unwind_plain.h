// SPDX-License-Identifier: Apache-2.0
/* Puts the rows of plain programs straight into a table.
 *
 * Compilers' programs move the CFA, save registers, remember and restore states. While a program
 * does only that, its state is a compact rule in three words, and each row is one look-up among
 * the rules seen: a third fewer instructions than with cells (unwind_program.h). */
#ifndef SONDE_UNWIND_PLAIN_H
#define SONDE_UNWIND_PLAIN_H

#include "unwind_rows.h"

/* The initial state of a CIE's programs. */
struct sonde__plain_cie {
    struct sonde__cfi_cie cie;
    struct sonde__rule_key initial;
    bool is_plain;
};

/* Run its initial instructions. */
void sonde__plain_cie_init(struct sonde__plain_cie *plain, struct sonde__compact *compact);

/* Put the rows of an FDE of a plain CIE up to `limit` (<= its end) into the table that starts at
 * vaddr `base`. *ret_covered: the end of these rows; below `limit` if the program does something
 * there that is not plain, or is malformed. False: no room. */
bool sonde__plain_put_rows(struct sonde__rows *table, const struct sonde__compact *compact,
                           const struct sonde__plain_cie *plain, const struct sonde__cfi_fde *fde,
                           uint64_t base, uint64_t limit, uint64_t *ret_covered);

#endif
