// SPDX-License-Identifier: Apache-2.0
/* What the code shows and what debug information says of the same image, made one: only what both
 * allow.
 *
 * An open function allows every jump; a closed one those that are known of it. A jump is kept if
 * both allow it. Where one side knows a jump that the other rules out, one of them is wrong, and
 * which is not known: the function is open then. What is open for the code stays so, even if the
 * debug information claims to describe all jumps: gcc 12 leaves some out (1 of 180 in libjvm). A
 * call that both know must enter the same function for both, or it is left out. Jumps to other
 * images count whoever knows them. Functions are those of the code. Context: any thread. */
#ifndef SONDE_TAIL_AGREE_H
#define SONDE_TAIL_AGREE_H

#include "tail_make.h"

/* The arrays that an input has afterwards. */
struct tail_agreement {
    struct sonde__tail_jump *jumps;
    struct sonde__tail_call *calls;
};

/* Change `input`, whose functions are `functions`. described: its jumps and calls may have any
 * order, and are sorted. Returns OK | MEMORY. */
SONDE_NODISCARD enum sonde_status tail_agree(struct sonde__tail_input *input,
                                             struct sonde__tail_function *functions,
                                             const struct sonde__tail_input *described,
                                             struct tail_agreement *ret_agreement,
                                             struct sonde__tail_origin *ret_origin);
void tail_agreement_done(struct tail_agreement *agreement);

#endif
