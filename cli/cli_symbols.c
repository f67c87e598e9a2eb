// SPDX-License-Identifier: Apache-2.0
#include "cli_symbols.h"

#include <time.h>
#include <unistd.h>

#include "symfile_calls.h"

/* More wait for memory, and each takes some megabytes. */
enum { THREADS_MAX = 8 };

static unsigned cpu_count(void)
{
    long cpus = sysconf(_SC_NPROCESSORS_ONLN);
    return cpus < 1 ? 1 : cpus < THREADS_MAX ? (unsigned)cpus : THREADS_MAX;
}

static uint64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

bool sonde__cli_symbols_take(struct sonde__cli_args *args, int id,
                             struct sonde__cli_symbols *symbols)
{
    switch (id) {
    case SONDE__CLI_SYMBOLS_FOLDER:
        if (symbols->folder_count == SONDE__CLI_FOLDERS_MAX) {
            args->exit_code = sonde__cli_usage_error(
                args->command, "--symbols: more than %d of them", SONDE__CLI_FOLDERS_MAX);
            return false;
        }
        symbols->folders[symbols->folder_count++] = args->value;
        return true;
    case SONDE__CLI_SYMBOLS_DEBUG_ROOT:
        symbols->debug_root = args->value;
        return true;
    case SONDE__CLI_SYMBOLS_NO_CACHE:
        symbols->no_cache = true;
        return true;
    default:
        return false;
    }
}

static bool step(void *ctx, uint64_t done, uint64_t total)
{
    struct sonde__cli_symbols *symbols = ctx;
    if (!symbols->reading) {
        symbols->reading = true;
        symbols->begin_ns = now_ns();
        sonde__cli_progress_begin(&symbols->line, "reading debug information, per cent");
    }
    sonde__cli_progress_step(&symbols->line, total != 0 ? done * 100 / total : 0, 100);
    if (symbols->budget_ns != 0 &&
        now_ns() - symbols->begin_ns + symbols->spent_ns > symbols->budget_ns) {
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
        symbols->spent_ns += now_ns() - symbols->begin_ns;
        symbols->reading = false;
    }
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
        .folders = symbols->folders,
        .folder_count = symbols->folder_count,
        .places = &sonde__symfile_places,
        .making = &symbols->making};
}
