// SPDX-License-Identifier: Apache-2.0
/* C++ and Rust names, with the decoder that the library's user provides. */
#include "demangle.h"

#include <stdatomic.h>
#include <string.h>

static _Atomic(const struct sonde_demangler *) demangler;

void sonde__demangle_use(const struct sonde_demangler *given)
{
    atomic_store_explicit(&demangler, given, memory_order_release);
}

bool sonde__demangle_language(const char *name, char *buffer)
{
    const struct sonde_demangler *d = atomic_load_explicit(&demangler, memory_order_acquire);
    if (d == NULL || strlen(name) > SONDE__DEMANGLE_INPUT_MAX ||
        d->decode(d->ctx, name, buffer, SONDE__DEMANGLE_OUTPUT_MAX) == 0) {
        return false;
    }
    buffer[SONDE__DEMANGLE_OUTPUT_MAX - 1] = '\0';
    return buffer[0] != '\0';
}
