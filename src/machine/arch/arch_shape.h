// SPDX-License-Identifier: Apache-2.0
/* An id of code that nothing names: the same for the same code at another address, in another run.
 *
 * It is a hash of some instructions before a place and of those from there on, as far as they are
 * straight, without what depends on where code and data lie: of x86-64 each one's length and
 * opcode, of aarch64 the word without its distances and immediates. So it is not of all bytes, and
 * equal ids are no proof that code is the same. Context: handler. */
#ifndef SONDE_ARCH_SHAPE_H
#define SONDE_ARCH_SHAPE_H

#include <stddef.h>
#include <stdint.h>

/* Bytes that are looked at, at most: before the place, and from there on. */
#define SONDE__SHAPE_BEFORE 48u
#define SONDE__SHAPE_BYTES  96u

/* The place is `before` bytes behind `code`, of which `size` bytes are there. 0: there is no
 * instruction at it. */
uint64_t sonde__arch_shape(unsigned arch, const uint8_t *code, size_t before, size_t size);

/* A hash of bytes that stand for code themselves: its name, a page of it. Never 0. */
uint64_t sonde__arch_shape_of_bytes(const void *bytes, size_t size);

#endif
