// SPDX-License-Identifier: Apache-2.0
#include "cli_library.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "host_library.h"
#include "host_process.h"

/* The program's own folder, with a slash at its end. */
static bool find_self(char *ret_folder, size_t capacity)
{
    if (!sonde__host_executable(getpid(), ret_folder, capacity)) {
        return false;
    }
    *(strrchr(ret_folder, '/') + 1) = '\0';
    return true;
}

/* Search next to the program, in ../lib (installed) and in `folder` (build tree). LD_PRELOAD does
 * not accept spaces or colons. */
const char *sonde__cli_find_library(const char *name, const char *folder)
{
    const char *const places[] = {"", "../lib/sonde/", "../lib/", folder};
    static char path[4096];
    char self[2048];
    if (!find_self(self, sizeof self)) {
        return NULL;
    }
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

/* Installed beside the program's folder; in a build tree, beside the folder that it is built in. */
bool sonde__cli_find_pack(const char *name, char *ret_path, size_t capacity)
{
    static const char *const folders[] = {"../share/sonde/packs/", "../packs/"};
    char self[2048];
    for (size_t i = 0; find_self(self, sizeof self) && i < sizeof folders / sizeof *folders; i++) {
        int size = snprintf(ret_path, capacity, "%s%s%s.ini", self, folders[i], name);
        if (size < (int)capacity && access(ret_path, R_OK) == 0) {
            return true;
        }
    }
    return false;
}

void sonde__cli_print_missing(const struct sonde__cli_command *command)
{
    static const enum sonde__host_library inflating[] = {SONDE__HOST_ZLIB, SONDE__HOST_ZSTD,
                                                         SONDE__HOST_LZMA};
    for (size_t i = 0; i < sizeof inflating / sizeof inflating[0]; i++) {
        if (sonde__host_library_is_missing(inflating[i])) {
            sonde__cli_error(command,
                             "%s is not here: debug information that it compressed was left out",
                             sonde__host_library_names[inflating[i]].text);
        }
    }
}
