// SPDX-License-Identifier: Apache-2.0
/* The scan of the stack from a frame without call frame information (x86-64), and what
 * unwind_known.c needs of it to cache its proofs. For unwind_scan.c and unwind_known.c only. */
#ifndef SONDE_UNWIND_SCAN_H
#define SONDE_UNWIND_SCAN_H

#include "unwind_sweep.h"

/* Step to the caller. Sets walker->scan_rule if a rule led there. OTHER: no proof, or no work
 * left. */
enum sonde__step sonde__scan_stack(struct sonde__walker *walker);

/* The slot of the return address, by what the code has done to the stack. False: not known. */
bool sonde__scan_slot(const struct sonde__frame *frame, const struct sonde__sweep *sweep,
                      uint64_t *ret_slot);

/* Step to the caller with the return address `pc`, which lies at `slot`. */
void sonde__scan_step_out(struct sonde__walker *walker, const struct sonde__sweep *sweep,
                          uint64_t slot, uint64_t pc);

/* The function that a call to `target` runs: the one in a linkage stub's slot, unless the pc is
 * in the stub itself; else `target`. */
uint64_t sonde__scan_entry(const struct sonde__walker *walker, uint64_t target);

#endif
