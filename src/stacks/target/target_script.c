// SPDX-License-Identifier: Apache-2.0
#include "target_script.h"

#include <string.h>

#include "base_bytes.h"
#include "host_process.h"
#include "mem_heap.h"
#include "os.h"
#include "target_private.h"

/* Pause after a search that found a runtime not ready, as a multiple of its time. */
#define PAUSE_FACTOR 50u

enum { SAMPLED_FRAMES = 512 };

void sonde__target_scripts_done(struct sonde__target_scripts *scripts)
{
    sonde__runtime_close(scripts->runtime);
    sonde__mem_free(scripts->frames);
    sonde__mem_free(scripts->fps);
    scripts->runtime = NULL;
    scripts->frames = NULL;
    scripts->fps = NULL;
}

const struct sonde__target_script *sonde__target_script(const struct sonde__target *target)
{
    return &target->scripts.last;
}

/* --- the runtime --- */

static void read_pieces(void *ctx, struct sonde__runtime_piece *pieces, uint32_t count)
{
    enum { BATCH = 128 };
    struct sonde__target *target = ctx;
    struct sonde__os_part parts[BATCH];
    for (uint32_t done = 0; done < count;) {
        uint32_t n = count - done < BATCH ? count - done : BATCH;
        for (uint32_t i = 0; i < n; i++) {
            const struct sonde__runtime_piece *piece = &pieces[done + i];
            parts[i] = (struct sonde__os_part){piece->address, piece->bytes, piece->size, 0};
        }
        sonde__os_read_process_parts(target->pid, parts, n);
        for (uint32_t i = 0; i < n; i++) {
            pieces[done + i].got = (uint32_t)parts[i].got;
        }
        done += n;
    }
}

static void read_one_by_one(void *ctx, struct sonde__runtime_piece *pieces, uint32_t count)
{
    struct sonde__target *target = ctx;
    for (uint32_t i = 0; i < count; i++) {
        pieces[i].got =
            (uint32_t)target->ops->read(target, pieces[i].address, pieces[i].bytes, pieces[i].size);
    }
}

static bool is_its_build(const struct sonde__target_scripts *s, const struct sonde__image *image)
{
    return s->has_image && image->build_id.size == s->build_id.size &&
           memcmp(image->build_id.bytes, s->build_id.bytes, s->build_id.size) == 0;
}

static bool is_its_image(const struct sonde__target_scripts *s, const struct sonde__image *image)
{
    return image->bias == s->bias && is_its_build(s, image);
}

/* Or another mapping of it? V8 may run a copy of its own code. */
static bool is_its_copy(const struct sonde__target_scripts *s, const struct sonde__image *image)
{
    return s->build_id.size != 0 ? is_its_build(s, image) : is_its_image(s, image);
}

static bool is_still_there(const struct sonde__target *target)
{
    for (uint32_t i = 0; i < target->images.image_count; i++) {
        if (is_its_image(&target->scripts, &target->images.images[i])) {
            return target->scripts.runtime != NULL;
        }
    }
    return false;
}

bool sonde__target_is_interpreter(const struct sonde__target *target,
                                  const struct sonde__image *image)
{
    return is_its_image(&target->scripts, image) && sonde__runtime_is_python_path(image->path);
}

bool sonde__target_is_node(const struct sonde__target *target, const struct sonde__image *image)
{
    return is_its_copy(&target->scripts, image) &&
           (target->scripts.is_packed || sonde__runtime_is_node_path(image->path));
}

static bool is_not_packed(void *ctx, const char *owner, uint32_t type, const uint8_t *data,
                          size_t size)
{
    bool *ret_is_packed = ctx;
    (void)type;
    (void)data;
    (void)size;
    *ret_is_packed |= strcmp(owner, "NODE_SEA_BLOB") == 0;
    return !*ret_is_packed;
}

static enum sonde_status open_runtime(struct sonde__target *target, uint32_t index)
{
    struct sonde__target_scripts *s = &target->scripts;
    const struct sonde__image *image = &target->images.images[index];
    const struct sonde__runtime_memory memory = {target->is_live ? read_pieces : read_one_by_one,
                                                 target};
    struct sonde_error error = {0};
    enum sonde_status status = sonde__runtime_open(&target->images.loaded[index].elf, image->bias,
                                                   &memory, &s->runtime, &error);
    if (status == SONDE_OK) {
        s->build_id = image->build_id;
        s->bias = image->bias;
        s->has_image = true;
        s->other_numbers = target->is_live && sonde__host_inner_pid(target->pid) != target->pid;
        s->unread = (struct sonde_error){0};
        s->is_packed = false;
        sonde__elf_each_note(&target->images.loaded[index].elf, is_not_packed, &s->is_packed);
    } else if (status != SONDE_ABSENT) {
        s->runtime = NULL;
        s->unread = error;
        s->is_unknown = status == SONDE_UNSUPPORTED;
    }
    return status;
}

