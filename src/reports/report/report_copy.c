// SPDX-License-Identifier: Apache-2.0
/* Images, frames and nodes are copied when they are first referred to. A node's parent has a
 * smaller id, and stacks are copied from the outermost node on. What the new report had when it was
 * read is not found again (report_store.h), so it may have a thing twice, but never another one's.
 */
#include "report_copy.h"

#include <string.h>

#include "mem_heap.h"
#include "report_store.h"

struct sonde__report_copy {
    const struct sonde__report *from;
    struct sonde__report *to;
    uint32_t *nodes;  /* by the id in `from`: the id in `to`; 0: not copied yet */
    uint32_t *frames; /* likewise */
    uint32_t *path;   /* of one stack, innermost first */
    /* of the last stall */
    struct sonde__report_sample *samples;
    struct sonde__report_thread *threads;
    struct sonde__report_wait *waits;
    struct sonde__report_uncovered *uncovered;
};

static uint32_t *make_ids(uint32_t count)
{
    uint32_t *ids = sonde__mem_alloc_array((size_t)count + 1, sizeof *ids);
    if (ids != NULL) {
        memset(ids, 0, ((size_t)count + 1) * sizeof *ids);
    }
    return ids;
}

enum sonde_status sonde__report_copy_create(const struct sonde__report *from,
                                            struct sonde__report *to,
                                            struct sonde__report_copy **ret_copy)
{
    struct sonde__report_copy *copy = sonde__mem_alloc_zeroed(sizeof *copy);
    if (copy == NULL) {
        return SONDE_MEMORY;
    }
    copy->from = from;
    copy->to = to;
    copy->nodes = make_ids(sonde__report_node_count(from));
    copy->frames = make_ids(sonde__report_frame_count(from));
    copy->path = make_ids(SONDE__REPORT_DEPTH_MAX);
    if (copy->nodes == NULL || copy->frames == NULL || copy->path == NULL) {
        sonde__report_copy_destroy(copy);
        return SONDE_MEMORY;
    }
    *ret_copy = copy;
    return SONDE_OK;
}

static void drop_arrays(struct sonde__report_copy *copy)
{
    sonde__mem_free(copy->samples);
    sonde__mem_free(copy->threads);
    sonde__mem_free(copy->waits);
    sonde__mem_free(copy->uncovered);
    copy->samples = NULL;
    copy->threads = NULL;
    copy->waits = NULL;
    copy->uncovered = NULL;
}

void sonde__report_copy_destroy(struct sonde__report_copy *copy)
{
    if (copy != NULL) {
        drop_arrays(copy);
        sonde__mem_free(copy->nodes);
        sonde__mem_free(copy->frames);
        sonde__mem_free(copy->path);
        sonde__mem_free(copy);
    }
}

static uint32_t copy_text(struct sonde__report_copy *copy, uint32_t id)
{
    return sonde__report_string(copy->to, sonde__report_text(copy->from, id));
}

static uint32_t copy_image(struct sonde__report_copy *copy, uint32_t id)
{
    if (id == 0) {
        return 0;
    }
    struct sonde__report_image image = *sonde__report_image(copy->from, id);
    image.path = copy_text(copy, image.path);
    return sonde__report_add_image(copy->to, &image);
}

static uint32_t copy_frame(struct sonde__report_copy *copy, uint32_t id)
{
    struct sonde__report_inlined inlined[SONDE__REPORT_INLINED_MAX];
    if (id == 0 || id > sonde__report_frame_count(copy->from)) {
        return 0;
    }
    if (copy->frames[id] != 0) {
        return copy->frames[id];
    }
    struct sonde__report_frame frame = *sonde__report_frame(copy->from, id);
    frame.image = copy_image(copy, frame.image);
    frame.name = copy_text(copy, frame.name);
    frame.file = copy_text(copy, frame.file);
    frame.language = copy_text(copy, frame.language);
    for (uint32_t i = 0; i < frame.inlined_count; i++) {
        inlined[i] = (struct sonde__report_inlined){
            .name = copy_text(copy, frame.inlined[i].name),
            .file = copy_text(copy, frame.inlined[i].file),
            .line = frame.inlined[i].line,
        };
    }
    frame.inlined = inlined;
    copy->frames[id] = sonde__report_add_frame(copy->to, &frame);
    return copy->frames[id];
}

/* What awaits a task is not copied: no watch writes it. */
static uint32_t copy_node(struct sonde__report_copy *copy, uint32_t id, uint32_t parent)
{
    const struct sonde__report_node *node = sonde__report_node(copy->from, id);
    uint32_t calls[SONDE__REPORT_TAIL_CALLS_MAX];
    for (uint32_t i = 0; i < node->tail_call_count; i++) {
        calls[i] = copy_frame(copy, node->tail_calls[i]);
    }
    const struct sonde__report_node value = {
        .parent = parent,
        .frame = copy_frame(copy, node->frame),
        .tail_calls = calls,
        .tail_call_count = node->tail_call_count,
        .task = copy_text(copy, node->task),
    };
    copy->nodes[id] = sonde__report_add_node_value(copy->to, &value);
    return copy->nodes[id];
}

