// SPDX-License-Identifier: Apache-2.0
/* Options of sonde run and sonde watch. r: the request, with members `watch` (struct
 * sonde__watch_options) and `color`. */
#ifndef SONDE_CLI_WATCH_OPTIONS_H
#define SONDE_CLI_WATCH_OPTIONS_H

#include "cli.h"
#include "cli_symbols.h"
#include "watch_run.h"

/* The probe's clock has a resolution of up to 10 ms (a jiffy), too coarse for shorter stalls. */
#define SONDE__CLI_STALL_MIN_NS 50000000u
#define SONDE__CLI_STALL_MAX_NS 60000000000u

// clang-format off
#define SONDE__CLI_WATCH_STALL_OPTION(r)                                                           \
    {"stall", 's', "DUR",                                                                          \
     "report an event loop that does not return to its wait for this long (default 250ms; 50ms to " \
     "60s)",                                                                                       \
     sonde__cli_take_duration, offsetof(r, watch.threshold_ns), SONDE__CLI_STALL_MIN_NS,           \
     SONDE__CLI_STALL_MAX_NS}

#define SONDE__CLI_WATCH_REPORT_OPTIONS(r)                                                         \
    {"report", 'o', "FILE", "also write a report that sonde show reads", sonde__cli_take_text,     \
     offsetof(r, watch.report_name)},                                                              \
    {"spool", 0, "DIR",                                                                            \
     "keep reports in the folder DIR, even if everything is killed (sonde spool); auto: your own", \
     sonde__cli_take_text, offsetof(r, watch.spool)}

#define SONDE__CLI_WATCH_OUTPUT_OPTIONS(r)                                                         \
    {"fps", 0, "N", "count the frames that long turns drop at N a second (1 to 120)",              \
     sonde__cli_take_number, offsetof(r, watch.fps), 1, 120},                                      \
    {"equal", 0, "N",                                                                              \
     "report N stalls of one cause, then only longer ones, and count the others (default 10; 0: "  \
     "report all)",                                                                                \
     sonde__cli_take_number, offsetof(r, watch.equal_max), 0, UINT32_MAX},                         \
    {"color", 0, "WHEN", "auto (the default), always or never", sonde__cli_take_color,             \
     offsetof(r, color)},                                                                          \
    {"quiet", 'q', NULL, "do not print the summary at the end", sonde__cli_take_flag,              \
     offsetof(r, watch.quiet)},                                                                    \
    {"verbose", 'v', NULL, "report what is watched, and how much was seen", sonde__cli_take_flag,  \
     offsetof(r, watch.verbose)}
// clang-format on

/* Time for reading debug information, during which stalls are not sampled. Cached indexes cost
 * nothing. */
#define SONDE__CLI_WATCH_BUDGET_NS 1000000000u
#define SONDE__CLI_WATCH_DEBUG_MAX ((uint64_t)64 << 20)

/* Give the watch its names. `symbols` must outlive it. */
static inline void sonde__cli_watch_symbols(struct sonde__watch_options *options,
                                            const struct sonde__cli_command *command,
                                            struct sonde__cli_symbols *symbols)
{
    sonde__cli_symbols_start(symbols, command, SONDE__CLI_WATCH_BUDGET_NS);
    symbols->making.bytes_max = SONDE__CLI_WATCH_DEBUG_MAX;
    symbols->fetch.network = false;
    options->symbols = &symbols->options;
}

#endif
