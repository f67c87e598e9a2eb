// SPDX-License-Identifier: Apache-2.0
/* Signs code addresses as arm64e does (pointer authentication). Source: clang's Pointer
 * Authentication document, "Discriminators". Context: handler. */
#ifndef SONDE_ARCH_SIGN_H
#define SONDE_ARCH_SIGN_H

#include <stdint.h>

/* What distinguishes a pointer at `place` from others: 16 bits, and the place. */
static inline uint64_t sonde__arch_sign_blend(uint64_t place, uint16_t diversity)
{
    return (place & 0xffffffffffff) | (uint64_t)diversity << 48;
}

/* key: 0 is IA, 1 is IB. Returns `address`, which has no signature, with one of this processor for
 * this process; as it is where the processor or the process has none. */
uint64_t sonde__arch_sign(uint64_t address, uint64_t modifier, unsigned key);

#endif
