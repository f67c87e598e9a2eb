// SPDX-License-Identifier: Apache-2.0
/* Functions of libraries that sonde does not link. Context: any thread; not handler. */
#ifndef SONDE_HOST_LOOKUP_H
#define SONDE_HOST_LOOKUP_H

#include <dlfcn.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

struct host_wanted {
    const char *name;
    void *place; /* of a pointer to the function */
};

/* False: one of them is missing. */
static inline bool host_lookup(const struct host_wanted *functions, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        void *function = dlsym(RTLD_DEFAULT, functions[i].name);
        if (function == NULL) {
            return false;
        }
        memcpy(functions[i].place, &function, sizeof function);
    }
    return true;
}

#endif
