// SPDX-License-Identifier: Apache-2.0
#include "report_later.h"

#include "mem_heap.h"
#include "report_store.h"

struct join {
    struct sonde__report *report;
    uint32_t *path; /* of one stack, innermost first */
};

static uint32_t add_marker(struct sonde__report *report, uint32_t stack)
{
    const struct sonde__report_frame marker = {
        .name = sonde__report_string(report, SONDE__REPORT_LATER)};
    uint32_t frame = marker.name != 0 ? sonde__report_add_frame(report, &marker) : 0;
    return frame != 0 ? sonde__report_add_node(report, stack, frame) : 0;
}

static uint32_t join_stacks(const struct join *j, uint32_t stack, uint32_t later)
{
    uint32_t count = 0, node = add_marker(j->report, stack);
    uint32_t depth = sonde__report_node(j->report, later)->depth;
    if (node == 0 || sonde__report_node(j->report, node)->depth + depth > SONDE__REPORT_DEPTH_MAX) {
        return node != 0 ? node : stack;
    }
    for (uint32_t id = later; id != 0 && count < SONDE__REPORT_DEPTH_MAX;
         id = sonde__report_node(j->report, id)->parent) {
        j->path[count++] = id;
    }
    while (count-- > 0 && node != 0) {
        struct sonde__report_node inner = *sonde__report_node(j->report, j->path[count]);
        inner.parent = node;
        node = sonde__report_add_node_value(j->report, &inner);
    }
    return node != 0 ? node : stack;
}

static void join_one(const struct join *j, uint32_t *stack, uint32_t *later)
{
    if (*later != 0) {
        *stack = join_stacks(j, *stack, *later);
        *later = 0;
    }
}

static void join_threads(const struct join *j, const struct sonde__report_thread *threads,
                         uint32_t count)
{
    struct sonde__report_thread *own = (struct sonde__report_thread *)threads; /* in the arena */
    for (uint32_t i = 0; i < count; i++) {
        join_one(j, &own[i].stack, &own[i].script_stack);
    }
}

static void join_samples(const struct join *j, const struct sonde__report_sample *samples,
                         uint32_t count)
{
    struct sonde__report_sample *own = (struct sonde__report_sample *)samples; /* likewise */
    for (uint32_t i = 0; i < count; i++) {
        join_one(j, &own[i].stack, &own[i].script_stack);
    }
}

void sonde__report_join_later(struct sonde__report *report)
{
    struct join join = {report, sonde__mem_alloc_array(SONDE__REPORT_DEPTH_MAX, sizeof(uint32_t))};
    for (uint32_t i = 0; i < sonde__report_thread_count(report) && join.path != NULL; i++) {
        join_threads(&join, sonde__report_thread(report, i), 1);
    }
    for (uint32_t i = 0; i < sonde__report_sample_count(report) && join.path != NULL; i++) {
        join_samples(&join, sonde__report_sample(report, i), 1);
    }
    for (uint32_t i = 0; i < sonde__report_stall_count(report) && join.path != NULL; i++) {
        const struct sonde__report_stall *stall = sonde__report_stall(report, i);
        join_threads(&join, stall->threads, stall->thread_count);
        join_samples(&join, stall->samples, stall->sample_count);
    }
    sonde__mem_free(join.path);
}
