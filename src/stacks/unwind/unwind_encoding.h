// SPDX-License-Identifier: Apache-2.0
/* Turns encodings of Mach-O's __unwind_info into rules.
 *
 * An encoding describes the body of a function, where its frame is complete, not its first and
 * last instructions. So its rule is right at calls, but may be wrong in frame 0. Source: the
 * public header mach-o/compact_unwind_encoding.h. Context: handler. */
#ifndef SONDE_UNWIND_ENCODING_H
#define SONDE_UNWIND_ENCODING_H

#include "unwind_compact.h"

#define SONDE__ENCODED_SAVED_MAX 18 /* aarch64: x19 to x28, and places of d8 to d15 */

struct sonde__encoded {
    struct sonde__rule rule;
    uint8_t count; /* saved registers, without fp and return address */
    struct {
        uint8_t reg;    /* DWARF number */
        int16_t offset; /* from the CFA, bytes */
    } saved[SONDE__ENCODED_SAVED_MAX];
};

/* Decode the encoding of `entry`. The rule is NONE if the encoding has no rule or is malformed,
 * and OTHER if it refers to call frame information. */
void sonde__encoding_decode(const struct sonde__encodings *encodings, unsigned arch,
                            const struct sonde__unwind_info_entry *entry,
                            struct sonde__encoded *ret_encoded);

/* Find the FDE that the encoding of `entry` refers to, if it covers `vaddr`. False: none. */
bool sonde__encoding_fde(const struct sonde__cfi *cfi, unsigned arch,
                         const struct sonde__unwind_info_entry *entry, uint64_t vaddr,
                         struct sonde__cfi_fde *ret_fde);

/* Find the rule for an address of an image that has __unwind_info. */
struct sonde__rule sonde__encoding_find(const struct sonde__image *image, unsigned arch,
                                        uint64_t vaddr);

#endif
