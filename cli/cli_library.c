// SPDX-License-Identifier: Apache-2.0
#include "cli_library.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "host_process.h"

/* Search next to the program, in ../lib (installed) and in `folder` (build tree). LD_PRELOAD does
 * not accept spaces or colons. */
const char *sonde__cli_find_library(const char *name, const char *folder)
{
    const char *const places[] = {"", "../lib/sonde/", "../lib/", folder};
    static char path[4096];
    char self[2048];
    if (!sonde__host_executable(getpid(), self, sizeof self)) {
        return NULL;
    }
    *(strrchr(self, '/') + 1) = '\0';
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
        snprintf(path, sizeof path, "%s%s%s", self, places[i], name);
        if (access(path, R_OK) == 0 && strpbrk(path, " :") == NULL) {
            return path;
        }
    }
    return NULL;
}

const char *sonde__cli_find_probe(void)
{
    return sonde__cli_find_library("libsonde-preload.so", "../preload/");
}
