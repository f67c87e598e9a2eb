// SPDX-License-Identifier: Apache-2.0
/* Images, frames and nodes are copied when they are first referred to. A node's parent has a
 * smaller id, so stacks are copied from the outermost node inwards. Entries that the new report was
 * read with are not searched (report_store.h): it may get duplicates, but no wrong entries. */
#include "report_copy.h"

#include <string.h>

#include "mem_heap.h"
#include "report_store.h"

struct sonde__report_copy {
    const struct sonde__report *from;
    struct sonde__report *to;
    uint32_t *nodes;                         /* id in `from` -> id in `to`; 0: not copied yet */
    uint32_t *frames;                        /* likewise */
    uint32_t *path;                          /* of one stack, innermost first */
    void *arrays[SONDE__MESSAGE_FIELDS_MAX]; /* of the last stall or call, by its field */
};

static uint32_t *make_ids(uint32_t count)
{
    return sonde__mem_alloc_zeroed(((size_t)count + 1) * sizeof(uint32_t));
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
    for (uint32_t i = 0; i < SONDE__MESSAGE_FIELDS_MAX; i++) {
        sonde__mem_free(copy->arrays[i]);
        copy->arrays[i] = NULL;
    }
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

/* Give an object the string ids of the new report. */
static void copy_texts(struct sonde__report_copy *copy, const struct sonde__message *message,
                       void *object)
{
    for (uint32_t i = 0; i < message->field_count; i++) {
        if (message->fields[i].kind == SONDE__FIELD_STRING) {
            uint32_t *id = (uint32_t *)(void *)((char *)object + message->fields[i].offset);
            *id = copy_text(copy, *id);
        }
    }
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
    copy_texts(copy, sonde__parts[SONDE__PART_FRAMES].message, &frame);
    for (uint32_t i = 0; i < frame.inlined_count; i++) {
        inlined[i] = frame.inlined[i];
        inlined[i].name = copy_text(copy, inlined[i].name);
        inlined[i].file = copy_text(copy, inlined[i].file);
    }
    frame.inlined = inlined;
    copy->frames[id] = sonde__report_add_frame(copy->to, &frame);
    return copy->frames[id];
}

/* Of an awaiter, the new id is known: it is copied before what it awaits. */
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
        .awaiter = node->awaiter < id ? copy->nodes[node->awaiter] : 0,
        .task = copy_text(copy, node->task),
        .creator = copy_frame(copy, node->creator),
    };
    copy->nodes[id] = sonde__report_add_node_value(copy->to, &value);
    return copy->nodes[id];
}

static uint32_t copy_path(struct sonde__report_copy *copy, uint32_t id)
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

/* The innermost awaiter of a stack; 0: none. */
static uint32_t awaiter_of(const struct sonde__report *report, uint32_t id)
{
    uint32_t awaiter = 0;
    for (uint32_t i = 0; id != 0 && awaiter == 0 && i < SONDE__REPORT_DEPTH_MAX; i++) {
        awaiter = sonde__report_node(report, id)->awaiter;
        id = sonde__report_node(report, id)->parent;
    }
    return awaiter;
}

static uint32_t copy_stack(struct sonde__report_copy *copy, uint32_t id)
{
    enum { AWAITERS_MAX = 256 };
    uint32_t stacks[AWAITERS_MAX], count = 0, node = 0;
    if (id != 0 && id <= sonde__report_node_count(copy->from) && copy->nodes[id] != 0) {
        return copy->nodes[id];
    }
    for (; id != 0 && count < AWAITERS_MAX; id = awaiter_of(copy->from, id)) {
        stacks[count++] = id;
    }
    while (count > 0) {
        node = copy_path(copy, stacks[--count]);
    }
    return node;
}

/* Find the process in the new report by pid and executable, or add it. */
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
    process.boot = process.program = 0; /* of a live file only */
    return sonde__report_add_process(copy->to, &process);
}

/* Copy the arrays of a stall or a call, and their texts. Other ids in the elements still refer to
 * the old report. */
