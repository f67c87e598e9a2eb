// SPDX-License-Identifier: Apache-2.0
/* Where names, files and lines come from: what the verbs that look for them have in common. */
#ifndef SONDE_CLI_SYMBOLS_H
#define SONDE_CLI_SYMBOLS_H

#include "cli.h"
#include "symfile_fetch.h"
#include "symfile_index_file.h"

enum { SONDE__CLI_FOLDERS_MAX = 16 };

/* Options of these verbs, in the middle of their tables. */
enum {
    SONDE__CLI_SYMBOLS_FOLDER = 121, /* above those of views */
    SONDE__CLI_SYMBOLS_DEBUG_ROOT,
    SONDE__CLI_SYMBOLS_NO_CACHE,
    SONDE__CLI_SYMBOLS_NO_NETWORK,
};
// clang-format off
#define SONDE__CLI_SYMBOLS_OPTIONS(letter)                                                         \
    {SONDE__CLI_SYMBOLS_FOLDER, "symbols", letter, "DIR",                                          \
     "a folder with index files, debug files and dSYM bundles; may be given several times"},       \
    {SONDE__CLI_SYMBOLS_DEBUG_ROOT, "debug-root", 0, "DIR",                                        \
     "where separate debug files are looked for (default /usr/lib/debug)"},                        \
    {SONDE__CLI_SYMBOLS_NO_CACHE, "no-cache", 0, NULL,                                             \
     "take no index that was made before of debug information, and keep none"},                    \
    {SONDE__CLI_SYMBOLS_NO_NETWORK, "no-network", 0, NULL,                                         \
     "ask no debuginfod server; without DEBUGINFOD_URLS none is asked in any case"}
// clang-format on

/* Not to be copied once it was started: parts of it point to others. */
struct sonde__cli_symbols {
    const struct sonde__cli_command *command;
    const char *folders[SONDE__CLI_FOLDERS_MAX];
    unsigned folder_count;
    const char *debug_root; /* null: the default */
    bool no_cache, no_network;
    /* set up by _start() */
    struct sonde__symfile_options options;
    struct sonde__symfile_making making;
    struct sonde__symfile_fetch fetch;
    struct sonde__cli_progress line;
    bool reading, fetching, gave_up;
    uint64_t budget_ns, spent_ns, begin_ns;
};

/* Take an option that sonde__cli_next() answered, if it is one of these. False: it is none, or was
 * wrong: then that was said, and args->exit_code is not 0. */
bool sonde__cli_symbols_take(struct sonde__cli_args *args, int id,
                             struct sonde__cli_symbols *symbols);

/* Fill options and making: inlined calls, files and lines are found, with progress on a terminal.
 * budget_ns: how long debug information is read for indexes on the way; more is left out and said.
 * 0: as long as it takes. */
void sonde__cli_symbols_start(struct sonde__cli_symbols *symbols,
                              const struct sonde__cli_command *command, uint64_t budget_ns);

#endif
