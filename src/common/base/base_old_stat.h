// SPDX-License-Identifier: Apache-2.0
/* Names of glibc's stat functions before 2.33, whose first argument is a version of the struct
 * (glibc 2.32, io/sys/stat.h). Context: any. */
#ifndef SONDE_BASE_OLD_STAT_H
#define SONDE_BASE_OLD_STAT_H

#include <stddef.h>
#include <string.h>

/* "__xstat" and "__xstat64": "stat". size: of `name`. Null: not one of them. */
static inline const char *sonde__base_old_stat(const char *name, size_t size)
{
    static const char *const old[][2] = {{"__xstat", "stat"},
                                         {"__lxstat", "lstat"},
                                         {"__fxstat", "fstat"},
                                         {"__fxstatat", "fstatat"}};
    size -= size > 2 && memcmp(name + size - 2, "64", 2) == 0 ? 2 : 0;
    for (size_t i = 0; i < sizeof old / sizeof *old; i++) {
        if (strlen(old[i][0]) == size && memcmp(name, old[i][0], size) == 0) {
            return old[i][1];
        }
    }
    return NULL;
}

#endif
