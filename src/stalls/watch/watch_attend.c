// SPDX-License-Identifier: Apache-2.0
/* The supervisor of a forked child, from its command line to its watch. See watch_workers.h. */
#include <stdio.h>
#include <stdlib.h>

#include "host_run.h"
#include "watch_follow.h"
#include "watch_session.h"
#include "watch_supervise.h"

bool sonde__watch_parse_place(const char *place, int32_t *ret_fd, uint32_t *ret_index,
                              int32_t *ret_pid)
{
    int fd, pid, used = 0;
    unsigned index;
    if (sscanf(place, "%d:%u:%d%n", &fd, &index, &pid, &used) != 3 || place[used] != '\0' ||
        fd < 3 || index >= SONDE__PROBE_WORKERS || pid <= 0) {
        return false;
    }
    *ret_fd = fd;
    *ret_index = index;
    *ret_pid = pid;
    return true;
}

int sonde__watch_attend(const struct sonde__watch_options *options, const char *place,
                        struct sonde_error *ret_error)
{
    /* 1.7 MB, only for this command; the end of the process frees it */
    struct sonde__watch_session *session = calloc(1, sizeof *session);
    const size_t size =
        SONDE__PROBE_WORKERS_OFFSET + (size_t)SONDE__PROBE_WORKERS * SONDE__PROBE_WORKER_BYTES;
    int32_t fd, pid;
    uint32_t index;
    void *memory;
    if (session == NULL || !sonde__watch_parse_place(place, &fd, &index, &pid) ||
        sonde__host_attend(pid, fd, size, &memory) != SONDE_OK) {
        *ret_error = (struct sonde_error){.status = SONDE_USAGE};
        snprintf(ret_error->what, sizeof ret_error->what, "no child of a watched program");
        free(session);
        return 125;
    }
    struct sonde__probe_follow *follow =
        (struct sonde__probe_follow *)(void *)((char *)memory + SONDE__PROBE_FOLLOW_OFFSET);
    session->options = *options;
    session->options.path = options->program;
    session->page =
        (struct sonde__probe_page *)(void *)((char *)memory + SONDE__PROBE_WORKERS_OFFSET +
                                             (size_t)index * SONDE__PROBE_WORKER_BYTES);
    session->carry = SONDE__WATCH_CARRIES;
    session->page_fd = -1;
    session->worker = &follow->workers[index];
    session->page->long_ns = (int64_t)options->threshold_ns;
    session->page->late_ns = (int64_t)options->threshold_ns / 4;
    atomic_store(&session->page->sample.wanted, sonde__watch_wants_signal(options));
    sonde__watch_supervise(session, pid);
    return 125;
}
