// SPDX-License-Identifier: Apache-2.0
/* `sonde watch PID`: watches a running process from the process that runs the command. */
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base_status.h"
#include "host_maps.h"
#include "host_process.h"
#include "host_run.h"
#include "os.h"
#include "sampler.h"
#include "watch_outside.h"
#include "watch_rounds.h"
#include "watch_session.h"
#include "watch_spool.h"
#include "watch_watchdog.h"

bool sonde__watch_find_supervisor(int32_t pid, int32_t *ret_supervisor)
{
    static const char name[] = "/memfd:" SONDE__HOST_SHARED_NAME;
    struct sonde__host_maps maps;
    int32_t supervisor = 0;
    if (sonde__host_maps_read(pid, &maps, NULL) != SONDE_OK) {
        return false;
    }
    for (uint32_t i = 0; i < maps.count && supervisor == 0; i++) {
        const struct sonde__host_map *map = &maps.items[i];
        uint64_t at = map->start + offsetof(struct sonde__probe_page, supervisor);
        if (strncmp(map->path, name, sizeof name - 1) == 0 && map->offset == 0 &&
            sonde__os_read_process(pid, at, &supervisor, sizeof supervisor, NULL) !=
                sizeof supervisor) {
            supervisor = 0;
        }
    }
    sonde__host_maps_done(&maps);
    struct sonde__host_process process;
    bool lives = supervisor > 0 && sonde__host_process_read(supervisor, &process, NULL) == SONDE_OK;
    *ret_supervisor = lives ? supervisor : 0;
    return lives;
}

static uint32_t wait_outside(struct sonde__watch_session *s, uint64_t timeout_ns, bool sleeping)
{
    (void)sleeping;
    return sonde__host_wait(s->waiter, timeout_ns, false);
}

/* Do everything that can fail before there is anything to report. */
static enum sonde_status prepare(struct sonde__watch_session *s, struct sonde_error *ret_error)
{
    const struct sonde__target_options options = {
        .mode = SONDE__TARGET_PASSIVE, .restricted = true, .ways = SONDE__TARGET_BY_PERF};
    s->page = calloc(1, sizeof *s->page);
    if (s->page == NULL || sonde__watch_outside_create(&s->outside) != SONDE_OK) {
        return sonde__base_fail(ret_error, SONDE_MEMORY, "the watch", NULL, 0, 0);
    }
    s->page->version = SONDE__PROBE_VERSION;
    s->page->slot_count = SONDE__PROBE_SLOTS;
    atomic_store(&s->page->pid, s->pid);
    SONDE_TRY(sonde__sampler_open(s->pid, &options, &s->sampler, ret_error));
    sonde__sampler_close(s->sampler); /* the options' sampler is opened later */
    s->sampler = NULL;
    sonde__host_heed_terminal();
    s->watchdog_ns = sonde__watch_watchdog_of(s->pid);
    return sonde__host_waiter_create(s->pid, (uint32_t *)&s->page->sleeping, &s->waiter, ret_error);
}

static enum sonde_status begin(struct sonde__watch_session *s, struct sonde_error *ret_error)
{
    struct sonde_error error = {0};
    SONDE_TRY(prepare(s, ret_error));
    bool no_spool = !sonde__watch_spool_open(s, &error) && error.status != SONDE_OK;
    SONDE_TRY(sonde__watch_writer_create(&s->options, s->pid, &s->writer));
    if (no_spool) {
        sonde__watch_print(s->writer, "%s: nothing is kept there: %s", s->options.spool,
                           error.what);
    }
    sonde__watch_spool_begin(s);
    sonde__watch_print_doubt(s);
    int32_t supervisor;
    if (sonde__watch_find_supervisor(s->pid, &supervisor)) {
        sonde__watch_print(s->writer, "process %d is watched by sonde run already (supervisor %d)",
                           (int)s->pid, (int)supervisor);
    }
    if (s->options.verbose) {
        sonde__watch_print(s->writer, "watching process %d (kill -QUIT %d: all stacks)",
                           (int)s->pid, (int)sonde__os_pid());
    }
    return SONDE_OK;
}

enum sonde_status sonde__watch_pid(const struct sonde__watch_options *options, int32_t pid,
                                   struct sonde_error *ret_error)
{
    static char path[4096];
    static char *argv[] = {path, NULL};
    struct sonde__watch_session *s = calloc(1, sizeof *s); /* 1.7 MB */
    if (s == NULL) {
        return sonde__base_fail(ret_error, SONDE_MEMORY, "the watch", NULL, 0, 0);
    }
    if (!sonde__host_executable(pid, path, sizeof path)) {
        snprintf(path, sizeof path, "?");
    }
    s->options = *options;
    s->options.argv = argv;
    s->options.path = path;
    s->options.probe = ""; /* not needed */
    s->carry = SONDE__WATCH_CARRIES;
    s->pid = pid;
    s->page_fd = -1;
    s->wait = wait_outside;
    enum sonde_status status = begin(s, ret_error);
    if (status == SONDE_OK) {
        sonde__watch_session_run(s);
    }
    sonde__watch_outside_destroy(s->outside);
    free(s->page);
    free(s);
    return status;
}
