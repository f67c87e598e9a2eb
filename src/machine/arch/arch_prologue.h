// SPDX-License-Identifier: Apache-2.0
/* What a function's prologue pushes. */
#ifndef SONDE_ARCH_PROLOGUE_H
#define SONDE_ARCH_PROLOGUE_H

#include <stdbool.h>
#include <stdint.h>

/* x86-64: `code` begins right after the instruction that sets rbp to rsp. Follows pushes and
 * subtractions from rsp, and skips other instructions between them, up to the first branch or call,
 * an unknown instruction, or the end of `size` bytes. *ret_bytes is rbp - rsp there. False: the
 * code alone does not determine rsp (alignment, alloca). Source: Intel SDM volume 2, §2.1 (formats)
 * and appendix A.2 (opcode maps). Context: handler. */
bool sonde__arch_x86_64_frame_bytes(const uint8_t *code, unsigned size, uint64_t *ret_bytes);

/* x86-64: `code` has the first `size` bytes of a function. *ret_bytes: how much they push. False:
 * they have more than pushes, subtractions from rsp and what leaves rsp alone, or end within an
 * instruction. Source, context: as above. */
bool sonde__arch_x86_64_pushed_bytes(const uint8_t *code, unsigned size, uint64_t *ret_bytes);

#endif
