// SPDX-License-Identifier: Apache-2.0
/* An id for code without a name: equal for the same code at another address or in another run.
 *
 * It hashes some instructions before a place and the straight-line code from there on, without
 * address-dependent parts: on x86-64 each length and opcode, on aarch64 each word without
 * displacements and immediates. It does not cover all bytes, so equal ids do not prove equal code.
 * Context: handler. */
#ifndef SONDE_ARCH_SHAPE_H
#define SONDE_ARCH_SHAPE_H

#include <stddef.h>
#include <stdint.h>

/* Most bytes read before the place, and from there on. */
#define SONDE__SHAPE_BEFORE 48u
#define SONDE__SHAPE_BYTES  96u

/* Hash the code at code + before; `size` is the size of all of `code`. Returns 0 if there is no
 * instruction. */
uint64_t sonde__arch_shape(unsigned arch, const uint8_t *code, size_t before, size_t size);

/* Hash bytes that identify code themselves: its name, a page of it. Never 0. */
uint64_t sonde__arch_shape_of_bytes(const void *bytes, size_t size);

#endif
