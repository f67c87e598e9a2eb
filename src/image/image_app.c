// SPDX-License-Identifier: Apache-2.0
#include "image_app.h"

#include <stddef.h>

#include "image_set.h"

static bool begins_with(const char *path, const char *folder)
{
    while (*folder != '\0' && *path == *folder) {
        path++;
        folder++;
    }
    return *folder == '\0';
}

bool sonde__image_is_app(const char *path, uint32_t flags)
{
    static const char *const folders[] = {"/lib/",       "/lib32/",     "/lib64/",
                                          "/libx32/",    "/usr/lib/",   "/usr/lib32/",
                                          "/usr/lib64/", "/usr/libx32/"};
    if ((flags & SONDE__IMAGE_VDSO) != 0) {
        return false;
    }
    if ((flags & SONDE__IMAGE_MAIN) != 0) {
        return true;
    }
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++) {
        if (begins_with(path, folders[i])) {
            return false;
        }
    }
    return *path == '/';
}
