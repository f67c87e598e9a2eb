// SPDX-License-Identifier: Apache-2.0
/* dlopen() may look for a name without a folder in the current one (dlopen(3)), which may be
 * anybody's: so the folders are named. Apple has zlib only, which is in no file but in the cache of
 * libraries; others come from Homebrew (on arm64, on x86-64) or MacPorts. */
#include "host_library.h"

#include <stddef.h>

const struct sonde__host_library_name sonde__host_library_names[SONDE__HOST_LIBRARY_COUNT] = {
    [SONDE__HOST_ZLIB] = {{"libz.1.dylib"}, "libz.1.dylib (of the system)"},
    [SONDE__HOST_ZSTD] = {{"libzstd.1.dylib"}, "libzstd.1.dylib (Homebrew: zstd)"},
    [SONDE__HOST_LZMA] = {{"liblzma.5.dylib"}, "liblzma.5.dylib (Homebrew: xz)"},
    [SONDE__HOST_DEBUGINFOD] = {{"libdebuginfod.1.dylib"}, "libdebuginfod.1.dylib (elfutils)"},
    [SONDE__HOST_UPLOAD] = {{NULL}, "libsonde-upload, which is not built for this system"},
};

const char *const sonde__host_library_folders[] = {"/usr/lib/", "/opt/homebrew/lib/",
                                                   "/usr/local/lib/", "/opt/local/lib/", NULL};
