// SPDX-License-Identifier: Apache-2.0
#include "watch_sampler.h"

#include "watch_writer.h"

/* The pause after a failed attempt to open the program. */
#define RETRY_NS 1000000000ull

bool sonde__watch_open_sampler(struct sonde__watch_session *s, uint64_t now_ns)
{
    struct sonde_error error = {0};
    if (s->sampler != NULL) {
        return true;
    }
    if (now_ns < s->sampler_retry_ns) {
        return false;
    }
    static const uint32_t ways[] = {
        /* AUTO from outside never stops the program: that is done on request only */
        [SONDE__WATCH_SAMPLER_AUTO] = SONDE__TARGET_BY_PERF,
        [SONDE__WATCH_SAMPLER_PERF] = SONDE__TARGET_BY_PERF,
        [SONDE__WATCH_SAMPLER_PTRACE] = SONDE__TARGET_BY_PTRACE,
        [SONDE__WATCH_SAMPLER_SIGNAL] = SONDE__TARGET_BY_SIGNAL,
        [SONDE__WATCH_SAMPLER_NONE] = 0,
    };
    const struct sonde__target_options options = {
        .mode = SONDE__TARGET_PASSIVE,
        .restricted = s->options.sampler != SONDE__WATCH_SAMPLER_AUTO || s->outside != NULL,
        .ways = ways[s->options.sampler],
        .sample = &s->page->sample,
    };
    if (sonde__sampler_open(s->pid, &options, &s->sampler, &error) == SONDE_OK) {
        return true;
    }
    s->sampler = NULL;
    s->sampler_retry_ns = now_ns + RETRY_NS;
    if (!s->sampler_printed) {
        s->sampler_printed = true;
        sonde__watch_print(s->writer, "stacks cannot be read: %s", error.what);
    }
    return false;
}
