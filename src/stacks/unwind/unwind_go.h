// SPDX-License-Identifier: Apache-2.0
/* Walks through the code of Go programs, by Go's function table (image_go.h). Context: handler. */
#ifndef SONDE_UNWIND_GO_H
#define SONDE_UNWIND_GO_H

#include "unwind_step.h"

/* Find the rule for a vaddr of the walker's image. NONE: the table has none; sonde__step_go()
 * may know the function. False: not Go code. */
bool sonde__go_rule(const struct sonde__walker *walker, uint64_t vaddr,
                    struct sonde__rule *ret_rule);

/* Step from a Go frame. This includes the runtime's functions that the table does not describe:
 * where stacks begin, and where a thread changes stacks. False: not Go code, or no rule; the
 * walker has not moved. */
bool sonde__step_go(struct sonde__walker *walker, enum sonde__step *ret_step);

#endif
