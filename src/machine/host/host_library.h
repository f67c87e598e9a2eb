// SPDX-License-Identifier: Apache-2.0
/* Libraries that are loaded at their first use. Their names are in one table of each port
 * (host_library_names.c). */
#ifndef SONDE_HOST_LIBRARY_H
#define SONDE_HOST_LIBRARY_H

#include <stdbool.h>

enum sonde__host_library {
    SONDE__HOST_ZLIB,
    SONDE__HOST_ZSTD,
    SONDE__HOST_LZMA,
    SONDE__HOST_DEBUGINFOD,
    SONDE__HOST_UPLOAD, /* libsonde-upload: names[0] is a file's name, null if it is not built */
    SONDE__HOST_LIBRARY_COUNT
};

enum { SONDE__HOST_LIBRARY_NAMES = 2 };

struct sonde__host_library_name {
    const char *names[SONDE__HOST_LIBRARY_NAMES]; /* tried in this order, null after the last one */
    const char *text;                             /* what is missing, and who has it */
};
extern const struct sonde__host_library_name sonde__host_library_names[SONDE__HOST_LIBRARY_COUNT];
/* Each ends with a slash; "" leaves the search to the loader. Ends with null. */
extern const char *const sonde__host_library_folders[];

/* ret_function  a pointer to a function, as void *; null if false
 *
 * The library stays loaded: it is used again soon, and must not be unloaded during a call.
 *
 * Weak, in its own file: a program that links the archive contains it only if it refers to it
 * (the command line does). So a static program does not get glibc's loader and the linker's
 * warning needlessly. Context: any thread. */
extern __attribute__((weak)) bool sonde__host_library_find(enum sonde__host_library library,
                                                           const char *function,
                                                           void *ret_function);
/* Was the library looked for, and not found? Weak, as above. */
extern __attribute__((weak)) bool sonde__host_library_is_missing(enum sonde__host_library library);

#endif
