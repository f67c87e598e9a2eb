// SPDX-License-Identifier: Apache-2.0
#include "plugins.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <unistd.h>

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

void read_maps(char *to)
{
    int fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
    size_t size = 0;
    ssize_t got;
    CHECK(fd >= 0);
    while ((got = read(fd, to + size, MAPS_BYTES - 1 - size)) > 0) {
        size += (size_t)got;
    }
    close(fd);
    to[size] = '\0';
    CHECK(got == 0 && size != 0);
}