static void search(struct sonde__target *target)
{
    struct sonde__target_scripts *s = &target->scripts;
    uint64_t begin_ns = sonde__os_now_ns();
    bool not_ready = false;
    if (is_still_there(target)) {
        s->generation = target->images.set.generation;
        return;
    }
    sonde__runtime_close(s->runtime);
    s->runtime = NULL;
    s->has_image = false;
    s->unread = (struct sonde_error){0};
    s->is_unknown = false;
    for (uint32_t i = 0; i < target->images.image_count && s->runtime == NULL; i++) {
        bool is_vdso = (target->images.images[i].flags & SONDE__IMAGE_VDSO) != 0;
        if (!is_vdso && target->images.loaded[i].readable) {
            not_ready |= open_runtime(target, i) == SONDE_CORRUPT;
        }
    }
    s->generation = target->images.set.generation;
    if (s->runtime == NULL && not_ready) { /* the runtime may have just started */
        s->generation = 0;
        s->next_ns = begin_ns + PAUSE_FACTOR * (sonde__os_now_ns() - begin_ns);
    }
}

static struct sonde__runtime *runtime_of(struct sonde__target *target)
{
    struct sonde__target_scripts *s = &target->scripts;
    if (s->generation != target->images.set.generation && sonde__os_now_ns() >= s->next_ns) {
        search(target);
    }
    return s->runtime;
}

const char *sonde__target_runtime(struct sonde__target *target, const char **ret_why)
{
    struct sonde__runtime *runtime = runtime_of(target);
    *ret_why = runtime == NULL ? target->scripts.unread.what : "";
    return runtime != NULL ? sonde__runtime_name(runtime) : "";
}

/* --- a thread --- */

bool sonde__target_has_script(struct sonde__target *target)
{
    return target->scripts.wanted && runtime_of(target) != NULL;
}

void sonde__target_want_tasks(struct sonde__target *target, bool wanted)
{
    target->scripts.wants_tasks = wanted;
}

uint64_t *sonde__target_script_fps(struct sonde__target *target, uint32_t capacity)
{
    struct sonde__target_scripts *s = &target->scripts;
    if (!sonde__target_has_script(target) || !sonde__runtime_is_by_stack(s->runtime)) {
        return NULL;
    }
    if (s->fp_capacity < capacity) {
        sonde__mem_free(s->fps);
        s->fps = sonde__mem_alloc_array(capacity, sizeof *s->fps);
        s->fp_capacity = s->fps != NULL ? capacity : 0;
    }
    return s->fps;
}

bool sonde__target_keeps_record(void *scripts, const struct sonde__image *image, uint64_t pc)
{
    const struct sonde__target_scripts *s = scripts;
    (void)pc;
    return s->runtime != NULL && sonde__runtime_is_by_stack(s->runtime) &&
           (image == NULL || is_its_copy(s, image));
}

static void read_by_stack(struct sonde__target_scripts *s, uint64_t tid,
                          const struct sonde_stack *stack)
{
    const struct sonde__runtime_native native = {.stack = stack, .fps = s->fps};
    if (stack == NULL) {
        s->last.script = (struct sonde__script){
            .state = SONDE__SCRIPT_TORN,
            .language = "JavaScript",
            .why = "it ran before they were read",
        };
    } else if (s->fps != NULL && stack->count <= s->fp_capacity) {
        sonde__runtime_read_stack(s->runtime, tid, &native, &s->last.script);
    }
}

/* The calls that are linked by frame pointers, from the innermost one. */
static void walk_pointers(const struct sonde__runtime_moment *moment, struct sonde_stack *stack,
                          uint64_t *fps)
{
    unsigned fp_number = sonde__arch_fp(moment->regs->arch);
    uint64_t fp = sonde__regs_known(moment->regs, fp_number) ? moment->regs->r[fp_number] : 0;
    uint64_t pc = moment->regs->pc, above = moment->address;
    stack->count = 0;
    while (stack->count < stack->capacity) {
        uint64_t at = fp - moment->address;
        uint32_t i = stack->count++;
        stack->pcs[i] = pc;
        stack->how[i] = i == 0 ? SONDE_HOW_EXACT : SONDE_FOUND_FP;
        fps[i] = fp;
        if (fp % 8 != 0 || fp < above || at > moment->size || moment->size - at < 16) {
            break;
        }
        above = fp + 16;
        pc = sonde__arch_strip_pac(moment->regs->arch, sonde__base_le64(moment->stack + at + 8));
        fp = sonde__base_le64(moment->stack + at);
    }
    stack->lost_at = stack->count;
}

/* Python has the thread ids of the target's pid namespace. native: null: it is not known */
static void read_by_thread(struct sonde__target *target, uint64_t tid,
                           const struct sonde__runtime_native *native)
{
    struct sonde__target_scripts *s = &target->scripts;
    uint64_t inner = s->other_numbers ? sonde__host_inner_tid(target->pid, tid) : tid;
    if (inner == 0) {
        return;
    }
    sonde__runtime_read(s->runtime, inner, &s->last.script);
    if (native != NULL) {
        sonde__runtime_read_by_place(s->runtime, inner, native, &s->last.script);
    }
}

