// SPDX-License-Identifier: Apache-2.0
#include "demangle.h"

#include <string.h>

#include "swift.h"

/* Behind the name of a stub's target, in index files. */
#define STUB      "@plt"
#define STUB_SIZE (sizeof STUB - 1)

static const char *decode(const char *name, char *buffer, enum sonde__swift_style style)
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

/* Decode the name of a stub's target: "_Z3fooi@plt". */
static const char *decode_stub(const char *name, size_t size, char *buffer,
                               enum sonde__swift_style style)
{
    char target[SONDE__DEMANGLE_INPUT_MAX + 1];
    memcpy(target, name, size);
    target[size] = '\0';
    if (decode(target, buffer, style) == target ||
        (size = strlen(buffer)) >= SONDE__DEMANGLE_OUTPUT_MAX - STUB_SIZE) {
        return name;
    }
    memcpy(buffer + size, STUB, STUB_SIZE + 1);
    return buffer;
}

static const char *demangle(const char *name, char *buffer, enum sonde__swift_style style)
{
    size_t size = name[0] == '_' || name[0] == '$'
                      ? strnlen(name, SONDE__DEMANGLE_INPUT_MAX + STUB_SIZE + 1)
                      : 0;
    return size > STUB_SIZE && size <= SONDE__DEMANGLE_INPUT_MAX + STUB_SIZE &&
                   memcmp(name + size - STUB_SIZE, STUB, STUB_SIZE) == 0
               ? decode_stub(name, size - STUB_SIZE, buffer, style)
               : decode(name, buffer, style);
}

const char *sonde__demangle(const char *name, char *buffer)
{
    return demangle(name, buffer, SONDE__SWIFT_SHORT);
}

const char *sonde__demangle_full(const char *name, char *buffer)
{
    return demangle(name, buffer, SONDE__SWIFT_FULL);
}
