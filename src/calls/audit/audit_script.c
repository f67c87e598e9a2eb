// SPDX-License-Identifier: Apache-2.0
#include "audit_script.h"

#include <stdio.h>
#include <string.h>

#include "base_bytes.h"
#include "mem_heap.h"

/* --- the copies as memory --- */

/* Copy what the piece of `size` bytes at `from` has of the wanted one. */
static void take(struct sonde__runtime_piece *wanted, uint64_t address, const void *from,
                 uint64_t size)
{
    uint64_t skip = wanted->address - address;
    if (wanted->got == 0 && wanted->address >= address && skip < size) {
        wanted->got = wanted->size < size - skip ? wanted->size : (uint32_t)(size - skip);
        memcpy(wanted->bytes, (const char *)from + skip, wanted->got);
    }
}

/* The program may change the page at any time: each head is loaded once. */
static void take_code(const struct sonde__audit_script *script, struct sonde__runtime_piece *wanted)
{
    uint32_t head = sizeof(struct sonde__script_piece), at = script->code.at;
    uint32_t end = at + script->code.size;
    while (end - at >= head) {
        uint64_t address = sonde__base_le64(script->page->bytes + at);
        uint64_t size = sonde__base_le64(script->page->bytes + at + 8);
        at += head;
        if (size > end - at) {
            return;
        }
        take(wanted, address, script->page->bytes + at, size);
        uint32_t step = (uint32_t)((size + 7) / 8 * 8);
        at += step < end - at ? step : end - at;
    }
}

static void read_copies(void *ctx, struct sonde__runtime_piece *pieces, uint32_t count)
{
    const struct sonde__audit_script *script = ctx;
    for (uint32_t i = 0; i < count; i++) {
        pieces[i].got = 0;
        take(&pieces[i], script->page->runtime, script->page->offsets,
             sizeof script->page->offsets);
        take_code(script, &pieces[i]);
    }
}

/* --- the interpreter --- */

void sonde__audit_script_close(struct sonde__audit_script *script)
{
    sonde__runtime_close(script->runtime);
    sonde__mem_free(script->frames);
    sonde__mem_free(script->named);
    sonde__mem_free(script->texts);
    script->runtime = NULL;
    script->frames = NULL;
    script->named = NULL;
    script->texts = NULL;
}

/* The interpreter that the program has found; null: none, or it cannot be read. */
static struct sonde__runtime *runtime_of(struct sonde__audit_script *script)
{
    const struct sonde__script_page *page = script->page;
    const struct sonde__runtime_memory memory = {read_copies, script};
    if (atomic_load(&page->is_set) == SONDE__SCRIPT_JAVASCRIPT) {
        sonde__drain_interpreter(script->drain, page->runtime);
    }
    if (script->frames != NULL || atomic_load(&page->is_set) != SONDE__SCRIPT_PYTHON) {
        return script->runtime;
    }
    struct sonde__runtime_copied copied = {
        .version = page->version,
        .address = page->runtime,
        .code_type = page->code_type,
        .text_type = page->text_type,
        .bytes_type = page->bytes_type,
        .loop_count = page->loop_count,
    };
    memcpy(copied.loops, page->loops, sizeof copied.loops);
    script->frames = sonde__mem_alloc_array(PYTHON_OWN_FRAMES, sizeof *script->frames);
    if (script->frames == NULL ||
        sonde__runtime_open_copied(&copied, &memory, &script->runtime, NULL) != SONDE_OK) {
        script->runtime = NULL;
    } else {
        sonde__drain_interpreter(script->drain, copied.loops[0].start);
    }
    return script->runtime;
}

void sonde__audit_script_open(struct sonde__audit_script *script,
                              const struct sonde__script_page *page, struct sonde__drain *drain)
{
    *script = (struct sonde__audit_script){.page = page, .drain = drain};
    (void)runtime_of(script);
}

/* --- a stack --- */

/* Make its copy the memory that is read. False: there is none. */
static bool find_code(struct sonde__audit_script *script, uint32_t number, uint64_t *ret_address)
{
    const struct sonde__script_code *codes = script->page->codes;
    if (number >= SONDE__SCRIPT_CODES || atomic_load(&codes[number].is_complete) == 0) {
        return false;
    }
    const volatile struct sonde__script_code *shared = &codes[number];
    script->code.at = shared->at;
    script->code.size = shared->size;
    *ret_address = shared->address;
    return script->code.at <= SONDE__SCRIPT_BYTES &&
           script->code.size <= SONDE__SCRIPT_BYTES - script->code.at;
}

