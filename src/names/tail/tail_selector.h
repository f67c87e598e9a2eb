// SPDX-License-Identifier: Apache-2.0
/* The selector of a message, from the code before the call or jump that sends it. */
#ifndef SONDE_TAIL_SELECTOR_H
#define SONDE_TAIL_SELECTOR_H

#include <stdint.h>

/* A function's code. Bit n of a map belongs to byte n. */
struct tail_flow {
    unsigned arch;
    const uint8_t *code;
    uint64_t vaddr;         /* of the first byte */
    const uint8_t *starts;  /* instructions that were reached */
    const uint8_t *targets; /* places that branches lead to */
};

/* The vaddr of the word with the selector (__objc_selrefs) that the code loads before the
 * instruction at offset `at`: in the same run of instructions, into the register of the second
 * argument. 0: not known. */
uint64_t tail_selector(const struct tail_flow *flow, uint32_t at);

#endif
