// SPDX-License-Identifier: Apache-2.0
/* The files in a zip archive (PKWARE's APPNOTE 6.3, without zip64), as `zip -r App.dSYM.zip
 * App.dSYM` and Xcode's archives are. Names are for messages only: nothing is written anywhere.
 * What comes out is bounded, whatever the archive says. Context: any thread. */
#ifndef SONDE_COLLECTOR_ZIP_H
#define SONDE_COLLECTOR_ZIP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { ZIP_HEAD = 64, ZIP_NAME = 256 };

struct zip_reader {
    uint64_t total_max; /* bytes that may come out, all files together */
    /* Is the file wanted, by its first bytes (at most ZIP_HEAD)? */
    bool (*wants)(void *ctx, const char *name, const void *head, size_t size);
    /* A file; false: no more. */
    bool (*take)(void *ctx, const char *name, const void *bytes, size_t size);
    /* A file that could not be read. */
    void (*leave)(void *ctx, const char *name, const char *why);
    void *ctx;
};

bool zip_begins(const void *bytes, size_t size);
/* Returns null, or what is wrong with the archive as a whole; files before that were given. */
const char *zip_each(const void *bytes, size_t size, const struct zip_reader *reader);

#endif
