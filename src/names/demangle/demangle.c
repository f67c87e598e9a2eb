// SPDX-License-Identifier: Apache-2.0
#include "demangle.h"

#include <string.h>

const char *sonde__demangle(const char *name, char *buffer)
{
    /* most names are C's, and two comparisons reject them */
    bool encoded = (name[0] == '_' && (name[1] == 'Z' || name[1] == 'R')) ||
                   (name[0] == '_' && name[1] == '_') || name[0] == 'Z' || name[0] == 'R';
    if (!encoded || strnlen(name, SONDE__DEMANGLE_INPUT_MAX + 1) > SONDE__DEMANGLE_INPUT_MAX) {
        return name;
    }
    if (sonde__demangle_language(name, buffer) || sonde__demangle_block(name, buffer)) {
        return buffer;
    }
    return name;
}
