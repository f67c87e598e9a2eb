// SPDX-License-Identifier: Apache-2.0
#include "demangle.h"

#include <string.h>

#include "swift.h"

static const char *demangle(const char *name, char *buffer, enum sonde__swift_style style)
{
    if (sonde__swift_is_encoded(name)) {
        return sonde__swift_decode(name, style, buffer, SONDE__DEMANGLE_OUTPUT_MAX) ? buffer : name;
    }
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

const char *sonde__demangle(const char *name, char *buffer)
{
    return demangle(name, buffer, SONDE__SWIFT_SHORT);
}

const char *sonde__demangle_full(const char *name, char *buffer)
{
    return demangle(name, buffer, SONDE__SWIFT_FULL);
}
