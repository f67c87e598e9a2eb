// SPDX-License-Identifier: Apache-2.0
/* Built without libiberty. */
#include "demangler.h"

const bool sonde__cli_has_iberty = false;

bool sonde__cli_demangle_iberty(const char *name, char *text, size_t size)
{
    (void)name;
    (void)text;
    (void)size;
    return false;
}

bool sonde__cli_demangle_rust(const char *name, char *text, size_t size)
{
    (void)name;
    (void)text;
    (void)size;
    return false;
}
