// SPDX-License-Identifier: Apache-2.0
/* How far a function's prologue moves the stack pointer below the frame pointer. */
#ifndef SONDE_ARCH_PROLOGUE_H
#define SONDE_ARCH_PROLOGUE_H

#include <stdbool.h>
#include <stdint.h>

/* x86-64: `code` begins right after the instruction that sets rbp to rsp. Follows pushes of
 * registers and subtractions from rsp over whatever the compiler put between them, up to the first
 * branch or call, `size` bytes, or an instruction that is not known. *ret_bytes is rbp - rsp there.
 * False: rsp is moved in a way that the code alone does not tell (alignment, alloca).
 * Source: Intel SDM volume 2, §2.1 (formats) and appendix A.2 (opcode maps). Context: handler. */
bool sonde__arch_x86_64_frame_bytes(const uint8_t *code, unsigned size, uint64_t *ret_bytes);

#endif
