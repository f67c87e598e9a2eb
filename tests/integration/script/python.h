// SPDX-License-Identifier: Apache-2.0
/* Interpreters of the tests: Debian's, those of pyenv, and 3.14 of Debian's next release, unpacked
 * (tools/dev/common.sh). */
#ifndef SONDE_TEST_PYTHON_H
#define SONDE_TEST_PYTHON_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "test.h"

#define PYTHON_OF_DEBIAN "/usr/bin/python3"

/* The path of an interpreter. version: a path, "3.14", or a version of pyenv. Without it the test
 * skips. */
static inline void find_python(const char *version, char ret_path[1024])
{
    const char *home = getenv("HOME"), *cache = getenv("SONDE_CACHE");
    home = home != NULL ? home : "";
    if (version[0] == '/') {
        snprintf(ret_path, 1024, "%s", version);
    } else if (strcmp(version, "3.14") == 0) {
        snprintf(ret_path, 1024, "%s%s/deb/python3.14/run", cache != NULL ? cache : home,
                 cache != NULL ? "" : "/.cache/sonde");
    } else {
        snprintf(ret_path, 1024, "%s/.pyenv/versions/%s/bin/python3", home, version);
    }
    if (access(ret_path, X_OK) != 0) {
        SKIP("%s is not here", ret_path);
    }
}

#endif
