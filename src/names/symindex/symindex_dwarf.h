// SPDX-License-Identifier: Apache-2.0
/* Address -> functions, files and lines, with inlined calls, from the DWARF of an image without an
 * index file.
 *
 * Opening only reads the units' own DIEs. The first look-up in a unit converts it, as for an index
 * file, and keeps the result. A bad unit is left out. Context: any thread, one at a time. */
#ifndef SONDE_SYMINDEX_DWARF_H
#define SONDE_SYMINDEX_DWARF_H

#include <sonde/status.h>

#include "symbol_answer.h"
#include "symindex_convert.h"

struct sonde__symindex_dwarf;

/* source      its sections and split units, which must outlive the reader
 * start, end  vaddrs of the image's code; only the first 4 GiB are looked up
 *
 * Returns OK | ABSENT (no units) | MEMORY. Ownership: release with _close(). */
SONDE_NODISCARD enum sonde_status
sonde__symindex_dwarf_open(const struct sonde__symindex_source *source, uint64_t start,
                           uint64_t end, struct sonde__symindex_dwarf **ret_dwarf);
void sonde__symindex_dwarf_close(struct sonde__symindex_dwarf *dwarf);

/* The calls at a vaddr, innermost first, at most `max`: each but the last is inlined into the next
 * one. Returns how many there are in all; 0: nothing is known. A line without a function is one
 * call without a name. Strings live as long as the reader. */
size_t sonde__symindex_dwarf_find(struct sonde__symindex_dwarf *dwarf, uint64_t vaddr,
                                  struct sonde__call *ret_calls, size_t max);

#endif
