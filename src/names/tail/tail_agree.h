// SPDX-License-Identifier: Apache-2.0
/* Merges jumps and calls found in code with those in debug information, and keeps what both allow.
 *
 * An open function allows every jump, a closed one its known jumps. A jump is kept if both sides
 * allow it. If one side knows a jump that the other rules out, one of them is wrong, and the
 * function becomes open. A function that is open in the code stays open even if the debug
 * information claims to describe all jumps: gcc 12 omits some (1 of 180 in libjvm). A call known to
 * both must enter the same function, or it is dropped. Jumps to other images are kept from either
 * side. The set of functions is that of the code. Context: any thread. */
#ifndef SONDE_TAIL_AGREE_H
#define SONDE_TAIL_AGREE_H

#include "tail_make.h"

/* The arrays of the resulting input. */
struct tail_agreement {
    struct sonde__tail_jump *jumps;
    struct sonde__tail_call *calls;
};

/* Change `input`, which has `functions`. described: jumps and calls in any order; they get sorted.
 * Returns OK | MEMORY. */
SONDE_NODISCARD enum sonde_status tail_agree(struct sonde__tail_input *input,
                                             struct sonde__tail_function *functions,
                                             const struct sonde__tail_input *described,
                                             struct tail_agreement *ret_agreement,
                                             struct sonde__tail_origin *ret_origin);
void tail_agreement_done(struct tail_agreement *agreement);

#endif
