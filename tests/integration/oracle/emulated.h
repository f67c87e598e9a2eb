// SPDX-License-Identifier: Apache-2.0
/* A program of aarch64 stepped in qemu, by its gdb stub, with the shadow of its stack. */
#ifndef TEST_ORACLE_EMULATED_H
#define TEST_ORACLE_EMULATED_H

#include "compare.h"

/* Step argv[0] from the loader's first instruction and compare at every one, until it ends or
 * `limit` instructions are done. */
void emulated_run(struct compare *compare, const char *const argv[], uint64_t limit);

#endif
