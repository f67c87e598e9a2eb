// SPDX-License-Identifier: Apache-2.0
/* The entry of a fuzz target, and its assertion. */
#ifndef SONDE_FUZZ_H
#define SONDE_FUZZ_H

#include <stddef.h>
#include <stdint.h>

/* Use the input in every way that the target covers. Returns 0. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A property of the code under test. It is always checked. */
#define FUZZ_MUST(condition) ((condition) ? (void)0 : __builtin_trap())

#endif
