// SPDX-License-Identifier: Apache-2.0
/* The scan of the stack from a frame without call frame information (x86-64), and what whoever
 * keeps its proofs needs of it. Of unwind_scan.c and unwind_known.c only. */
#ifndef SONDE_UNWIND_SCAN_H
#define SONDE_UNWIND_SCAN_H

#include "unwind_sweep.h"

/* Stand at the caller, with walker->scan_rule set where a rule led there. OTHER: no proof, or no
 * work is left. */
enum sonde__step sonde__scan_stack(struct sonde__walker *walker);

/* Where the code says that the return address lies. */
bool sonde__scan_slot(const struct sonde__frame *frame, const struct sonde__sweep *sweep,
                      uint64_t *ret_slot);

/* Stand at the caller, whose return address `pc` lies at `slot`. */
void sonde__scan_step_out(struct sonde__walker *walker, const struct sonde__sweep *sweep,
                          uint64_t slot, uint64_t pc);

/* Where to look for the pc in what a call to `target` runs: in the linkage stub itself, where the
 * pc is in it, else behind it. */
uint64_t sonde__scan_entry(const struct sonde__walker *walker, uint64_t target);

#endif
