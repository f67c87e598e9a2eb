// SPDX-License-Identifier: Apache-2.0
#include "host_library.h"

#include <dlfcn.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

static _Atomic bool missing[SONDE__HOST_LIBRARY_COUNT];

static void *open_library(const struct sonde__host_library_name *library)
{
    char path[256];
    void *handle = NULL;
    for (unsigned i = 0; handle == NULL && sonde__host_library_folders[i] != NULL; i++) {
        for (unsigned n = 0; handle == NULL && n < SONDE__HOST_LIBRARY_NAMES; n++) {
            if (library->names[n] != NULL) {
                snprintf(path, sizeof path, "%s%s", sonde__host_library_folders[i],
                         library->names[n]);
                handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
            }
        }
    }
    return handle;
}

bool sonde__host_library_find(enum sonde__host_library library, const char *name,
                              void *ret_function)
{
    void *handle = open_library(&sonde__host_library_names[library]);
    void *function = handle != NULL ? dlsym(handle, name) : NULL;
    memcpy(ret_function, &function, sizeof function);
    if (function == NULL) {
        atomic_store(&missing[library], true);
    }
    return function != NULL;
}

bool sonde__host_library_is_missing(enum sonde__host_library library)
{
    return atomic_load(&missing[library]);
}
