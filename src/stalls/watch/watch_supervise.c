// SPDX-License-Identifier: Apache-2.0
#include "watch_supervise.h"

#include <unistd.h>

#include "host_run.h"
#include "report_model.h"
#include "watch_follow.h"
#include "watch_rounds.h"
#include "watch_spool.h"
#include "watch_spooled.h"
#include "watch_watchdog.h"
#include "watch_workers.h"

static uint32_t wait_outside(struct sonde__watch_session *s, uint64_t timeout_ns, bool sleeping)
{
    return sonde__host_wait(s->waiter, timeout_ns, sleeping);
}

/* The `wait` for a program that ended while it had no supervisor. */
static uint32_t wait_for_nothing(struct sonde__watch_session *s, uint64_t timeout_ns, bool sleeping)
{
    (void)s, (void)timeout_ns, (void)sleeping;
    return SONDE__HOST_ENDED;
}

/* Take over from a supervisor that was killed; only for plugins, whose data is in shared memory.
 * The report may already have a header and records of the plugin, the last one cut. Returns the
 * signal that killed the supervisor, or 0. Afterwards signals that mark phases are heeded. */
static int stand_by(struct sonde__watch_session *s)
{
    bool has_ended = false;
    int signal = s->plugin_memory != NULL
                     ? sonde__host_stand_by(s->pid, &s->page->supervisor, &has_ended)
                     : 0;
    if (has_ended) {
        s->wait = wait_for_nothing;
    }
    if (s->plugin_memory != NULL && s->options.plugin->mark != NULL) {
        sonde__host_heed_marks();
    }
    if (signal != 0 && s->options.report_fd >= 0) {
        sonde__host_truncate(s->options.report_fd);
    }
    if (signal != 0 && s->spool != NULL) {
        sonde__host_truncate(s->options.spooled->report_fd);
    }
    return signal;
}

/* Returns as stand_by(). Who takes over is found by programs that are executed from then on. */
static int begin_to_supervise(struct sonde__watch_session *s)
{
    const struct sonde__watch_plugin *plugin = s->options.plugin;
    if (s->plugin_memory != NULL && plugin->supervise != NULL) {
        plugin->supervise(plugin->ctx, s->plugin_memory, s->page->plugin, s->page_fd);
    }
    int signal = stand_by(s);
    atomic_store(&s->page->supervisor, (int32_t)getpid());
    if (s->plugin_memory != NULL && s->options.follow) {
        (void)sonde__watch_fill_join(&s->options, (int32_t)getpid(), s->page_fd, s->follow);
    }
    return signal;
}

void sonde__watch_supervise(void *ctx, int32_t pid)
{
    struct sonde__watch_session *s = ctx;
    struct sonde_error error = {0};
    s->pid = pid;
    s->watchdog_ns = sonde__watch_watchdog_of(pid);
    s->wait = wait_outside;
    /* of a plugin before the fork: who takes over goes on in the same files */
    bool no_spool = !sonde__watch_spool_open(s, &error) && error.status != SONDE_OK;
    struct sonde_error spool_error = error;
    int signal = begin_to_supervise(s);
    if (s->wait == wait_outside && sonde__host_waiter_create(pid, (uint32_t *)&s->page->sleeping,
                                                             &s->waiter, &error) != SONDE_OK) {
        if (signal == 0) {
            sonde__watch_release_worker(s);
            _exit(1);
        }
        s->waiter = NULL;
        s->wait = wait_for_nothing; /* the program has ended, but its shared memory is still here */
    }
    if (sonde__watch_writer_create(&s->options, pid, &s->writer) != SONDE_OK) {
        _exit(1);
    }
    if (no_spool) {
        sonde__watch_print(s->writer, "%s: nothing is kept there: %s", s->options.spool,
                           spool_error.what);
    }
    sonde__watch_spool_begin(s);
    if (signal != 0) {
        sonde__watch_print(s->writer,
                           "the supervisor was ended by signal %d; another one takes over", signal);
    }
    sonde__watch_print_doubt(s);
    const char *what = s->plugin_memory == NULL                               ? "stalls"
                       : s->options.plugin->kind == SONDE__REPORT_HEAP_BLOCKS ? "blocks"
                                                                              : "calls";
    if (s->carry != SONDE__WATCH_CARRIES) {
        sonde__watch_print(s->writer, "%s are not seen in this program: %s", what,
                           sonde__watch_carry_text(s->carry));
    } else if (s->options.probe == NULL) {
        sonde__watch_print(s->writer, "stalls are not seen: libsonde-preload.so was not found");
    }
    if (s->options.verbose) {
        sonde__watch_print(s->writer,
                           "supervisor %d watches process %d (kill -QUIT %d: all stacks)",
                           (int)s->page->supervisor, (int)pid, (int)s->page->supervisor);
    }
    /* A followed program prints to the stderr of the first one, which lives now. */
    sonde__watch_writer_settle(s->writer, 1);
    sonde__host_supervisor_ready();
    bool sends = s->spool != NULL && s->options.sender != NULL;
    sonde__watch_session_run(s);
    sonde__watch_release_worker(s);
    if (sends) { /* the program has its exit status by now; the sender keeps its own failures in its
                    state */
        enum sonde_status status = sonde__host_spawn_apart(s->options.sender);
        (void)status;
    }
    _exit(0);
}
