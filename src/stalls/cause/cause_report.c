// SPDX-License-Identifier: Apache-2.0
/* Converts a cause to a wait of a report. */
#include <string.h>

#include "cause_private.h"
#include "host_process.h"
#include "scrub.h"

static const uint8_t kinds[] = {
    [SONDE__CAUSE_NONE] = SONDE__REPORT_WAIT_UNKNOWN,
    [SONDE__CAUSE_FUTEX] = SONDE__REPORT_WAIT_FUTEX,
    [SONDE__CAUSE_MUTEX] = SONDE__REPORT_WAIT_MUTEX,
    [SONDE__CAUSE_RWLOCK] = SONDE__REPORT_WAIT_RWLOCK,
    [SONDE__CAUSE_CONDITION] = SONDE__REPORT_WAIT_CONDITION,
    [SONDE__CAUSE_SEMAPHORE] = SONDE__REPORT_WAIT_SEMAPHORE,
    [SONDE__CAUSE_BARRIER] = SONDE__REPORT_WAIT_FUTEX,
    [SONDE__CAUSE_ONCE] = SONDE__REPORT_WAIT_FUTEX,
    [SONDE__CAUSE_JOIN] = SONDE__REPORT_WAIT_JOIN,
    [SONDE__CAUSE_CHILD] = SONDE__REPORT_WAIT_CHILD,
    [SONDE__CAUSE_FILE] = SONDE__REPORT_WAIT_FILE,
    [SONDE__CAUSE_PATH] = SONDE__REPORT_WAIT_FILE,
    [SONDE__CAUSE_FILE_LOCK] = SONDE__REPORT_WAIT_FILE_LOCK,
    [SONDE__CAUSE_PIPE] = SONDE__REPORT_WAIT_PIPE,
    [SONDE__CAUSE_SOCKET] = SONDE__REPORT_WAIT_SOCKET,
    [SONDE__CAUSE_SET] = SONDE__REPORT_WAIT_FILE,
    [SONDE__CAUSE_MEMORY] = SONDE__REPORT_WAIT_MEMORY,
};

static uint32_t process_of(struct sonde__report *report, int32_t pid)
{
    char path[SONDE__HOST_PATH_MAX];
    struct sonde__report_process process = {.pid = pid};
    for (uint32_t id = 1; id <= sonde__report_process_count(report); id++) {
        if (sonde__report_process(report, id)->pid == pid) {
            return id;
        }
    }
    if (sonde__host_executable(pid, path, sizeof path)) {
        process.executable = sonde__report_string(report, path);
    }
    return sonde__report_add_process(report, &process);
}

bool sonde__cause_to_report(const struct sonde__cause *cause, int32_t pid, uint32_t process,
                            struct sonde__report *report, struct sonde__report_wait *ret_wait)
{
    char text[SONDE__CAUSE_TEXT];
    if (cause->kind == SONDE__CAUSE_NONE) {
        return false;
    }
    memset(ret_wait, 0, sizeof *ret_wait);
    ret_wait->tid = (int64_t)cause->tid;
    ret_wait->process = process;
    ret_wait->kind = kinds[cause->kind];
    ret_wait->owner_tid = (int64_t)cause->owner_tid;
    if (cause->owner_pid > 0) {
        ret_wait->owner_process =
            cause->owner_pid == pid ? process : process_of(report, cause->owner_pid);
    }
    bool has_owner = cause->owner_tid != 0 || cause->owner_pid > 0;
    sonde__cause_text(cause, text, sizeof text); /* includes why the owner is not known */
    ret_wait->resource = sonde__report_string(report, has_owner ? cause->resource : text);
    if (cause->peer[0] != '\0') {
        bool hides = (sonde__scrub_used()->on & SONDE__SCRUB_PEERS) != 0; /* just an address */
        ret_wait->peer = sonde__report_string(report, hides ? "<peer>" : cause->peer);
    }
    return true;
}
