// SPDX-License-Identifier: Apache-2.0
#include "plugins.h"

#include <dlfcn.h>
#include <stddef.h>
#include <stdio.h>

#include "test.h"

const char *library_path(const char *name)
{
    static char path[512];
    snprintf(path, sizeof path, "%s/tests/integration/hooks/libhooks_%s.so", test_build_dir(),
             name);
    return path;
}

const char *plugin_path(void)
{
    return library_path("plugin");
}

/* Load a first library before the harness counts: the loader keeps memory after it. */
static __attribute__((constructor)) void warm_up(void)
{
    for (int i = 0; i < 4; i++) {
        void *plugin = dlopen(plugin_path(), RTLD_LAZY | (i % 2 == 0 ? RTLD_LOCAL : RTLD_GLOBAL));
        if (plugin != NULL) {
            (void)dlclose(plugin);
        }
    }
}
