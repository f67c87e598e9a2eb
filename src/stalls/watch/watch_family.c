// SPDX-License-Identifier: Apache-2.0
#include "watch_family.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "host_process.h"
#include "host_wait.h"
#include "sampler_child.h"
#include "watch_writer.h"

struct family {
    int32_t pids[SONDE__WATCH_FAMILY_MAX + 1]; /* the program first; parents before children */
    size_t count, more;
};

/* A supervisor: of the program, or of one that is followed. */
static bool is_ours(int32_t pid)
{
    static char own[4096], other[4096];
    return pid == (int32_t)getpid() ||
           (sonde__host_executable((int32_t)getpid(), own, sizeof own) &&
            sonde__host_executable(pid, other, sizeof other) && strcmp(own, other) == 0);
}

static void find_family(struct family *family, int32_t program)
{
    int32_t children[SONDE__WATCH_FAMILY_MAX];
    family->pids[0] = program;
    family->count = 1;
    for (size_t i = 0; i < family->count; i++) {
        size_t found =
            sonde__host_children_read(family->pids[i], children, SONDE__WATCH_FAMILY_MAX);
        size_t known = found < SONDE__WATCH_FAMILY_MAX ? found : SONDE__WATCH_FAMILY_MAX;
        family->more += found - known;
        for (size_t k = 0; k < known; k++) {
            if (is_ours(children[k])) {
                continue;
            }
            if (family->count <= SONDE__WATCH_FAMILY_MAX) {
                family->pids[family->count++] = children[k];
            } else {
                family->more++;
            }
        }
    }
}

static void show(struct sonde__watch_session *s, int32_t pid, const char *why)
{
    struct sonde__sampler_stall all;
    struct sonde_error error = {.status = SONDE_OK};
    char command[256] = "";
    bool perf = s->options.sampler == SONDE__WATCH_SAMPLER_AUTO ||
                s->options.sampler == SONDE__WATCH_SAMPLER_PERF;
    struct sonde__sampler_child *child = sonde__sampler_child_take(pid, perf, &error);
    (void)sonde__host_command_read(pid, command, sizeof command);
    if (child == NULL) {
        sonde__watch_print(s->writer, "process %d (%.60s) could not be read: %s", (int)pid, command,
                           error.what[0] != '\0' ? error.what : "it has ended, or is about to");
        return;
    }
    if (child->thread_count < child->thread_total) {
        sonde__watch_print(s->writer, "process %d (%.60s): %u of its %u threads follow", (int)pid,
                           command, (unsigned)child->thread_count, (unsigned)child->thread_total);
    }
    sonde__sampler_stall_init(&all);
    all.child = child;
    sonde__watch_writer_stacks(s->writer, &all, NULL, why);
}

void sonde__watch_show_family(struct sonde__watch_session *session, const char *why)
{
    struct family *family = calloc(1, sizeof *family);
    if (family == NULL) {
        return;
    }
    find_family(family, session->pid);
    for (size_t i = 1; i < family->count; i++) {
        show(session, family->pids[i], why);
    }
    if (family->more != 0) {
        sonde__watch_print(session->writer, "%zu more processes that it started are not shown",
                           family->more);
    }
    free(family);
}
