// SPDX-License-Identifier: Apache-2.0
/* Progress of a long step: a line on stderr, if it is a terminal. */
#include "cli.h"
#include "host_clock.h"

#include <inttypes.h>
#include <unistd.h>

enum { SHOW_AFTER_NS = 1000000000, SHOW_EVERY_NS = 200000000 };

void sonde__cli_progress_begin(struct sonde__cli_progress *progress, const char *what)
{
    progress->what = what;
    progress->begin_ns = sonde__host_monotonic_ns();
    progress->shown_ns = 0;
    progress->terminal = isatty(STDERR_FILENO) == 1;
}

void sonde__cli_progress_step(struct sonde__cli_progress *progress, uint64_t done, uint64_t total)
{
    uint64_t now;
    if (!progress->terminal) {
        return;
    }
    now = sonde__host_monotonic_ns();
    if (now - progress->begin_ns < SHOW_AFTER_NS ||
        (progress->shown_ns != 0 && now - progress->shown_ns < SHOW_EVERY_NS)) {
        return;
    }
    progress->shown_ns = now;
    if (total != 0) {
        fprintf(stderr, "\r%s: %" PRIu64 " of %" PRIu64 "\033[K", progress->what, done, total);
    } else {
        fprintf(stderr, "\r%s: %" PRIu64 "\033[K", progress->what, done);
    }
    fflush(stderr);
}

void sonde__cli_progress_end(struct sonde__cli_progress *progress)
{
    if (progress->shown_ns != 0) {
        fputs("\r\033[K", stderr);
        progress->shown_ns = 0;
    }
}
