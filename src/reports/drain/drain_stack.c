// SPDX-License-Identifier: Apache-2.0
/* Converts stacks to a report's records, with two caches. The first maps the index in the current
 * snapshot to the report's id of an image; it is filled on first use and dropped when the snapshot
 * changes. The second maps (image id, offset, how) to the report's frame, and outlives snapshots
 * because image ids do. If it cannot grow, frames are looked up again, with the same result. */
#include "drain_stack.h"

#include <stdio.h>
#include <string.h>

#include "arch_shape.h"
#include "base_text.h"
#include "drain_jit.h"
#include "drain_names.h"
#include "drain_script.h"
#include "drain_tail.h"
#include "host_device.h"
#include "image_app.h"
#include "mem_heap.h"

enum { FRAMES_FIRST = 1024 }; /* initial slots of the frame cache; a power of two */

struct drain_image {
    bool seen;
    uint32_t id; /* in the report; 0: no memory */
};

struct drain_frame {
    uint64_t offset;
    uint32_t image;
    uint32_t how;
    uint32_t id; /* in the report; 0: free slot */
};

/* Direct-mapped cache of the tail calls between two adjacent frames. */
enum { DRAIN_PAIRS = 1024, TAIL_CALLS_MAX = SONDE__TAIL_FRAMES_MAX };
struct drain_pair {
    uint32_t inner, outer; /* frame ids; 0: free */
    uint32_t count;
    uint32_t *calls; /* frame ids */
};

struct sonde__drain {
    struct sonde__report *report;
    struct sonde__target *target;
    struct sonde__symfile_cache *symbols;
    /* the snapshot that `images` belongs to */
    const struct sonde__image_set *set;
    uint64_t generation;
    struct drain_image *images;
    uint32_t image_count;
    struct drain_frame *frames;
    uint32_t frame_slots; /* a power of two, or 0 */
    uint32_t frame_count;
    uint32_t noted_image;        /* highest image id whose missing names were noted */
    struct sonde__answer answer; /* for one frame; too large for the stack */
    struct drain_tails tails;
    struct drain_jit jit;
    struct drain_script_notes script_notes;
    uint64_t interpreter; /* an address in it; 0: none */
    struct drain_pair pairs[DRAIN_PAIRS];
};

enum sonde_status sonde__drain_create(struct sonde__report *report, struct sonde__target *target,
                                      struct sonde__symfile_cache *symbols,
                                      struct sonde__drain **ret_drain)
{
    struct sonde__drain *drain = sonde__mem_alloc_zeroed(sizeof *drain);
    if (drain == NULL) {
        return SONDE_MEMORY;
    }
    drain->report = report;
    drain->target = target;
    drain->symbols = symbols;
    drain->tails.target = target;
    drain->tails.symbols = symbols;
    drain->jit.target = target;
    drain->jit.symbols = symbols;
    sonde__jit_init(&drain->jit.names);
    *ret_drain = drain;
    return SONDE_OK;
}

void sonde__drain_interpreter(struct sonde__drain *drain, uint64_t code)
{
    drain->interpreter = code;
}

void sonde__drain_limit_code(struct sonde__drain *drain, uint64_t bytes)
{
    drain->tails.code_bytes_max = bytes;
}

void sonde__drain_destroy(struct sonde__drain *drain)
{
    if (drain != NULL) {
        drain_tails_done(&drain->tails);
        drain_jit_done(&drain->jit);
        for (unsigned i = 0; i < DRAIN_PAIRS; i++) {
            sonde__mem_free(drain->pairs[i].calls);
        }
        sonde__mem_free(drain->images);
        sonde__mem_free(drain->frames);
        sonde__mem_free(drain);
    }
}

/* --- images --- */

/* Ids only grow, and an image keeps its id across snapshots, so each image is noted at most
 * once. */