static bool name_frames(struct sonde__audit_script *script, uint32_t count)
{
    sonde__runtime_begin_copied(script->runtime);
    for (uint32_t i = 0; i < count; i++) {
        const struct sonde__script_frame_read *frame = &script->frames[i];
        uint64_t code = 0;
        if ((frame->code != UINT32_MAX && !find_code(script, frame->code, &code)) ||
            !sonde__runtime_add_copied(script->runtime, code, frame->at, frame->flags)) {
            return false;
        }
    }
    return true;
}

/* --- JavaScript --- */

enum { TEXT_ROOM = 2 * V8_TEXT_ROOM };

static bool make_room(struct sonde__audit_script *script)
{
    if (script->texts == NULL) {
        script->frames = sonde__mem_alloc_array(PYTHON_OWN_FRAMES, sizeof *script->frames);
        script->named = sonde__mem_alloc_array(PYTHON_OWN_FRAMES, sizeof *script->named);
        script->texts = sonde__mem_alloc_array(PYTHON_OWN_FRAMES, TEXT_ROOM);
    }
    return script->frames != NULL && script->named != NULL && script->texts != NULL;
}

/* The program may change the page at any time: it is copied first. */
static bool name_function(struct sonde__audit_script *script, uint32_t i, uint32_t number)
{
    char *text = script->texts + (size_t)i * TEXT_ROOM;
    uint64_t address = 0;
    if (!find_code(script, number, &address) || script->code.size < 2 ||
        script->code.size > TEXT_ROOM) {
        return false;
    }
    memcpy(text, script->page->bytes + script->code.at, script->code.size);
    text[script->code.size - 1] = '\0';
    size_t size = strlen(text) + 1;
    script->named[i].function = text;
    script->named[i].file = size < script->code.size ? text + size : "";
    return text[0] != '\0';
}

/* Mark the native frames of the functions; leave out those whose native frames were left out. */
static uint32_t place_functions(struct sonde__audit_script *script, uint32_t count,
                                struct sonde_stack *stack)
{
    uint64_t from_end = 0, all = stack->count + stack->lost_count;
    uint32_t kept = count;
    for (uint32_t i = count; i-- > 0;) {
        from_end += script->frames[i].delta;
        if (script->frames[i].delta == 0 || from_end > all) {
            return 0;
        }
        uint64_t at = all - from_end;
        bool is_inner = at < stack->lost_at || stack->lost_count == 0;
        if (!is_inner && at < stack->lost_at + stack->lost_count) {
            continue;
        }
        at -= is_inner ? 0 : stack->lost_count;
        if (at >= stack->count) {
            return 0;
        }
        stack->how[at] |= SONDE__HOW_RUNS_SCRIPT;
        script->named[--kept] = script->named[i];
        script->named[kept].line = (uint32_t)script->frames[i].at;
    }
    memmove(script->named, script->named + kept, (count - kept) * sizeof *script->named);
    return count - kept;
}

/* As join(). */
static const char *join_functions(struct sonde__audit_script *script,
                                  const struct sonde__depot *depot, uint32_t id,
                                  struct sonde_stack *stack, struct sonde__script *ret_script)
{
    bool is_switched = false;
    if (!make_room(script)) {
        return NULL;
    }
    uint32_t count =
        sonde__record_script_frames(depot, id, script->frames, PYTHON_OWN_FRAMES, &is_switched);
    for (uint32_t i = 0; i < count; i++) {
        script->named[i] = (struct sonde__script_frame){.kind = SONDE__SCRIPT_FUNCTION};
        if (!name_function(script, i, script->frames[i].code)) {
            return "the name of a function cannot be read";
        }
    }
    uint32_t placed = count != 0 ? place_functions(script, count, stack) : 0;
    for (uint32_t i = 0; i < placed; i++) {
        script->named[i].run = i;
    }
    *ret_script = (struct sonde__script){
        .frames = script->named,
        .count = placed,
        .run_count = placed,
        .state = SONDE__SCRIPT_READ,
        .language = "JavaScript",
    };
    return count != 0 && placed == 0 ? "its functions do not fit its native calls" : NULL;
}

