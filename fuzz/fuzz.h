// SPDX-License-Identifier: Apache-2.0
/* What a fuzz target defines, and what it says that must hold. */
#ifndef SONDE_FUZZ_H
#define SONDE_FUZZ_H

#include <stddef.h>
#include <stdint.h>

/* Use the input in every way that the target is about. Returns 0. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A property of the code under test; not to be turned off. */
#define FUZZ_MUST(condition) ((condition) ? (void)0 : __builtin_trap())

#endif