static uint32_t copy_stack(struct sonde__report_copy *copy, uint32_t id)
{
    uint32_t count = 0, node = 0;
    while (id != 0 && id <= sonde__report_node_count(copy->from) && copy->nodes[id] == 0 &&
           count < SONDE__REPORT_DEPTH_MAX) {
        copy->path[count++] = id;
        id = sonde__report_node(copy->from, id)->parent;
    }
    node = id != 0 && id <= sonde__report_node_count(copy->from) ? copy->nodes[id] : 0;
    while (count > 0) {
        node = copy_node(copy, copy->path[--count], node);
        if (node == 0) {
            return 0; /* the model counts what it cannot keep */
        }
    }
    return node;
}

/* The same process in the new report: by its pid and program. */
static uint32_t copy_process(struct sonde__report_copy *copy, uint32_t id)
{
    if (id == 0 || id > sonde__report_process_count(copy->from)) {
        return 0;
    }
    struct sonde__report_process process = *sonde__report_process(copy->from, id);
    const char *path = sonde__report_text(copy->from, process.executable);
    for (uint32_t i = 1; i <= sonde__report_process_count(copy->to); i++) {
        const struct sonde__report_process *other = sonde__report_process(copy->to, i);
        if (other->pid == process.pid &&
            strcmp(sonde__report_text(copy->to, other->executable), path) == 0) {
            return i;
        }
    }
    process.executable = copy_text(copy, process.executable);
    process.parent = 0;
    return sonde__report_add_process(copy->to, &process);
}

static bool copy_samples(struct sonde__report_copy *copy, struct sonde__report_stall *stall)
{
    copy->samples = sonde__mem_alloc_array((size_t)stall->sample_count + 1, sizeof *copy->samples);
    for (uint32_t i = 0; copy->samples != NULL && i < stall->sample_count; i++) {
        struct sonde__report_sample *sample = &copy->samples[i];
        *sample = stall->samples[i];
        sample->stack = copy_stack(copy, sample->stack);
        sample->script_stack = copy_stack(copy, sample->script_stack);
        sample->detail = copy_text(copy, sample->detail);
    }
    stall->samples = copy->samples;
    return copy->samples != NULL;
}

static bool copy_threads(struct sonde__report_copy *copy, struct sonde__report_stall *stall)
{
    copy->threads = sonde__mem_alloc_array((size_t)stall->thread_count + 1, sizeof *copy->threads);
    for (uint32_t i = 0; copy->threads != NULL && i < stall->thread_count; i++) {
        struct sonde__report_thread *thread = &copy->threads[i];
        *thread = stall->threads[i];
        thread->name = copy_text(copy, thread->name);
        thread->note = copy_text(copy, thread->note);
        thread->detail = copy_text(copy, thread->detail);
        thread->queue = copy_text(copy, thread->queue);
        thread->stack = copy_stack(copy, thread->stack);
        thread->script_stack = copy_stack(copy, thread->script_stack);
        thread->process = copy_process(copy, thread->process);
    }
    stall->threads = copy->threads;
    return copy->threads != NULL;
}

static bool copy_rest(struct sonde__report_copy *copy, struct sonde__report_stall *stall)
{
    copy->waits = sonde__mem_alloc_array((size_t)stall->wait_count + 1, sizeof *copy->waits);
    copy->uncovered =
        sonde__mem_alloc_array((size_t)stall->uncovered_count + 1, sizeof *copy->uncovered);
    if (copy->waits == NULL || copy->uncovered == NULL) {
        return false;
    }
    for (uint32_t i = 0; i < stall->wait_count; i++) {
        copy->waits[i] = stall->waits[i];
        copy->waits[i].resource = copy_text(copy, stall->waits[i].resource);
        copy->waits[i].peer = copy_text(copy, stall->waits[i].peer);
        copy->waits[i].process = copy_process(copy, stall->waits[i].process);
        copy->waits[i].owner_process = copy_process(copy, stall->waits[i].owner_process);
    }
    for (uint32_t i = 0; i < stall->uncovered_count; i++) {
        copy->uncovered[i] = stall->uncovered[i];
        copy->uncovered[i].detail = copy_text(copy, stall->uncovered[i].detail);
    }
    stall->waits = copy->waits;
    stall->uncovered = copy->uncovered;
    return true;
}

bool sonde__report_copy_stall(struct sonde__report_copy *copy, uint32_t index,
                              struct sonde__report_stall *ret_stall)
{
    struct sonde__report_stall stall = *sonde__report_stall(copy->from, index);
    drop_arrays(copy);
    if (!copy_samples(copy, &stall) || !copy_threads(copy, &stall) || !copy_rest(copy, &stall)) {
        return false;
    }
    stall.thread_name = copy_text(copy, stall.thread_name);
    stall.loop_detail = copy_text(copy, stall.loop_detail);
    stall.loop_phase = copy_text(copy, stall.loop_phase);
    stall.mode = copy_text(copy, stall.mode);
    stall.fingerprint = copy_text(copy, stall.fingerprint);
    stall.process = copy_process(copy, stall.process);
    stall.phase = 0;
    *ret_stall = stall;
    return true;
}
