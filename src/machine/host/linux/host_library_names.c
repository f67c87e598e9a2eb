// SPDX-License-Identifier: Apache-2.0
#include "host_library.h"

#include <stddef.h>

const struct sonde__host_library_name sonde__host_library_names[SONDE__HOST_LIBRARY_COUNT] = {
    [SONDE__HOST_ZLIB] = {{"libz.so.1"}, "libz.so.1 (Debian: zlib1g)"},
    [SONDE__HOST_ZSTD] = {{"libzstd.so.1"}, "libzstd.so.1 (Debian: libzstd1)"},
    [SONDE__HOST_LZMA] = {{"liblzma.so.5"}, "liblzma.so.5 (Debian: liblzma5)"},
    [SONDE__HOST_DEBUGINFOD] = {{"libdebuginfod.so.1"},
                                "libdebuginfod.so.1 (Debian: libdebuginfod1)"},
    [SONDE__HOST_UPLOAD] = {{"libsonde-upload.so.0"}, "libsonde-upload.so.0"},
};

const char *const sonde__host_library_folders[] = {"", NULL};
