// SPDX-License-Identifier: Apache-2.0
#include "watch_kept.h"

#include <stdio.h>
#include <string.h>

#include "host_clock.h"
#include "spool_session.h"
#include "watch_live.h"
#include "watch_session.h"

/* Half of the second that a kill may cost: the other half is for the look itself. */
#define PERIOD_NS 500000000ull

void sonde__watch_keep_begin(struct sonde__watch_session *s)
{
    s->kept_like = sonde__watch_live_report(sonde__watch_writer_report(s->writer));
    if (s->kept_like == NULL) {
        sonde__watch_print(s->writer, "out of memory: calls are lost if all is killed");
    }
    sonde__watch_keep(s, sonde__host_monotonic_ns());
}

void sonde__watch_keep_end(struct sonde__watch_session *s)
{
    sonde__report_destroy(s->kept_like);
    s->kept_like = NULL;
}

uint64_t sonde__watch_until_kept(const struct sonde__watch_session *s, uint64_t now_ns)
{
    uint64_t at = s->kept_ns + PERIOD_NS;
    return s->kept_like == NULL ? UINT64_MAX : s->kept_ns != 0 && at > now_ns ? at - now_ns : 0;
}

static void add_time(struct sonde__report *report, uint64_t since_ns)
{
    char note[80];
    snprintf(note, sizeof note, "looked at %llu.%03llu s after the start",
             (unsigned long long)(since_ns / 1000000000u),
             (unsigned long long)(since_ns / 1000000u % 1000u));
    sonde__report_add_note(report, note);
}

int sonde__watch_keep_look(struct sonde__spool_session *spool, const struct sonde__report *like,
                           const struct sonde__watch_plugin *plugin, const void *memory, bool again,
                           uint64_t since_ns)
{
    struct sonde__report *report = sonde__watch_live_report(like);
    int reason = 0;
    if (report != NULL && plugin->keep(plugin->ctx, memory, again, report)) {
        add_time(report, since_ns);
        reason = sonde__spool_rewrite(spool, report);
    }
    sonde__report_destroy(report);
    return reason;
}

void sonde__watch_keep(struct sonde__watch_session *s, uint64_t now_ns)
{
    uint64_t since_ns = s->begin_ns != 0 ? now_ns - s->begin_ns : 0;
    int reason = s->kept_like != NULL
                     ? sonde__watch_keep_look(s->spool, s->kept_like, s->options.plugin,
                                              s->plugin_memory, s->keep_failed, since_ns)
                     : 0;
    s->kept_ns = sonde__host_monotonic_ns();
    if (reason != 0 && !s->keep_failed) {
        sonde__watch_print(s->writer,
                           "%s: the live file could not be written: %s; until it can, calls are "
                           "lost if all is killed",
                           s->options.spool, strerror(reason));
    }
    s->keep_failed = reason != 0;
}
