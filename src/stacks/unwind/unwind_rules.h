// SPDX-License-Identifier: Apache-2.0
/* Compiles .eh_frame to a sorted table of rules, in the caller's memory.
 *
 * Building needs no heap. The memory asked for is an upper bound from sizes and counts, several
 * times what the table takes: map pages, and give back those beyond sonde__unwind_rules_bytes().
 * Context: any thread (building), handler (look-up). Look-up: unwind_table.h. */
#ifndef SONDE_UNWIND_RULES_H
#define SONDE_UNWIND_RULES_H

#include <sonde/status.h>

#include "image_set.h"

struct sonde__rules;

/* Bytes of memory that sonde__unwind_rules_build() needs for this image (0: no CFI, or not worth
 * a table; the image is then walked in place).
 * Returns OK | CORRUPT (no usable record at all). A malformed record is skipped. */
SONDE_NODISCARD enum sonde_status sonde__unwind_rules_size(const struct sonde__cfi *cfi,
                                                           unsigned arch, size_t *ret_size);

/* Compile into `memory` (8-byte aligned, `size` bytes, which must outlive the table).
 * Returns OK | LIMIT (size too small) | CORRUPT. */
SONDE_NODISCARD enum sonde_status sonde__unwind_rules_build(const struct sonde__cfi *cfi,
                                                            unsigned arch, void *memory,
                                                            size_t size,
                                                            const struct sonde__rules **ret_rules);

/* Bytes that a table uses. */
size_t sonde__unwind_rules_bytes(const struct sonde__rules *rules);

#endif