static void note_missing_names(struct sonde__drain *drain, const struct sonde__image *image,
                               uint32_t id, enum sonde_status status,
                               const struct sonde_error *error)
{
    char buffer[512];
    struct sonde__text note;
    if (id <= drain->noted_image) {
        return;
    }
    drain->noted_image = id;
    sonde__base_text_init(&note, buffer, sizeof buffer);
    sonde__base_text_str(&note, "no names for ");
    sonde__base_text_str(&note, image->path[0] != '\0' ? image->path : "an image without a path");
    sonde__base_text_str(&note, ": ");
    sonde__base_text_str(&note, error->what[0] != '\0' ? error->what : sonde_status_text(status));
    sonde__report_add_note(drain->report, buffer);
}

/* Open the image's symbol file. If there is no file, use its bytes in the target's memory. */
static void open_names(struct sonde__drain *drain, const struct sonde__image *image, uint32_t id)
{
    const struct sonde__symbol_index *index;
    struct sonde_error error = {SONDE_OK, 0, 0, ""};
    const void *bytes = NULL;
    size_t size = 0;
    enum sonde_status status;
    bool no_file = (image->flags & (SONDE__IMAGE_VDSO | SONDE__IMAGE_DELETED)) != 0;
    if (drain->symbols == NULL) {
        return;
    }
    if (no_file && drain->target != NULL &&
        !sonde__target_image_bytes(drain->target, image, &bytes, &size)) {
        bytes = NULL;
        size = 0;
    }
    status = sonde__symfile_index(drain->symbols, image, bytes, size, &index, &error);
    if (status != SONDE_OK && bytes == NULL && drain->target != NULL &&
        sonde__target_image_bytes(drain->target, image, &bytes, &size)) {
        status = sonde__symfile_index(drain->symbols, image, bytes, size, &index, NULL);
    }
    if (status != SONDE_OK) {
        note_missing_names(drain, image, id, status, &error);
    }
}

/* For an image without a build-id: a hash of the first page of its code, as crash reporters use. */
static uint64_t code_id_of_image(struct sonde__drain *drain, const struct sonde__image *image)
{
    enum { PAGE = 4096 };
    const struct sonde__elf *elf;
    const uint8_t *code;
    uint64_t start, end, left = 0;
    if (image->build_id.size != 0 || drain->symbols == NULL ||
        sonde__symfile_elf(drain->symbols, image, NULL, 0, &elf, NULL) != SONDE_OK ||
        !sonde__elf_text_range(elf, &start, &end)) {
        return 0;
    }
    code = sonde__elf_from_vaddr(elf, start, &left);
    return code != NULL ? sonde__arch_shape_of_bytes(code, left < PAGE ? (size_t)left : PAGE) : 0;
}

/* Cores are those of Linux, on every system. */
static uint32_t platform_of(const struct sonde__target *target)
{
    return target != NULL && !sonde__target_is_live(target) ? (uint32_t)SONDE__REPORT_PLATFORM_LINUX
                                                            : sonde__host_platform();
}

static uint32_t add_image(struct sonde__drain *drain, const struct sonde__image *image)
{
    const char *path =
        drain->target != NULL ? sonde__target_inner_path(drain->target, image->path) : image->path;
    uint32_t whose = sonde__image_is_app(path, image->flags) ? SONDE__REPORT_IMAGE_APP
                                                             : SONDE__REPORT_IMAGE_SYSTEM;
    bool is_noted = drain->interpreter >= image->start && drain->interpreter < image->end;
    bool is_interpreter = drain->target != NULL
                              ? sonde__target_is_interpreter(drain->target, image)
                              : is_noted && sonde__runtime_is_python_path(image->path);
    bool is_node = drain->target != NULL ? sonde__target_is_node(drain->target, image)
                                         : is_noted && sonde__runtime_is_node_path(image->path);
    if (is_interpreter) {
        whose = SONDE__REPORT_IMAGE_SYSTEM | SONDE__REPORT_IMAGE_INTERPRETER;
    } else if (is_node) {
        whose = SONDE__REPORT_IMAGE_SYSTEM;
    }
    struct sonde__report_image record = {
        .path = sonde__report_string(drain->report, image->path),
        .build_id = image->build_id,
        .flags = image->flags | whose,
        .arch = image->arch,
        .platform = platform_of(drain->target),
        .code_id = code_id_of_image(drain, image),
        .start = image->start,
        .bias = image->bias,
    };
    return sonde__report_add_image(drain->report, &record);
}