static bool copy_arrays(struct sonde__report_copy *copy, const struct sonde__message *message,
                        void *object)
{
    for (uint32_t i = 0; i < message->field_count; i++) {
        const struct sonde__field *field = &message->fields[i];
        if (field->kind != SONDE__FIELD_MESSAGES) {
            continue;
        }
        const size_t size = sonde__field_element_bytes(field);
        const uint32_t count = *sonde__field_count(field, object);
        void **elements = sonde__field_elements(field, object);
        char *array = sonde__mem_alloc_array((size_t)count + 1, size);
        if (array == NULL) {
            return false;
        }
        copy->arrays[i] = array;
        for (uint32_t k = 0; k < count; k++) {
            memcpy(array + k * size, (const char *)*elements + k * size, size);
            copy_texts(copy, field->elements, array + k * size);
        }
        *elements = array;
    }
    return true;
}

/* Find the phase in the new report, or add it. */
static uint32_t copy_phase(struct sonde__report_copy *copy, uint32_t id)
{
    if (id == 0 || id > sonde__report_phase_count(copy->from)) {
        return 0;
    }
    struct sonde__report_named_phase phase = *sonde__report_phase(copy->from, id);
    phase.name = copy_text(copy, phase.name);
    phase.process = copy_process(copy, phase.process);
    return sonde__report_find_phase(copy->to, &phase);
}

/* All but its texts. */
static void copy_thread_ids(struct sonde__report_copy *copy, struct sonde__report_thread *thread)
{
    thread->stack = copy_stack(copy, thread->stack);
    thread->script_stack = copy_stack(copy, thread->script_stack);
    thread->process = copy_process(copy, thread->process);
}

bool sonde__report_copy_stall(struct sonde__report_copy *copy, uint32_t index,
                              struct sonde__report_stall *ret_stall)
{
    struct sonde__report_stall stall = *sonde__report_stall(copy->from, index);
    drop_arrays(copy);
    const struct sonde__message *message = sonde__parts[SONDE__PART_STALLS].message;
    if (!copy_arrays(copy, message, &stall)) {
        return false;
    }
    copy_texts(copy, message, &stall);
    struct sonde__report_sample *samples = (struct sonde__report_sample *)stall.samples; /* ours */
    for (uint32_t i = 0; i < stall.sample_count; i++) {
        samples[i].stack = copy_stack(copy, samples[i].stack);
        samples[i].script_stack = copy_stack(copy, samples[i].script_stack);
    }
    struct sonde__report_thread *threads = (struct sonde__report_thread *)stall.threads;
    for (uint32_t i = 0; i < stall.thread_count; i++) {
        copy_thread_ids(copy, &threads[i]);
    }
    struct sonde__report_wait *waits = (struct sonde__report_wait *)stall.waits;
    for (uint32_t i = 0; i < stall.wait_count; i++) {
        waits[i].process = copy_process(copy, waits[i].process);
        waits[i].owner_process = copy_process(copy, waits[i].owner_process);
    }
    stall.process = copy_process(copy, stall.process);
    stall.phase = copy_phase(copy, stall.phase);
    stall.doubts = 0;
    *ret_stall = stall;
    return true;
}

bool sonde__report_copy_call(struct sonde__report_copy *copy, uint32_t index,
                             struct sonde__report_call *ret_call)
{
    struct sonde__report_call call = *sonde__report_call(copy->from, index);
    const struct sonde__message *message = sonde__parts[SONDE__PART_CALLS].message;
    drop_arrays(copy);
    if (!copy_arrays(copy, message, &call)) {
        return false;
    }
    copy_texts(copy, message, &call);
    call.stack = copy_stack(copy, call.stack);
    call.phase = copy_phase(copy, call.phase);
    *ret_call = call;
    return true;
}

void sonde__report_copy_thread(struct sonde__report_copy *copy, uint32_t index,
                               struct sonde__report_thread *ret_thread)
{
    *ret_thread = *sonde__report_thread(copy->from, index);
    copy_texts(copy, sonde__parts[SONDE__PART_THREADS].message, ret_thread);
    copy_thread_ids(copy, ret_thread);
}
