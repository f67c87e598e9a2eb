// SPDX-License-Identifier: Apache-2.0
#include "cli_cache.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cli_file.h"
#include "cli_index.h"

/* Shorter ids are made by hand, and not of what is in the file. */
enum { BUILD_ID_BYTES_MIN = 8 };

bool sonde__cli_cache_path(const struct sonde__build_id *id, char *ret_path)
{
    const char *base = getenv("XDG_CACHE_HOME");
    const char *below = "";
    char text[SONDE__CLI_BUILD_ID_TEXT];
    if (base == NULL || base[0] != '/') { /* as its specification says of relative ones */
        base = getenv("HOME");
        below = "/.cache";
    }
    if (base == NULL || base[0] != '/' || id->size < BUILD_ID_BYTES_MIN) {
        return false;
    }
    sonde__cli_build_id_text(id, text);
    int size =
        snprintf(ret_path, SONDE__CLI_CACHE_PATH, "%s%s/sonde/index/%s.sndidx", base, below, text);
    return size > 0 && size < SONDE__CLI_CACHE_PATH;
}

/* The folders above a file, as far as they are not there. */
static void make_folders(const char *path)
{
    char folder[SONDE__CLI_CACHE_PATH];
    snprintf(folder, sizeof folder, "%s", path);
    for (char *slash = strchr(folder + 1, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        (void)mkdir(folder, 0700); /* if it fails, so will the file */
        *slash = '/';
    }
}

void sonde__cli_cache_keep(const char *path, const void *data, size_t size)
{
    make_folders(path);
    (void)sonde__cli_replace_file(path, data, size, 0600);
}
