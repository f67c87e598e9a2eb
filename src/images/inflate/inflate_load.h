// SPDX-License-Identifier: Apache-2.0
/* Finds a function of a shared library. */
#ifndef SONDE_INFLATE_LOAD_H
#define SONDE_INFLATE_LOAD_H

#include <stdbool.h>

/* ret_function  a pointer to a function, as void *; null if false
 *
 * The library stays loaded: it is used again soon, and must not be unloaded during a call.
 *
 * Weak, in its own file: a program that links the archive contains it only if it refers to it
 * (the command line does). So a static program does not get glibc's loader and the linker's
 * warning needlessly. */
extern __attribute__((weak)) bool sonde__inflate_load(const char *library, const char *name,
                                                      void *ret_function);

#endif
