// SPDX-License-Identifier: Apache-2.0
/* Debug files from the debuginfod servers in DEBUGINFOD_URLS, and no other.
 *
 * Loads elfutils' libdebuginfod, the client of gdb: so the cache is shared with gdb
 * (~/.cache/debuginfod_client/BUILD-ID/debuginfo), and a miss is remembered there for ten minutes
 * for all programs. Fetched files are checked by build-id before use. Context: one thread of a
 * program. */
#ifndef SONDE_SYMFILE_FETCH_H
#define SONDE_SYMFILE_FETCH_H

#include <stdbool.h>
#include <stdint.h>

#include "image_set.h"

/* Zeroed initially; must not move. */
struct sonde__symfile_fetch {
    bool network;       /* ask servers; false: only use files fetched before */
    uint64_t bytes_max; /* of a file; 0: any */
    uint64_t idle_ns;   /* timeout without data from a server; after one, none is asked any more */
    /* called during a transfer (done and total bytes, 0 if unknown) and at its end; or null */
    void (*step)(void *ctx, uint64_t done, uint64_t total);
    void (*end)(void *ctx);
    /* called with the reason if a transfer failed that a server could serve; or null */
    void (*say)(void *ctx, const char *what);
    void *ctx;
    /* its own */
    bool loaded, gave_up, too_large, silent, said_failure;
    int failure; /* errno of the last failed transfer */
    uint64_t moved_ns, done;
};

/* The path of a cached file of that build-id, fetched by us or another client: two are possible,
 * `i` 0 and 1. False: there is no build-id, or no such folder. ret_path has room for
 * SONDE__SYMFILE_KEPT_PATH bytes. */
bool symfile_fetched_path(const struct sonde__build_id *id, unsigned i, char *ret_path);

/* Ask the servers. False: they do not have it, or must not be asked. */
bool symfile_fetch(struct sonde__symfile_fetch *fetch, const struct sonde__build_id *id,
                   char *ret_path);

/* A fetched file is not the requested one: remove it, and report it. */
void symfile_fetch_refuse(struct sonde__symfile_fetch *fetch, const char *path);

#endif
