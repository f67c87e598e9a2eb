// SPDX-License-Identifier: Apache-2.0
/* An aarch64 program stepped in qemu by its gdb stub, with the shadow of its stack. */
#ifndef TEST_ORACLE_EMULATED_H
#define TEST_ORACLE_EMULATED_H

#include "compare.h"

/* Step argv[0] from the loader's first instruction and compare at each, until the end or `limit`
 * instructions. */
void emulated_run(struct compare *compare, const char *const argv[], uint64_t limit);

#endif
