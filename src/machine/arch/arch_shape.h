// SPDX-License-Identifier: Apache-2.0
/* An id for code without a name: the same for the same code at another address, in another run.
 *
 * It is a hash of some instructions before a place and of the straight-line code from there on,
 * without what depends on addresses: on x86-64 of each length and opcode, on aarch64 of the word
 * without displacements and immediates. It does not cover all bytes, so equal ids do not prove that
 * code is the same. Context: handler. */
#ifndef SONDE_ARCH_SHAPE_H
#define SONDE_ARCH_SHAPE_H

#include <stddef.h>
#include <stdint.h>

/* Bytes read at most: before the place, and from there on. */
#define SONDE__SHAPE_BEFORE 48u
#define SONDE__SHAPE_BYTES  96u

/* The place is `before` bytes behind `code`, of which `size` bytes are there. 0: there is no
 * instruction at it. */
uint64_t sonde__arch_shape(unsigned arch, const uint8_t *code, size_t before, size_t size);

/* A hash of bytes that stand for code themselves: its name, a page of it. Never 0. */
uint64_t sonde__arch_shape_of_bytes(const void *bytes, size_t size);

#endif
