// SPDX-License-Identifier: Apache-2.0
/* Debug files from debuginfod servers: those that the user named in DEBUGINFOD_URLS, and no other.
 *
 * elfutils' libdebuginfod is loaded for it, the client that gdb uses: so the cache is gdb's, too
 * (~/.cache/debuginfod_client/BUILD-ID/debuginfo), and what a server does not have is remembered
 * there for ten minutes, over programs. What it answers proves itself by its build-id before it is
 * used. Context: a program with one thread that asks. */
#ifndef SONDE_SYMFILE_FETCH_H
#define SONDE_SYMFILE_FETCH_H

#include <stdbool.h>
#include <stdint.h>

#include "image_set.h"

/* Zero at first; may not move. */
struct sonde__symfile_fetch {
    bool network;       /* ask servers; false: only what was fetched before */
    uint64_t bytes_max; /* of a file; 0: any */
    uint64_t idle_ns;   /* how long a server may send nothing; then none is asked any more */
    /* while a file comes: done and total bytes, 0 if not known; and at its end. Or null */
    void (*step)(void *ctx, uint64_t done, uint64_t total);
    void (*end)(void *ctx);
    /* why something was not fetched that a server has, or could have; or null */
    void (*say)(void *ctx, const char *what);
    void *ctx;
    /* its own */
    bool loaded, gave_up, too_large, silent, said_failure;
    int failure; /* errno of the last one that was not fetched */
    uint64_t moved_ns, done;
};

/* Where a file of that build-id was fetched to before, by us or another client: two places are
 * possible, `i` 0 and 1. False: it has no build-id, or there is no such folder. ret_path has room
 * for SONDE__SYMFILE_KEPT_PATH bytes. */
bool symfile_fetched_path(const struct sonde__build_id *id, unsigned i, char *ret_path);

/* Ask the servers. False: they do not have it, or may not be asked. */
bool symfile_fetch(struct sonde__symfile_fetch *fetch, const struct sonde__build_id *id,
                   char *ret_path);

/* What was fetched is not what was asked for: it is removed, and said. */
void symfile_fetch_refuse(struct sonde__symfile_fetch *fetch, const char *path);

#endif
