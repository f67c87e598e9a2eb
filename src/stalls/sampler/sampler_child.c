// SPDX-License-Identifier: Apache-2.0
#include "sampler_child.h"

#include <stdlib.h>

#include "host_device.h"
#include "target.h"

struct sonde__sampler_child *sonde__sampler_child_take(int32_t pid, bool perf,
                                                       struct sonde_error *ret_error)
{
    const struct sonde__target_options options = {
        .mode = SONDE__TARGET_PASSIVE,
        .restricted = true,
        .ways = perf ? SONDE__TARGET_BY_PERF : 0,
    };
    struct sonde_error error = {.status = SONDE_OK};
    struct sonde__sampler_child *child = calloc(1, sizeof *child);
    if (child == NULL) {
        return NULL;
    }
    child->pid = pid;
    child->parent_pid = sonde__host_parent(pid);
    if (!sonde__host_executable(pid, child->executable, sizeof child->executable)) {
        child->executable[0] = '\0';
    }
    if (sonde__sampler_open(pid, &options, &child->sampler, &error) != SONDE_OK) {
        free(child);
        if (ret_error != NULL) {
            *ret_error = error;
        }
        return NULL;
    }
    (void)sonde__sampler_list(child->sampler);
    child->thread_count =
        sonde__sampler_take_all(child->sampler, 0, UINT64_MAX, child->threads,
                                SONDE__SAMPLER_CHILD_THREADS_MAX, &child->thread_total);
    child->images = sonde__sampler_freeze(child->sampler);
    sonde__sampler_rest(child->sampler);
    if (child->thread_count == 0 || child->images == NULL) {
        sonde__sampler_child_done(child);
        return NULL;
    }
    return child;
}

void sonde__sampler_child_done(struct sonde__sampler_child *child)
{
    if (child == NULL) {
        return;
    }
    for (uint32_t i = 0; i < child->thread_count; i++) {
        sonde__sample_done(&child->threads[i]);
    }
    sonde__target_close(child->images);
    sonde__sampler_close(child->sampler);
    free(child);
}
