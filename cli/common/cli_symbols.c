// SPDX-License-Identifier: Apache-2.0
#include "cli_symbols.h"

#include <stdlib.h>
#include <unistd.h>

#include "host_clock.h"
#include "symfile_calls.h"

/* More threads would wait for memory; each needs some megabytes. */
enum { THREADS_MAX = 8 };

static unsigned cpu_count(void)
{
    long cpus = sysconf(_SC_NPROCESSORS_ONLN);
    return cpus < 1 ? 1 : cpus < THREADS_MAX ? (unsigned)cpus : THREADS_MAX;
}

/* Compressed size of the largest debug files. */
#define FETCH_BYTES_MAX ((uint64_t)4 << 30)
/* A server that extracts a file from an archive takes some seconds; debuginfod's client waits 90
 * (DEBUGINFOD_TIMEOUT). */
#define FETCH_IDLE_S 15u

static bool step(void *ctx, uint64_t done, uint64_t total)
{
    struct sonde__cli_symbols *symbols = ctx;
    if (!symbols->reading) {
        symbols->reading = true;
        symbols->begin_ns = sonde__host_monotonic_ns();
        sonde__cli_progress_begin(&symbols->line, "reading debug information, per cent");
    }
    sonde__cli_progress_step(&symbols->line, total != 0 ? done * 100 / total : 0, 100);
    if (symbols->budget_ns != 0 &&
        sonde__host_monotonic_ns() - symbols->begin_ns + symbols->spent_ns > symbols->budget_ns) {
        symbols->gave_up = true;
        return false;
    }
    return true;
}

static void end(void *ctx)
{
    struct sonde__cli_symbols *symbols = ctx;
    if (symbols->reading) {
        sonde__cli_progress_end(&symbols->line);
        symbols->spent_ns += sonde__host_monotonic_ns() - symbols->begin_ns;
        symbols->reading = false;
    }
}

static void fetch_step(void *ctx, uint64_t done, uint64_t total)
{
    struct sonde__cli_symbols *symbols = ctx;
    if (!symbols->fetching) {
        symbols->fetching = true;
        sonde__cli_progress_begin(&symbols->line, "fetching debug information, KiB");
    }
    sonde__cli_progress_step(&symbols->line, done >> 10, total >> 10);
}

static void fetch_end(void *ctx)
{
    struct sonde__cli_symbols *symbols = ctx;
    if (symbols->fetching) {
        sonde__cli_progress_end(&symbols->line);
        symbols->fetching = false;
    }
}

static void print_fetch(void *ctx, const char *what)
{
    sonde__cli_error(((struct sonde__cli_symbols *)ctx)->command, "%s", what);
}

/* In bytes, as for debuginfod's client. */
static uint64_t bytes_max(void)
{
    const char *text = getenv("DEBUGINFOD_MAXSIZE");
    uint64_t bytes = FETCH_BYTES_MAX;
    return text != NULL && sonde__cli_parse_uint(text, INT64_MAX, &bytes) && bytes != 0
               ? bytes
               : FETCH_BYTES_MAX;
}

static uint64_t idle_ns(void)
{
    const char *text = getenv("DEBUGINFOD_TIMEOUT");
    uint64_t seconds = FETCH_IDLE_S;
    if (text != NULL && sonde__cli_parse_uint(text, 3600, &seconds) && seconds == 0) {
        seconds = 3600; /* no limit, as for debuginfod's client */
    }
    return seconds * 1000000000u;
}

void sonde__cli_symbols_start(struct sonde__cli_symbols *symbols,
                              const struct sonde__cli_command *command, uint64_t budget_ns)
{
    symbols->command = command;
    symbols->budget_ns = budget_ns;
    symbols->making = (struct sonde__symfile_making){.keep = !symbols->no_cache,
                                                     .threads = cpu_count(),
                                                     .step = step,
                                                     .end = end,
                                                     .ctx = symbols};
    symbols->options = (struct sonde__symfile_options){
        .debug_root = symbols->debug_root != NULL ? symbols->debug_root : "/usr/lib/debug",
        .folders = symbols->folders.items,
        .folder_count = symbols->folders.count,
        .files = symbols->files.items,
        .file_count = symbols->files.count,
        .places = &sonde__symfile_places,
        .making = &symbols->making,
        .fetch = &symbols->fetch};
    symbols->fetch = (struct sonde__symfile_fetch){.network = !symbols->no_network,
                                                   .bytes_max = bytes_max(),
                                                   .idle_ns = idle_ns(),
                                                   .step = fetch_step,
                                                   .end = fetch_end,
                                                   .print = print_fetch,
                                                   .ctx = symbols};
}