/* Every report has the main program, even if no stack leads through it: its build-id identifies the
 * build. */
static void add_main_image(struct sonde__drain *drain, const struct sonde__image_set *set)
{
    for (uint32_t i = 0; i < set->image_count; i++) {
        if ((set->images[i].flags & SONDE__IMAGE_MAIN) != 0) {
            (void)add_image(drain, &set->images[i]);
            return;
        }
    }
}

/* Switch `images` to a snapshot. False: no memory. */
static bool follow_snapshot(struct sonde__drain *drain, const struct sonde__image_set *set)
{
    struct drain_image *images;
    if (drain->set == set && drain->generation == set->generation &&
        drain->image_count == set->image_count) {
        return true;
    }
    images = sonde__mem_resize_array(drain->images, (size_t)set->image_count + 1, sizeof *images);
    if (images == NULL) {
        return false;
    }
    memset(images, 0, set->image_count * sizeof *images);
    drain->images = images;
    drain->image_count = set->image_count;
    drain->set = set;
    drain->generation = set->generation;
    add_main_image(drain, set);
    return true;
}

void sonde__drain_program(struct sonde__drain *drain, const struct sonde__image_set *images)
{
    (void)follow_snapshot(drain, images);
}

static const struct drain_image *image_entry(struct sonde__drain *drain, uint32_t index)
{
    struct drain_image *entry = &drain->images[index];
    if (!entry->seen) {
        entry->id = add_image(drain, &drain->set->images[index]);
        open_names(drain, &drain->set->images[index], entry->id);
        entry->seen = true;
    }
    return entry;
}

/* --- frames --- */

static uint32_t slot_of(const struct drain_frame *frame, uint32_t slots)
{
    /* multiplying by an odd constant of random bits spreads the low bits into the high half */
    uint64_t h = frame->offset ^ (uint64_t)frame->image << 40 ^ (uint64_t)frame->how << 56;
    h *= 0x9e3779b97f4a7c15u;
    h ^= h >> 32;
    return (uint32_t)h & (slots - 1);
}

static struct drain_frame *find_slot(struct drain_frame *frames, uint32_t slots,
                                     const struct drain_frame *key)
{
    uint32_t at = slot_of(key, slots);
    while (frames[at].id != 0 && (frames[at].offset != key->offset ||
                                  frames[at].image != key->image || frames[at].how != key->how)) {
        at = (at + 1) & (slots - 1);
    }
    return &frames[at];
}

/* Keep the table at most half full. False: full, and it cannot grow. */
static bool make_room(struct sonde__drain *drain)
{
    uint32_t slots = drain->frame_slots != 0 ? drain->frame_slots * 2 : FRAMES_FIRST;
    struct drain_frame *frames;
    if (drain->frame_count < drain->frame_slots / 2) {
        return true;
    }
    if (slots < drain->frame_slots) {
        return false;
    }
    frames = sonde__mem_alloc_array(slots, sizeof *frames);
    if (frames == NULL) {
        return false;
    }
    memset(frames, 0, slots * sizeof *frames);
    for (uint32_t i = 0; i < drain->frame_slots; i++) {
        if (drain->frames[i].id != 0) {
            *find_slot(frames, slots, &drain->frames[i]) = drain->frames[i];
        }
    }
    sonde__mem_free(drain->frames);
    drain->frames = frames;
    drain->frame_slots = slots;
    return true;
}

