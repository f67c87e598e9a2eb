// SPDX-License-Identifier: Apache-2.0
/* Tells what a blocked call waits for, from its number and arguments, without symbols: the file
 * or socket of a descriptor, the address of a futex, the child of a wait. Context: any thread. */
#ifndef SONDE_TARGET_CAUSE_H
#define SONDE_TARGET_CAUSE_H

#include "target.h"

/* "" if the thread is in no call, or the arguments are not understood. */
void sonde__target_cause(struct sonde__target *target, const struct sonde__capture *capture,
                         char *ret_text, size_t capacity);

#endif
