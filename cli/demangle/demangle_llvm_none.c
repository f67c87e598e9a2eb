// SPDX-License-Identifier: Apache-2.0
/* Built without LLVM's demangler. */
#include "demangler.h"

const bool sonde__cli_has_llvm = false;

bool sonde__cli_demangle_llvm(const char *name, char *text, size_t size)
{
    (void)name;
    (void)text;
    (void)size;
    return false;
}
