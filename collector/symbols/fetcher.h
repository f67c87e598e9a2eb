// SPDX-License-Identifier: Apache-2.0
/* The fetcher: a thread that asks debuginfod servers for the debug files of the ELF images whose
 * symbols reports wait for. What comes is converted as an upload is (symbols.h), and the completer
 * names the reports.
 *
 * A file is kept for all projects (0): what a build-id stands for is one file for all, so it is
 * fetched and kept once, and an index of the project's own goes before it. Several collectors with
 * one database ask each for itself, because each has its own symbols. */
#ifndef SONDE_COLLECTOR_FETCHER_H
#define SONDE_COLLECTOR_FETCHER_H

#include "servers.h"
#include "store.h"
#include "symbols.h"

struct fetcher;

struct fetcher_options {
    struct servers servers;
    uint32_t seconds, size_mb; /* of one question, and of a file */
    uint32_t retry_seconds;    /* after the first failure */
};

/* Questions, and what came of them. found: kept; refused: too large, or no file of that build-id
 * with symbols. */
struct fetcher_counts {
    uint64_t asked, found, absent, refused, failed;
};

/* Start it. Returns 0 or an errno; 0 and a null fetcher if there is no server. Ownership:
 * fetcher_stop(). */
int fetcher_start(struct store *store, struct symbols *symbols,
                  const struct fetcher_options *options, struct fetcher **ret_fetcher);
/* After symbols_end(). Null is allowed, in these two. */
void fetcher_stop(struct fetcher *fetcher);
struct fetcher_counts fetcher_counts(struct fetcher *fetcher);

#endif
