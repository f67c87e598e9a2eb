// SPDX-License-Identifier: Apache-2.0
/* Programs and libraries whose own locks are condition variables, semaphores and futexes:
 * runtimes of languages. Such a wait says nothing about the program's loop: Python's main thread
 * waits for the interpreter this way. Context: handler. */
#ifndef SONDE_PROBE_RUNTIME_H
#define SONDE_PROBE_RUNTIME_H

#include <stdbool.h>
#include <stddef.h>

#include "base_text.h"

/* name: of the file, without its folder. */
static inline bool sonde__probe_is_runtime(const char *name)
{
    static const char *const runtimes[] = {
        "python", "libpython", "ruby", "libruby",    "java",    "libjvm",
        "node",   "libnode",   "mono", "libcoreclr", "libmono",
    };
    for (size_t i = 0; i < sizeof runtimes / sizeof runtimes[0]; i++) {
        if (sonde__base_starts_with(name, runtimes[i])) {
            return true;
        }
    }
    return false;
}

#endif
