// SPDX-License-Identifier: Apache-2.0
#include "inflate_load.h"

#include <dlfcn.h>
#include <stddef.h>
#include <string.h>

bool sonde__inflate_load(const char *library, const char *name, void *ret_function)
{
    void *handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);
    void *function = handle != NULL ? dlsym(handle, name) : NULL;
    memcpy(ret_function, &function, sizeof function);
    return function != NULL;
}
