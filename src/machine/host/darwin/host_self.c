// SPDX-License-Identifier: Apache-2.0
#include "host_self.h"

#include <stdlib.h>
#include <unistd.h>

/* <sysdir.h>, which sets of Apple's headers for other compilers lack. */
#define SYSDIR_DIRECTORY_CACHES 13u
#define SYSDIR_DOMAIN_USER      1u
uint32_t sysdir_start_search_path_enumeration(uint32_t directory, uint32_t domains);
uint32_t sysdir_get_next_search_path_enumeration(uint32_t state, char *ret_path);
enum { PATH_BYTES = 1024 };

const char *sonde__host_environment(const char *name)
{
    return issetugid() != 0 ? NULL : getenv(name);
}

bool sonde__host_is_secure(void)
{
    return issetugid() != 0;
}

/* The system writes "~" for the home folder, which in an app is the app's container. */
const char *sonde__host_state_folder(const char **below)
{
    static char path[PATH_BYTES];
    const char *home = sonde__host_environment("HOME");
    uint32_t state =
        sysdir_start_search_path_enumeration(SYSDIR_DIRECTORY_CACHES, SYSDIR_DOMAIN_USER);
    if (sysdir_get_next_search_path_enumeration(state, path) == 0) {
        return NULL;
    }
    if (path[0] == '/') {
        *below = path;
        return "";
    }
    *below = path + 1;
    return path[0] == '~' && home != NULL && home[0] == '/' ? home : NULL;
}