/* An id of JIT code that is stable across runs: a hash of its name, or of its instructions. */
static uint64_t code_id_of(const struct sonde__drain *drain, uint64_t pc,
                           const struct sonde__jit_code *code)
{
    enum { PAGE = 4096 };
    uint8_t bytes[SONDE__SHAPE_BEFORE + SONDE__SHAPE_BYTES];
    size_t before, size;
    if (code != NULL) {
        return sonde__arch_shape_of_bytes(code->name, strlen(code->name));
    }
    if (drain->target == NULL || drain->set->image_count == 0) {
        return 0;
    }
    before = SONDE__SHAPE_BEFORE;
    if (sonde__target_read(drain->target, pc - before, bytes, before) != before) {
        before = pc % PAGE < before ? pc % PAGE : 0; /* the code may start on this page */
        if (sonde__target_read(drain->target, pc - before, bytes, before) != before) {
            return 0;
        }
    }
    size = sonde__target_read(drain->target, pc, bytes + before, SONDE__SHAPE_BYTES);
    return sonde__arch_shape(drain->set->images[0].arch, bytes, before, before + size);
}

/* Add a frame in no image. It is not cached, because the address may have other code next time. */
static uint32_t add_jit_frame(struct sonde__drain *drain, uint64_t lookup,
                              struct sonde__report_frame *record)
{
    struct sonde__jit_code code;
    if (drain_jit_find(&drain->jit, drain->report, lookup, &code)) {
        drain_set_function(drain->report,
                           &(struct sonde__function){code.name, code.start, true, SONDE__NAME_JIT},
                           record);
        record->code_id = code_id_of(drain, record->offset, &code);
    } else {
        record->code_id = code_id_of(drain, record->offset, NULL);
    }
    return sonde__report_add_frame(drain->report, record);
}

static uint32_t add_frame(struct sonde__drain *drain, const struct sonde_stack *stack, uint32_t i)
{
    uint64_t lookup = sonde_stack_lookup_pc(stack, i);
    const struct sonde__image_range *range = sonde__image_range_find(drain->set, lookup);
    struct sonde__report_frame record = {.offset = stack->pcs[i],
                                         .how = stack->how[i] & (SONDE__HOW_RUNS_SCRIPT - 1)};
    struct sonde__report_inlined inlined[SONDE__CALLS_MAX];
    struct drain_frame key;
    struct drain_frame *slot = NULL;
    uint64_t bias = 0;
    if (range != NULL && range->image < drain->image_count) {
        const struct drain_image *entry = image_entry(drain, range->image);
        if (entry->id == 0) {
            return 0;
        }
        bias = drain->set->images[range->image].bias;
        record.image = entry->id;
        record.offset = stack->pcs[i] - bias;
    } else {
        return add_jit_frame(drain, lookup, &record);
    }
    key = (struct drain_frame){.offset = record.offset, .image = record.image, .how = record.how};
    if (make_room(drain)) {
        slot = find_slot(drain->frames, drain->frame_slots, &key);
        if (slot->id != 0) {
            return slot->id;
        }
    }
    drain_name_frame(drain->report, drain->symbols, &drain->set->images[range->image],
                     lookup - bias, &drain->answer, &record, inlined);
    key.id = sonde__report_add_frame(drain->report, &record);
    if (slot != NULL && key.id != 0) {
        *slot = key;
        drain->frame_count++;
    }
    return key.id;
}

/* --- tail calls --- */

/* Add a frame that left by a tail call. The address is in its jump, or is its entry. */
static uint32_t add_tail_call(struct sonde__drain *drain, uint32_t image, uint64_t place)
{
    const struct drain_image *entry = image_entry(drain, image);
    struct sonde__report_frame record = {.image = entry->id,
                                         .offset = place,
                                         .how = SONDE_FOUND_INFERRED | SONDE_HOW_EXACT,
                                         .kind = SONDE__REPORT_FRAME_TAIL_CALL};
    struct sonde__report_inlined inlined[SONDE__CALLS_MAX];
    if (entry->id == 0) {
        return 0;
    }
    drain_name_frame(drain->report, drain->symbols, &drain->set->images[image], place,
                     &drain->answer, &record, inlined);
    return sonde__report_add_frame(drain->report, &record);
}

