// SPDX-License-Identifier: Apache-2.0
#include "watch_workers.h"

#include <stdio.h>
#include <string.h>

#include "host_clock.h"
#include "host_run.h"
#include "watch_follow.h"

/* A worker begins to wait for events within this time of its start. */
#define EXPECTED_NS 30000000000ull

enum { WORDS = SONDE__PROBE_FOLLOW_WORDS + 8 };

/* Build the words again: those in shared memory may have been changed by the program. */
static bool start(struct sonde__watch_session *s, uint32_t index, int32_t pid)
{
    static struct sonde__probe_follow own;
    const char *argv[WORDS];
    char place[64];
    const char *word = own.text;
    uint32_t n = 0;
    if (!sonde__watch_fill_follow(&s->options, atomic_load(&s->page->supervisor), &own) ||
        own.words < 2) {
        return false;
    }
    for (uint32_t i = 0; i + 1 < own.words; i++) { /* all but the "--" */
        argv[n++] = word;
        word += strlen(word) + 1;
    }
    snprintf(place, sizeof place, "--attend=%d:%u:%d", (int)s->page_fd, (unsigned)index, (int)pid);
    argv[n++] = place;
    argv[n++] = "--";
    argv[n++] = s->options.path;
    argv[n++] = s->options.path;
    argv[n] = NULL;
    return sonde__host_spawn_supervisor(argv, s->page_fd) == SONDE_OK;
}

void sonde__watch_attend_workers(struct sonde__watch_session *s, uint64_t now_ns)
{
    if (s->follow == NULL || s->page_fd < 0) {
        return;
    }
    uint32_t forks = atomic_load_explicit(&s->follow->forks, memory_order_relaxed);
    uint32_t claims = atomic_load_explicit(&s->follow->claims, memory_order_acquire);
    if (forks != s->forks_seen) {
        s->forks_seen = forks;
        s->forked_ns = now_ns;
    }
    if (claims == s->claims_seen) {
        return;
    }
    s->claims_seen = claims;
    for (uint32_t i = 0; i < SONDE__PROBE_WORKERS; i++) {
        int32_t pid = atomic_load(&s->follow->workers[i].pid);
        if (pid > 0 && pid != s->attended[i]) {
            s->attended[i] = pid;
            if (start(s, i, pid)) {
                s->attended_count++;
            } else {
                s->attended_failed++;
            }
        }
    }
}

bool sonde__watch_expects_workers(const struct sonde__watch_session *s, uint64_t now_ns)
{
    return s->forked_ns != 0 && now_ns - s->forked_ns < EXPECTED_NS;
}

void sonde__watch_print_workers(struct sonde__watch_session *s)
{
    uint32_t lost = s->follow != NULL && s->page_fd >= 0
                        ? atomic_load(&s->follow->workers_lost) + s->attended_failed
                        : 0;
    if (s->attended_count > 0 && !s->options.quiet) {
        sonde__watch_print(s->writer, "%u forked child%s of %s own", (unsigned)s->attended_count,
                           s->attended_count == 1 ? " was watched by a supervisor"
                                                  : "ren were watched by supervisors",
                           s->attended_count == 1 ? "its" : "their");
    }
    if (lost > 0) {
        sonde__watch_print(
            s->writer, "%u forked children were not watched: there are %u places at a time%s",
            (unsigned)lost, (unsigned)s->worker_count,
            s->worker_count == 0 ? " where memory or files are limited (ulimit)" : "");
    }
}

void sonde__watch_release_worker(struct sonde__watch_session *s)
{
    int32_t pid = s->pid;
    struct sonde__host_thread_look look;
    if (s->worker == NULL || (!s->replaced && sonde__host_look_thread(pid, (uint64_t)pid, &look))) {
        return; /* the child still runs, and writes there */
    }
    memset(s->page, 0, sizeof *s->page);
    (void)atomic_compare_exchange_strong(&s->worker->pid, &pid, 0);
}
