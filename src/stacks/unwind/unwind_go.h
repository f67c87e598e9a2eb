// SPDX-License-Identifier: Apache-2.0
/* Steps in the code of Go programs, by their table of functions (image_go.h). Context: handler. */
#ifndef SONDE_UNWIND_GO_H
#define SONDE_UNWIND_GO_H

#include "unwind_step.h"

/* The rule for a vaddr of the walker's image. NONE: a function that sonde__step_go() knows. False:
 * not Go's code. */
bool sonde__go_rule(const struct sonde__walker *walker, uint64_t vaddr,
                    struct sonde__rule *ret_rule);

/* Step from a function of the Go runtime that its table does not describe: where stacks begin, and
 * where a thread changes from one stack to another. False: it is none of them, and the walker has
 * not moved. */
bool sonde__step_go(struct sonde__walker *walker, enum sonde__step *ret_step);

#endif