static void find_tail_calls(struct sonde__drain *drain, const struct sonde_stack *stack,
                            uint32_t inner, struct drain_pair *pair)
{
    const struct sonde__tail_frames *found = &drain->answer.tails;
    uint32_t ids[TAIL_CALLS_MAX + 1], count = 0;
    if (!drain_tails_find(&drain->tails, drain->set, stack, inner, &drain->answer.tails)) {
        return;
    }
    if (found->ways != 0) {
        struct sonde__report_frame several = {.kind = SONDE__REPORT_FRAME_TAIL_CALL,
                                              .alternatives = found->ways};
        ids[count++] = sonde__report_add_frame(drain->report, &several);
    }
    for (uint32_t i = 0; i < found->count && !found->is_possible; i++) {
        ids[count++] = add_tail_call(drain, found->places[i].image, found->places[i].vaddr);
    }
    for (uint32_t i = 0; i < count; i++) {
        if (ids[i] == 0) {
            return; /* a partial list would be wrong */
        }
    }
    pair->calls = sonde__mem_alloc_array(count, sizeof *pair->calls);
    if (pair->calls != NULL) {
        memcpy(pair->calls, ids, count * sizeof *ids);
        pair->count = count;
    }
}

/* Add frame `inner` under the node of its caller, with the tail calls between them. */
static uint32_t add_node(struct sonde__drain *drain, const struct sonde_stack *stack,
                         uint32_t inner, uint32_t parent, uint32_t frame, uint32_t outer_frame)
{
    struct drain_pair *pair =
        &drain->pairs[(frame * 0x9e3779b1u ^ outer_frame * 0x85ebca6bu) >> 8 & (DRAIN_PAIRS - 1)];
    if (frame == 0 || outer_frame == 0) {
        return frame != 0 ? sonde__report_add_node(drain->report, parent, frame) : 0;
    }
    if (pair->inner != frame || pair->outer != outer_frame) {
        sonde__mem_free(pair->calls);
        *pair = (struct drain_pair){.inner = frame, .outer = outer_frame};
        find_tail_calls(drain, stack, inner, pair);
    }
    return sonde__report_add_node_after(drain->report, parent, frame, pair->calls, pair->count);
}

/* --- stacks --- */

/* Count the native frames that run script frames. */
static uint32_t count_runs(const struct sonde_stack *stack)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < stack->count; i++) {
        count += (stack->how[i] & SONDE__HOW_RUNS_SCRIPT) != 0;
    }
    return count;
}

/* script: the script frames that marked frames run; or null */
static uint32_t add_stack(struct sonde__drain *drain, const struct sonde__image_set *images,
                          const struct sonde_stack *stack, const struct sonde__script *script)
{
    uint32_t node = 0, outer = 0, run = script != NULL ? count_runs(stack) : 0;
    if (!follow_snapshot(drain, images)) {
        return 0;
    }
    for (uint32_t i = stack->count;; i--) {
        uint32_t frame;
        if (stack->lost_count != 0 && i == stack->lost_at) {
            struct sonde__report_frame gap = {.lost_count = stack->lost_count};
            frame = sonde__report_add_frame(drain->report, &gap);
            node = frame != 0 ? sonde__report_add_node(drain->report, node, frame) : 0;
            if (node == 0) {
                return 0;
            }
            outer = 0;
        }
        if (i == 0) {
            return node;
        }
        frame = add_frame(drain, stack, i - 1);
        node = add_node(drain, stack, i - 1, node, frame, outer);
        outer = frame;
        if (run > 0 && node != 0 && (stack->how[i - 1] & SONDE__HOW_RUNS_SCRIPT) != 0) {
            node = drain_script_run(drain->report, script, --run, node);
        }
        if (node == 0) {
            return 0; /* a partial stack would have a wrong root */
        }
    }
}

