// SPDX-License-Identifier: Apache-2.0
#include "session.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "test.h"
#include "watch_writer.h"

static void ignore_stall(void *ctx, const struct sonde__entry_ended *ended,
                         const struct sonde__report *report, const struct sonde__report_view *view,
                         uint32_t index)
{
    (void)ctx;
    (void)ended;
    (void)report;
    (void)view;
    (void)index;
}

struct sonde__watch_session *make_session(void *ctx)
{
    struct sonde__watch_session *s = calloc(1, sizeof *s);
    s->options = (struct sonde__watch_options){.tool = "test",
                                               .probe = "",
                                               .threshold_ns = 250 * MS,
                                               .report_fd = -1,
                                               .quiet = true,
                                               .on_stall = ignore_stall,
                                               .ctx = ctx};
    s->page = aligned_alloc(128, sizeof *s->page);
    s->scopes = aligned_alloc(128, sizeof *s->scopes);
    memset(s->page, 0, sizeof *s->page);
    memset(s->scopes, 0, sizeof *s->scopes);
    s->page->late_ns = 60 * MS;
    s->pid = getpid();
    atomic_store(&s->page->pid, s->pid);
    s->carry = SONDE__WATCH_CARRIES;
    s->sampler_retry_ns = UINT64_MAX; /* no samples */
    s->ctx = ctx;
    CHECK_OK(sonde__watch_writer_create(&s->options, s->pid, &s->writer));
    return s;
}

void free_session(struct sonde__watch_session *s)
{
    free(s->page);
    free(s->scopes);
    free(s);
}
