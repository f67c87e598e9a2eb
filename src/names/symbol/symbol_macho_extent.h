// SPDX-License-Identifier: Apache-2.0
/* Where a function ends by its code alone, where an image does not say it. */
#ifndef SONDE_SYMBOL_MACHO_EXTENT_H
#define SONDE_SYMBOL_MACHO_EXTENT_H

#include <stddef.h>
#include <stdint.h>

/* The bytes from the start of `code`, which is the entry of a function at `vaddr`, that surely
 * belong to it: up to a return, jump or trap behind which no conditional branch leads, or a call
 * that a function's entry follows. Blocks that only tables or backward jumps reach may be missing.
 * At most `size`. */
size_t symbol_macho_extent(unsigned arch, uint64_t vaddr, const uint8_t *code, size_t size);

/* AArch64: the bytes at the end of `code` that are jumps which a linker put behind a function,
 * because their targets are out of the reach of a branch: adrp x16, add x16, br x16. */
size_t symbol_macho_islands(const uint8_t *code, size_t size);

#endif
