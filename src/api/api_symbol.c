// SPDX-License-Identifier: Apache-2.0
#include <sonde/symbol.h>

#include "base_text.h"
#include "demangle.h"

enum sonde_status sonde_demangler_use(const struct sonde_demangler *demangler)
{
    if (demangler != NULL && demangler->decode == NULL) {
        return SONDE_USAGE;
    }
    sonde__demangle_use(demangler);
    return SONDE_OK;
}

enum sonde_status sonde_name_demangle(const char *name, char *text, size_t size_bytes)
{
    char buffer[SONDE__DEMANGLE_OUTPUT_MAX];
    struct sonde__text out;
    const char *shown;
    if (name == NULL || text == NULL || size_bytes == 0) {
        return SONDE_USAGE;
    }
    shown = sonde__demangle(name, buffer);
    sonde__base_text_init(&out, text, size_bytes);
    sonde__base_text_str(&out, shown);
    if (out.cut) {
        return SONDE_LIMIT;
    }
    return shown == name ? SONDE_ABSENT : SONDE_OK;
}