void sonde__target_read_sampled(struct sonde__target *target, uint64_t tid,
                                const struct sonde__runtime_moment *moment)
{
    struct sonde__target_scripts *s = &target->scripts;
    uint64_t pcs[SAMPLED_FRAMES], fps[SAMPLED_FRAMES];
    uint8_t how[SAMPLED_FRAMES];
    struct sonde_stack stack;
    if (!sonde__target_has_script(target)) {
        sonde__target_read_script(target, tid, NULL);
        return;
    }
    if (!sonde__runtime_is_by_stack(s->runtime)) {
        const struct sonde__runtime_native native = {.sp = moment->address,
                                                     .outer_sp = moment->address + moment->size};
        read_by_thread(target, tid, &native);
        return;
    }
    sonde_stack_init(&stack, pcs, how, SAMPLED_FRAMES, 0);
    walk_pointers(moment, &stack, fps);
    const struct sonde__runtime_native native = {
        .stack = &stack, .fps = fps, .sp = moment->address};
    sonde__runtime_read_stack(s->runtime, tid, &native, &s->last.script);
}

void sonde__target_read_script(struct sonde__target *target, uint64_t tid,
                               const struct sonde_stack *stack)
{
    struct sonde__target_scripts *s = &target->scripts;
    const struct sonde__runtime_native native = {
        .stack = stack, .sp = s->inner_sp, .outer_sp = s->outer_sp};
    if (!sonde__target_has_script(target)) {
        s->last.script.why = s->wanted && s->is_unknown ? s->unread.what : NULL;
    } else if (sonde__runtime_is_by_stack(s->runtime)) {
        read_by_stack(s, tid, stack);
    } else {
        read_by_thread(target, tid, stack != NULL ? &native : NULL);
    }
}

void sonde__target_read_resting(struct sonde__target *target, uint64_t tid,
                                const struct sonde_stack *stack)
{
    struct sonde__target_scripts *s = &target->scripts;
    sonde__target_read_script(target, tid, stack);
    if (s->wants_tasks && s->runtime != NULL && !sonde__runtime_is_by_stack(s->runtime)) {
        sonde__runtime_read_loop(s->runtime, &s->last.script);
    }
}

void sonde__target_tear_script(struct sonde__target *target)
{
    struct sonde__script *script = &target->scripts.last.script;
    if (script->state != SONDE__SCRIPT_NONE && script->state != SONDE__SCRIPT_TORN) {
        script->state = SONDE__SCRIPT_TORN;
        script->why = "it ran while it was read";
        script->count = script->run_count = script->waiting_count = script->parked_count = 0;
        script->lost_count = 0;
    }
}

/* A sampled thread had no functions at its frame pointers. It may have been in native code, which
 * has none: are there functions further out on its stack? It may run by now, so only that is asked.
 */
static void doubt_none(struct sonde__target_scripts *s, const struct sonde_stack *stack)
{
    const struct sonde__runtime_native native = {.stack = stack, .fps = s->fps};
    struct sonde__script seen;
    if (s->runtime != NULL && !sonde__runtime_is_by_stack(s->runtime)) {
        sonde__runtime_doubt_none(s->runtime, stack, &s->last.script);
        return;
    }
    if (s->runtime == NULL || s->fps == NULL || stack->count > s->fp_capacity) {
        return;
    }
    sonde__runtime_read_stack(s->runtime, 0, &native, &seen);
    if (seen.state != SONDE__SCRIPT_NONE) {
        s->last.script.state = SONDE__SCRIPT_TORN;
        s->last.script.language = seen.language;
        s->last.script.why = "it ran native code when it was sampled";
    }
}

bool sonde__target_script_agrees(const struct sonde__target *target,
                                 const struct sonde__runtime_moment *moment)
{
    const struct sonde__target_scripts *s = &target->scripts;
    return s->last.script.state != SONDE__SCRIPT_READ || sonde__runtime_agrees(s->runtime, moment);
}

void sonde__target_join_script(struct sonde__target *target,
                               const struct sonde__runtime_moment *moment,
                               struct sonde_stack *stack)
{
    struct sonde__target_scripts *s = &target->scripts;
    struct sonde__target_script *last = &s->last;
    if (moment != NULL && last->script.state == SONDE__SCRIPT_NONE) {
        doubt_none(s, stack);
    }
    if (last->script.state != SONDE__SCRIPT_READ) {
        return;
    }
    if (s->frames == NULL &&
        (s->frames = sonde__mem_alloc_array(SONDE__SCRIPT_FRAMES_MAX, sizeof *s->frames)) == NULL) {
        last->script.state = SONDE__SCRIPT_NONE;
        return;
    }
    memcpy(s->frames, last->script.frames, last->script.count * sizeof *s->frames);
    last->script.frames = s->frames;
    if (moment != NULL && !sonde__target_script_agrees(target, moment)) {
        last->apart = "read later";
        return;
    }
    const struct sonde__runtime_native native = {.stack = stack, .fps = s->fps};
    if (moment != NULL && sonde__runtime_is_by_stack(s->runtime) &&
        (s->fps == NULL || !sonde__runtime_place(s->runtime, last->script.run_count, &native))) {
        last->apart = "read later";
        return;
    }
    last->joined = sonde__runtime_join(s->runtime, stack, &last->script, s->frames, &last->apart);
}
