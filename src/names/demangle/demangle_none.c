// SPDX-License-Identifier: Apache-2.0
/* Built without libiberty: names of C++ and Rust are shown as the file has them. */
#include "demangle.h"

bool sonde__demangle_language(const char *name, char *buffer)
{
    (void)name;
    (void)buffer;
    return false;
}
