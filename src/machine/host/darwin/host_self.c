// SPDX-License-Identifier: Apache-2.0
#include "host_self.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>
#include <unistd.h>

#include "host_device.h"

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

void sonde__host_random_id(char ret_id[SONDE__HOST_ID_TEXT])
{
    unsigned char bytes[(SONDE__HOST_ID_TEXT - 1) / 2];
    ret_id[0] = '\0';
    if (getentropy(bytes, sizeof bytes) != 0) {
        return;
    }
    for (unsigned i = 0; i < sizeof bytes; i++) {
        snprintf(ret_id + (size_t)2 * i, 3, "%02x", bytes[i]);
    }
}