/* Null: joined, or there are none. */
static const char *join(struct sonde__audit_script *script, const struct sonde__depot *depot,
                        uint32_t id, struct sonde_stack *stack, struct sonde__script *ret_script)
{
    const char *why = NULL;
    bool is_switched = false;
    if (runtime_of(script) == NULL) {
        return NULL;
    }
    uint32_t count =
        sonde__record_script_frames(depot, id, script->frames, PYTHON_OWN_FRAMES, &is_switched);
    if (count != 0 && !name_frames(script, count)) {
        return "a frame is not in its code, or that cannot be read";
    }
    if (count == 0) {
        sonde__runtime_doubt_none(script->runtime, stack, ret_script);
        return NULL;
    }
    struct sonde__script_frame *frames =
        sonde__runtime_end_copied(script->runtime, is_switched, ret_script);
    if (!sonde__runtime_join(script->runtime, stack, ret_script, frames, &why)) {
        ret_script->count = 0;
    }
    return why;
}

uint32_t sonde__audit_script_stack(struct sonde__audit_script *script,
                                   const struct sonde__depot *depot, uint32_t id,
                                   const struct sonde__image_set *images, struct sonde_stack *stack,
                                   uint64_t calls)
{
    struct sonde__script found = {.count = 0};
    bool is_javascript = atomic_load(&script->page->is_set) == SONDE__SCRIPT_JAVASCRIPT;
    const char *why = is_javascript ? join_functions(script, depot, id, stack, &found)
                                    : join(script, depot, id, stack, &found);
    if (why != NULL) {
        script->missing += calls;
        script->why = why;
    } else if (found.state == SONDE__SCRIPT_DAMAGED) {
        script->unread += calls;
        script->unread_why = found.why;
    }
    return sonde__drain_scripted(script->drain, images, stack, found.count != 0 ? &found : NULL);
}

/* --- what is missing --- */

static const char *const reasons[SONDE__SCRIPT_REASONS] = {
    [SONDE__SCRIPT_UNREADABLE] = "a frame cannot be read",
    [SONDE__SCRIPT_ENDLESS] = "more than 1024 functions called each other",
    [SONDE__SCRIPT_UNFIT] = "its frames do not fit its native calls",
    [SONDE__SCRIPT_ENTERS] = "it enters the interpreter's loop",
    [SONDE__SCRIPT_NO_CODE] = "a frame runs what is no code",
    [SONDE__SCRIPT_FULL] = "there is no room for more functions",
    [SONDE__SCRIPT_BUSY] = "they were made in a signal handler, or by one of too many threads",
};

void sonde__audit_script_missing(const struct sonde__audit_script *script,
                                 struct sonde__audit_totals *totals)
{
    const struct sonde__script_page *page = script->page;
    const char *why = script->why;
    totals->script_missing = script->missing;
    for (unsigned i = 0; i < SONDE__SCRIPT_REASONS; i++) {
        uint64_t count = atomic_load(&page->missing[i]);
        if (count != 0 && count < UINT64_MAX / 16 && reasons[i] != NULL) {
            bool is_deep = i == SONDE__SCRIPT_ENDLESS &&
                           atomic_load(&page->is_set) == SONDE__SCRIPT_JAVASCRIPT;
            totals->script_missing += count;
            why = is_deep ? "more than 320 native functions called each other" : reasons[i];
        }
    }
    /* the calls that were counted by their reason are among them */
    uint64_t counted = totals->script_missing - script->missing;
    if (script->unread > counted) {
        totals->script_missing += script->unread - counted;
        why = script->unread_why;
    }
    if (totals->script_missing != 0) {
        snprintf(totals->script_why, sizeof totals->script_why, "%s", why);
        totals->script_language =
            atomic_load(&page->is_set) == SONDE__SCRIPT_JAVASCRIPT ? "JavaScript" : "Python";
    }
    memcpy(totals->script_unread, page->unread, sizeof totals->script_unread);
    totals->script_unread[sizeof totals->script_unread - 1] = '\0';
}
