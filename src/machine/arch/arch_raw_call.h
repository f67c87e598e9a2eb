// SPDX-License-Identifier: Apache-2.0
/* Finds system call instructions in code, and their numbers if a constant is loaded before.
 *
 * Feed instructions in order of address. A number is known only if no instruction in between could
 * have written the register; values that arrive by a branch are not seen. Sources: psABI AMD64 1.0
 * §A.2.1; Linux syscall(2); Intel SDM volume 2, appendix A; Arm ARM (DDI 0487) C4.1. Context:
 * handler. */
#ifndef SONDE_ARCH_RAW_CALL_H
#define SONDE_ARCH_RAW_CALL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sonde__raw_call {
    bool is_known; /* the register of the number (eax; w8) holds this constant: */
    uint32_t number;
};

/* Feed the next instruction, from `size` bytes of code. The state is zeroed at first. ret_length:
 * its length; 0: invalid or truncated. ret_call: written if it is a system call. */
bool sonde__arch_raw_call(struct sonde__raw_call *state, unsigned arch, const uint8_t *code,
                          size_t size, uint8_t *ret_length, struct sonde__raw_call *ret_call);

#endif
