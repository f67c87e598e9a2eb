// SPDX-License-Identifier: Apache-2.0
/* Fetches debug files from the debuginfod servers in DEBUGINFOD_URLS only.
 *
 * Loads elfutils' libdebuginfod, the client of gdb: so the cache
 * (~/.cache/debuginfod_client/BUILD-ID/debuginfo) is shared with gdb, and a miss is remembered for
 * ten minutes for all programs. Fetched files are checked by build-id before use. Context: one
 * thread of a program. */
#ifndef SONDE_SYMFILE_FETCH_H
#define SONDE_SYMFILE_FETCH_H

#include <stdbool.h>
#include <stdint.h>

#include "image_set.h"

/* Zeroed initially; must not move. */
struct sonde__symfile_fetch {
    bool network;       /* ask servers; false: only use files fetched before */
    uint64_t bytes_max; /* of a file; 0: any */
    uint64_t idle_ns;   /* timeout without data; after one, no server is asked any more */
    /* called during a transfer (done and total bytes, 0 if unknown) and at its end; or null */
    void (*step)(void *ctx, uint64_t done, uint64_t total);
    void (*end)(void *ctx);
    /* called with the reason if a transfer failed that a server could serve; or null */
    void (*print)(void *ctx, const char *what);
    void *ctx;
    /* private */
    bool loaded, gave_up, too_large, silent, printed_failure;
    int failure; /* errno of the last failed transfer */
    uint64_t moved_ns, done;
};

/* The path of a cached file with that build-id, fetched by any client: two are possible, `i` 0 and
 * 1. False: no build-id, or no such folder. ret_path has room for SONDE__SYMFILE_KEPT_PATH
 * bytes. */
bool symfile_fetched_path(const struct sonde__build_id *id, unsigned i, char *ret_path);

/* Ask the servers. False: not found, or not allowed. */
bool symfile_fetch(struct sonde__symfile_fetch *fetch, const struct sonde__build_id *id,
                   char *ret_path);

/* Remove and report a fetched file that is not the requested one. */
void symfile_fetch_refuse(struct sonde__symfile_fetch *fetch, const char *path);

#endif
