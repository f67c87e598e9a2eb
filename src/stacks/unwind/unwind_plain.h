// SPDX-License-Identifier: Apache-2.0
/* A fast path of the interpreter for plain programs, straight into a table.
 *
 * Programs of compilers move the CFA, save registers, remember and restore states. While a program
 * does nothing else, its state is a compact rule in three words, and each row is one look-up among
 * the rules seen; the interpreter (unwind_program.h) needs half as many instructions again for the
 * same table. Everything else is handed to the interpreter, in the middle of a program if need be.
 */
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

/* The same by the interpreter, from its current position: see sonde__program_start(). */
bool sonde__program_put_rows(struct sonde__rows *table, struct sonde__compact *compact,
                             uint64_t base, uint64_t limit, uint64_t *ret_covered);

#endif
