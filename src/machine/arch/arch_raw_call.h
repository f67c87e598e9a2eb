// SPDX-License-Identifier: Apache-2.0
/* System calls that code makes itself, and their numbers where a constant is loaded before.
 *
 * Instructions are given in the order in which they stand. A number is told only while nothing that
 * was given since could have written the register; a value that comes by a branch from elsewhere
 * is not seen. Sources: psABI AMD64 1.0 §A.2.1; Linux syscall(2); Intel SDM volume 2, appendix A;
 * Arm ARM (DDI 0487) C4.1. Context: handler. */
#ifndef SONDE_ARCH_RAW_CALL_H
#define SONDE_ARCH_RAW_CALL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sonde__raw_call {
    bool is_known; /* the register of the number (eax; w8) holds the constant: */
    uint32_t number;
};

/* The next instruction, of whose bytes `size` are there. ret_length: its length, 0 when it is none
 * or cut. ret_call: written when it is a system call. Zeroed state to begin with. */
bool sonde__arch_raw_call(struct sonde__raw_call *state, unsigned arch, const uint8_t *code,
                          size_t size, uint8_t *ret_length, struct sonde__raw_call *ret_call);

#endif
