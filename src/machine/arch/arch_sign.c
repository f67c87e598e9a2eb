// SPDX-License-Identifier: Apache-2.0
/* By the instructions that are hints (pacia1716, pacib1716), which older processors ignore. */
#include "arch_sign.h"

uint64_t sonde__arch_sign(uint64_t address, uint64_t modifier, unsigned key)
{
#if defined(__aarch64__)
    register uint64_t x17 __asm__("x17") = address;
    register uint64_t x16 __asm__("x16") = modifier;
    if (key == 0) {
        __asm__("hint 8" : "+r"(x17) : "r"(x16));
    } else {
        __asm__("hint 10" : "+r"(x17) : "r"(x16));
    }
    return x17;
#else
    (void)modifier, (void)key;
    return address;
#endif
}