uint32_t sonde__drain_stack(struct sonde__drain *drain, const struct sonde__image_set *images,
                            const struct sonde_stack *stack)
{
    return add_stack(drain, images, stack, NULL);
}

uint32_t sonde__drain_scripted(struct sonde__drain *drain, const struct sonde__image_set *images,
                               const struct sonde_stack *stack, const struct sonde__script *script)
{
    return add_stack(drain, images, stack, script);
}

static uint32_t add_sample(struct sonde__drain *drain, const struct sonde__image_set *images,
                           const struct sonde__sample *sample, uint32_t *ret_script_stack)
{
    const struct sonde__target_script *script = &sample->script;
    drain_script_note(drain->report, &script->script, script->script.why, &drain->script_notes);
    *ret_script_stack = script->joined ? 0 : drain_script_all(drain->report, &script->script);
    if (*ret_script_stack != 0 && sample->capture.by != SONDE__CAPTURED_PERF) {
        drain_script_note(drain->report, &script->script, script->apart, &drain->script_notes);
    }
    return add_stack(drain, images, &sample->stack, script->joined ? &script->script : NULL);
}

uint32_t sonde__drain_sample(struct sonde__drain *drain, const struct sonde__image_set *images,
                             const struct sonde__sample *sample, uint32_t *ret_script_stack)
{
    const struct sonde__script *script = &sample->script.script;
    drain_script_note(drain->report, script, script->doubt, &drain->script_notes);
    return add_sample(drain, images, sample, ret_script_stack);
}

/* What is said of a thread: of its stack, of its script frames. */
static uint32_t note_of(struct sonde__drain *drain, const struct sonde__sample *sample)
{
    const char *note = sample->capture.note, *doubt = sample->script.script.doubt;
    char both[sizeof sample->capture.note + 192];
    if (doubt == NULL || *note == '\0') {
        note = doubt != NULL ? doubt : note;
    } else {
        snprintf(both, sizeof both, "%s; %s", note, doubt);
        note = both;
    }
    return *note != '\0' ? sonde__report_string(drain->report, note) : 0;
}

void sonde__drain_thread(struct sonde__drain *drain, const struct sonde__image_set *images,
                         const struct sonde__sample *sample,
                         struct sonde__report_thread *ret_thread)
{
    const struct sonde__thread *thread = &sample->thread;
    const struct sonde__capture *capture = &sample->capture;
    const struct sonde_stack *stack = &sample->stack;
    memset(ret_thread, 0, sizeof *ret_thread);
    ret_thread->tid = (int64_t)thread->tid;
    ret_thread->name = sonde__report_string(drain->report, thread->name);
    if (thread->queue[0] != '\0') {
        ret_thread->queue = sonde__report_string(drain->report, thread->queue);
    }
    ret_thread->qos = thread->qos;
    ret_thread->state = (uint8_t)thread->letter;
    ret_thread->main = thread->main;
    ret_thread->process = sonde__report_process_count(drain->report) != 0;
    ret_thread->end = SONDE_END_NOT_READ;
    ret_thread->captured_by = capture->by;
    ret_thread->syscall = capture->syscall >= 0 ? capture->syscall + 1 : 0;
    ret_thread->pause_ns = capture->pause_ns;
    if (capture->waits_for[0] != '\0') {
        ret_thread->detail = sonde__report_string(drain->report, capture->waits_for);
    }
    ret_thread->note = note_of(drain, sample);
    if (capture->by != SONDE__CAPTURED_NOT) {
        ret_thread->stack = add_sample(drain, images, sample, &ret_thread->script_stack);
        ret_thread->frame_count = stack->count;
        ret_thread->end = stack->end;
        ret_thread->end_at = stack->end_at;
    }
}

void sonde__drain_tasks(struct sonde__drain *drain, const struct sonde__sample *sample,
                        const struct sonde__report_thread *thread)
{
    drain_script_tasks(drain->report, &sample->script.script, thread);
}
