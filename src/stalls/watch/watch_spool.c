// SPDX-License-Identifier: Apache-2.0
#include "watch_spool.h"

#include <stdlib.h>
#include <string.h>

#include "base_status.h"
#include "host_run.h"
#include "spool_session.h"
#include "watch_kept.h"
#include "watch_live.h"
#include "watch_spooled.h"

/* Both live as long as the session's process or its watch. */
struct spool {
    struct sonde__spool_session session;
    struct sonde__watch_spooled spooled;
};

bool sonde__watch_spool_open(struct sonde__watch_session *s, struct sonde_error *ret_error)
{
    struct spool *spool;
    *ret_error = (struct sonde_error){0};
    /* nothing is kept of a program with more rights than its user */
    bool has_plugin = s->plugin_memory != NULL;
    if (s->options.spool == NULL || (has_plugin && s->options.plugin->keep == NULL) ||
        s->carry == SONDE__WATCH_PRIVILEGED) {
        return false;
    }
    spool = calloc(1, sizeof *spool);
    if (spool == NULL) {
        (void)sonde__base_fail(ret_error, SONDE_MEMORY, "the spool", NULL, 0, 0);
        return false;
    }
    if (sonde__spool_begin(s->options.spool, s->pid, !has_plugin, &spool->session, ret_error) !=
        SONDE_OK) {
        free(spool);
        return false;
    }
    spool->spooled.report_fd = spool->session.report_fd;
    spool->spooled.is_used = has_plugin; /* also if nothing was called */
    s->options.spooled = &spool->spooled;
    s->spool = &spool->session;
    return true;
}

void sonde__watch_spool_begin(struct sonde__watch_session *s)
{
    if (s->spool == NULL) {
        return;
    }
    if (s->plugin_memory != NULL) {
        sonde__watch_keep_begin(s);
    } else if (s->spool->live_fd >= 0) {
        s->live = sonde__watch_live_create(s->spool, sonde__watch_writer_report(s->writer));
    }
    if (s->live == NULL && s->plugin_memory == NULL) {
        sonde__watch_print(
            s->writer, "%s: no file for stalls that last: %s; one in which all is killed is lost",
            s->options.spool,
            s->spool->live_error != 0 ? strerror(s->spool->live_error)
                                      : sonde_status_text(SONDE_MEMORY));
    }
    sonde__watch_writer_tidy(s->writer);
}

void sonde__watch_spool_leave(const struct sonde__watch_session *s)
{
    if (s->spool != NULL) {
        sonde__host_close(s->spool->report_fd);
        sonde__host_close(s->spool->live_fd);
        sonde__host_close(s->spool->folder);
    }
}

void sonde__watch_spool_end(struct sonde__watch_session *s)
{
    const struct sonde__watch_spooled *spooled = s->options.spooled;
    if (s->spool == NULL) {
        return;
    }
    sonde__watch_keep_end(s);
    sonde__watch_live_destroy(s->live);
    s->live = NULL;
    sonde__spool_end(s->spool, spooled->is_used, spooled->is_used && spooled->has_failed);
    free(s->spool); /* frees struct spool, whose first member it is */
    s->spool = NULL;
    s->options.spooled = NULL;
}
