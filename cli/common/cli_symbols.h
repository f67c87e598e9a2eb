// SPDX-License-Identifier: Apache-2.0
/* Sources of names, files and lines, for all commands that look them up. */
#ifndef SONDE_CLI_SYMBOLS_H
#define SONDE_CLI_SYMBOLS_H

#include "cli.h"
#include "symfile_fetch.h"
#include "symfile_index_file.h"

/* Options of these commands, for the middle of their tables. r: the request, m: its member of the
 * struct below. */
// clang-format off
#define SONDE__CLI_SYMBOLS_OPTIONS(letter, r, m)                                                   \
    {"symbols", letter, "DIR",                                                                     \
     "a folder with index files, debug files and dSYM bundles; may be repeated",                   \
     sonde__cli_take_folders, offsetof(r, m.folders)},                                             \
    {"debug-root", 0, "DIR",                                                                       \
     "where separate debug files are searched (default /usr/lib/debug)",                            \
     sonde__cli_take_text, offsetof(r, m.debug_root)},                                             \
    {"no-cache", 0, NULL,                                                                          \
     "do not read or write the cache of indexes",                              \
     sonde__cli_take_flag, offsetof(r, m.no_cache)},                                               \
    {"no-network", 0, NULL,                                                                        \
     "do not ask debuginfod servers (without DEBUGINFOD_URLS none is asked anyway)",                \
     sonde__cli_take_flag, offsetof(r, m.no_network)}
// clang-format on

/* Must not be copied after _start(): it has pointers into itself. */
struct sonde__cli_symbols {
    const struct sonde__cli_command *command;
    struct sonde__cli_list folders;
    struct sonde__cli_list files; /* programs, debug files and index files, by build-id */
    const char *debug_root;       /* null: the default */
    bool no_cache, no_network;
    bool always; /* look names up in a report although no place to search is given */
    /* set up by _start() */
    struct sonde__symfile_options options;
    struct sonde__symfile_making making;
    struct sonde__symfile_fetch fetch;
    struct sonde__cli_progress line;
    bool reading, fetching, gave_up;
    uint64_t budget_ns, spent_ns, begin_ns;
};

/* Set `options` and `making`, so that inlined calls, files and lines are found, with progress on a
 * terminal. budget_ns: time for making indexes from debug information; the rest is left out and
 * reported. 0: no limit. */
void sonde__cli_symbols_start(struct sonde__cli_symbols *symbols,
                              const struct sonde__cli_command *command, uint64_t budget_ns);

#endif
