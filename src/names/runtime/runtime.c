// SPDX-License-Identifier: Apache-2.0
/* A look at a thread: finds its state, reads its frames, names them. A frame keeps its code object
 * alive, so names are right as long as the thread does not run. Thread lists may change meanwhile;
 * then the look is repeated. */
#include "runtime.h"

#include <stdio.h>
#include <string.h>

#include "base_status.h"
#include "base_text.h"
#include "mem_heap.h"
#include "runtime_private.h"

enum { ATTEMPTS = 3, STATES_MAX = 4 };

void sonde__runtime_close(struct sonde__runtime *runtime)
{
    if (runtime != NULL) {
        for (uint32_t i = 0; i < SONDE__RUNTIME_KEPT; i++) {
            sonde__mem_free(runtime->kept[i].blocks);
        }
        sonde__runtime_loop_done(runtime);
        python_done(&runtime->python);
        if (runtime->v8 != NULL) {
            v8_lines_done(runtime->v8);
        }
        sonde__mem_free(runtime->v8);
        sonde__mem_free(runtime);
    }
}

const char *sonde__runtime_name(const struct sonde__runtime *runtime)
{
    return runtime->name;
}

bool sonde__runtime_is_python_path(const char *path)
{
    const char *name = sonde__base_file_name(path);
    return sonde__base_starts_with(name, "python") || sonde__base_starts_with(name, "libpython");
}

bool sonde__runtime_is_node_path(const char *path)
{
    const char *name = sonde__base_file_name(path);
    return sonde__base_starts_with(name, "node") || sonde__base_starts_with(name, "libnode");
}

/* --- one look --- */

/* Sort the runs of several interpreters on one thread in the order of its native stack. */
static void sort_runs(struct python_chain *chain)
{
    for (uint32_t i = 1; i < chain->count; i++) {
        struct python_frame frame = chain->frames[i];
        uint32_t at = i;
        for (; at > 0 && chain->frames[at - 1].anchor > frame.anchor; at--) {
            chain->frames[at] = chain->frames[at - 1];
        }
        chain->frames[at] = frame;
    }
    for (uint32_t i = 0, run = 0; i < chain->count; i++) {
        run += i > 0 && chain->frames[i].anchor != chain->frames[i - 1].anchor;
        chain->frames[i].run = run;
    }
}

/* Read the code objects of all frames by one call. */
static const char *touch_codes(struct sonde__runtime *r)
{
    struct sonde__view_block wanted[SONDE__VIEW_BATCH];
    uint32_t count = 0;
    for (uint32_t i = 0; i < r->chain.count && count < SONDE__VIEW_BATCH; i++) {
        if (i == 0 || r->chain.frames[i].code != r->chain.frames[i - 1].code) {
            wanted[count++] = (struct sonde__view_block){.address = r->chain.frames[i].code,
                                                         .size = r->python.layout.code_bytes};
        }
    }
    sonde__view_ahead(&r->view, wanted, count);
    for (uint32_t i = 0; i < r->chain.count; i++) {
        if (!python_codes_touch(&r->python.codes, &r->view, r->chain.frames[i].code)) {
            return "a frame runs what is no code";
        }
    }
    return NULL;
}

/* Read names, paths and line tables of all code objects by one call. The view keeps room for what
 * else is read. */
static void read_parts(struct sonde__runtime *r)
{
    struct sonde__view_block wanted[SONDE__VIEW_BATCH];
    uint32_t count = 0, bytes = 0;
    for (uint32_t i = 0; i < r->chain.count && count + PYTHON_PARTS <= SONDE__VIEW_BATCH &&
                         bytes < SONDE__VIEW_BYTES / 4;
         i++) {
        uint64_t code = r->chain.frames[i].code;
        if (i == 0 || code != r->chain.frames[i - 1].code) {
            uint32_t end =
                count + python_codes_parts(&r->python.codes, &r->view, code, wanted + count);
            for (; count < end; count++) {
                bytes += wanted[count].size;
            }
        }
    }
    sonde__view_ahead(&r->view, wanted, count);
}

/* span: null: the states are those of the thread */
static const char *look_once(struct sonde__runtime *r, uint64_t tid, const struct python_span *span,
                             struct sonde__script *script)
{
    struct python_thread states[STATES_MAX];
    uint32_t count = 0, with_frames = 0;
    const char *why =
        span == NULL
            ? python_find_thread(&r->python, &r->view, tid, states, STATES_MAX, &count)
            : python_find_on_stack(&r->python, &r->view, tid, span, states, STATES_MAX, &count);
    r->chain.count = r->chain.run_count = 0;
    r->chain.lost_count = 0;
    r->chain.is_switched = false;
    r->python.is_cut = false;
    script->lock = SONDE__SCRIPT_LOCK_UNKNOWN;
    for (uint32_t i = 0; i < count && why == NULL; i++) {
        uint32_t before = r->chain.count;
        why = python_read_chain(&r->python, &r->view, states[i].state, &r->chain);
        if (why == NULL && (r->chain.count > before || count == 1)) {
            with_frames++;
            r->python.interp = states[i].interp;
            r->state = states[i].state;
            if (script->lock != SONDE__SCRIPT_LOCK_HELD) {
                python_lock_of(&r->python, &r->view, &states[i], script);
            }
        }
    }
    if (why == NULL && with_frames > 1) {
        if (r->python.layout.frames == PYTHON_FRAME_OBJECTS) {
            return "it runs several interpreters, whose order this version does not show";
        }
        sort_runs(&r->chain);
    }
    why = why == NULL ? touch_codes(r) : why;
    if (why == NULL) {
        read_parts(r);
    }
    return why;
}

/* --- names --- */

static const char *name_frames(struct sonde__runtime *r, uint32_t *ret_count)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < r->chain.count; i++) {
        if (!sonde__runtime_name_frame(r, &r->chain.frames[i], &r->frames[count])) {
            return "a frame is not in its code, or that cannot be read";
        }
        count += r->frames[count].function != NULL;
    }
    *ret_count = count;
    return NULL;
}

/* --- the whole read --- */

static void read_thread(struct sonde__runtime *runtime, uint64_t tid,
                        const struct python_span *span, struct sonde__script *ret_script)
{
    struct sonde__script script = {.language = "Python", .frames = runtime->frames};
    struct sonde__runtime_kept *kept = sonde__runtime_kept_of(runtime, tid);
    python_codes_trim(&runtime->python.codes);
    kept->age = ++runtime->look;
    for (unsigned i = 0; i == 0 || (i < ATTEMPTS && script.why != NULL); i++) {
        sonde__view_begin(&runtime->view, kept->blocks, kept->count);
        script.why = look_once(runtime, tid, span, &script);
        script.why = script.why == NULL ? name_frames(runtime, &script.count) : script.why;
        if (script.why == NULL) {
            sonde__runtime_add_tasks(runtime, &script);
        }
        sonde__runtime_keep(runtime, kept); /* read ahead by the next look */
        runtime->python.heads = script.why == NULL ? runtime->python.heads : 0;
    }
    if (script.why == NULL) {
        script.run_count = runtime->chain.run_count;
        script.lost_count = runtime->chain.lost_count;
        script.is_switched = runtime->chain.is_switched;
        script.state = (uint8_t)(script.count != 0 ? SONDE__SCRIPT_READ : SONDE__SCRIPT_NONE);
    } else {
        script.count = script.waiting_count = 0;
        script.state = SONDE__SCRIPT_DAMAGED;
    }
    *ret_script = script;
}

void sonde__runtime_read(struct sonde__runtime *runtime, uint64_t tid,
                         struct sonde__script *ret_script)
{
    read_thread(runtime, tid, NULL, ret_script);
}

static bool has_loop(const struct sonde__runtime *r, const struct sonde_stack *stack)
{
    for (uint32_t i = 0; i < stack->count; i++) {
        if (sonde__runtime_is_loop(r, sonde_stack_lookup_pc(stack, i))) {
            return true;
        }
    }
    return false;
}

/* May what was read be what the native stack runs? */
static bool is_in_place(const struct sonde__runtime *r, const struct sonde__runtime_native *native,
                        const struct sonde__script *script)
{
    const struct sonde_stack *stack = native->stack;
    bool is_whole = stack != NULL && stack->end == SONDE_END_ROOT;
    uint64_t end = is_whole ? native->outer_sp : UINT64_MAX;
    if (script->state == SONDE__SCRIPT_NONE) {
        return stack != NULL && !has_loop(r, stack);
    }
    for (uint32_t i = 0; script->state == SONDE__SCRIPT_READ && i < script->count; i++) {
        uint64_t anchor = script->frames[i].anchor;
        if (anchor != 0 && (anchor < native->sp || anchor >= end)) {
            return false;
        }
    }
    return true;
}

void sonde__runtime_read_by_place(struct sonde__runtime *runtime, uint64_t tid,
                                  const struct sonde__runtime_native *native,
                                  struct sonde__script *script)
{
    const struct python_span span = {native->sp, native->outer_sp};
    bool is_known = span.start != 0 && span.start < span.end;
    if (runtime->v8 != NULL || is_in_place(runtime, native, script) ||
        (!is_known && script->state != SONDE__SCRIPT_NONE)) {
        return;
    }
    if (is_known) {
        read_thread(runtime, tid, &span, script);
    }
    if (native->stack != NULL) {
        sonde__runtime_doubt_none(runtime, native->stack, script);
    }
}

void sonde__runtime_doubt_none(const struct sonde__runtime *runtime,
                               const struct sonde_stack *stack, struct sonde__script *script)
{
    if (script->state == SONDE__SCRIPT_NONE && has_loop(runtime, stack)) {
        script->state = SONDE__SCRIPT_DAMAGED;
        script->language = "Python";
        script->why = "no thread that the interpreter knows has this stack";
    }
}

bool sonde__runtime_agrees(const struct sonde__runtime *runtime,
                           const struct sonde__runtime_moment *moment)
{
    enum { OB_SIZE = 16, UNIT = 2 }; /* instructions of a code object from 3.11 on */
    const struct python_chain *chain = &runtime->chain;
    uint64_t code_bytes = 0;
    if (runtime->v8 != NULL) {
        return true; /* the frames are those of the stack */
    }
    for (size_t i = 0; chain->count != 0 && i < runtime->python.codes.count; i++) {
        const struct python_code *code = runtime->python.codes.list[i];
        if (code->address == chain->frames[0].code) {
            code_bytes = sonde__base_le64(code->head + OB_SIZE) * UNIT;
            break;
        }
    }
    return python_agrees(&runtime->python, chain, code_bytes < 1u << 26 ? code_bytes : 0, moment);
}

/* --- opening --- */

struct found {
    uint64_t runtime, loop, loop_bytes;
    bool has_runtime, has_loop;
    uint32_t version; /* PY_VERSION_HEX, or that of the oldest release with all symbols found */
    bool is_old, is_2, is_pypy, is_node_like, is_bun;
    struct v8_stated v8;
};

/* Interpreters without _PyRuntime. The symbol was added in 3.7, when _PyThreadState_Current was
 * removed; str was PyString_Type up to 2.7; PyPy has its own names for the functions of the C API.
 */
static void note_other(const char *name, struct found *found)
{
    found->is_old |= strcmp(name, "_PyThreadState_Current") == 0;
    found->is_2 |= strcmp(name, "PyString_Type") == 0;
    found->is_pypy |= strcmp(name, "PyPyType_Ready") == 0;
}

/* What defines Node-API runs JavaScript, by whatever engine. */
static bool is_node_api(const char *name)
{
    return name[0] == 'n' && strcmp(name, "napi_create_function") == 0;
}

static const char *name_unread(const struct found *found)
{
    return found->is_pypy ? "PyPy is not known"
           : found->is_old
               ? (found->is_2 ? "Python 2 is not known" : "Python 3.6 and older are not known")
           : found->is_bun ? "Bun is not known"
           : found->is_node_like && !found->v8.is_v8
               ? "no symbol tells the layout of its JavaScript engine"
               : NULL;
}

/* There is no runtime that can be read. Returns UNSUPPORTED: another interpreter; ABSENT: none. */
static enum sonde_status refuse(const struct found *found, struct sonde_error *ret_error)
{
    const char *what = name_unread(found);
    return what != NULL ? sonde__base_fail(ret_error, SONDE_UNSUPPORTED, what, NULL, 0, 0)
                        : SONDE_ABSENT;
}

/* If no symbol states the version, use symbols that were added in a version: of the stable ABI; for
 * 3.7, one of a function that 3.8 does not have any more. */
static void note_symbol(const struct sonde__elf *elf, const struct sonde__elf_symbol *symbol,
                        struct found *found)
{
    static const struct {
        const char *name;
        uint32_t version;
    } since[] = {{"_PyCFunction_FastCallKeywords", 0x03070000},
                 {"PyCode_NewWithPosOnlyArgs", 0x03080000},
                 {"PyInterpreterState_Get", 0x03090000},
                 {"PyModule_AddObjectRef", 0x030a0000}};
    if (strcmp(symbol->name, "_PyRuntime") == 0) {
        found->runtime = symbol->value;
        found->has_runtime = true;
    } else if (strcmp(symbol->name, "_PyEval_EvalFrameDefault") == 0) {
        found->loop = symbol->value;
        found->loop_bytes = symbol->size;
        found->has_loop = true;
    } else if (strcmp(symbol->name, "Py_Version") == 0) {
        const uint8_t *bytes = sonde__elf_at_vaddr(elf, symbol->value, 4);
        found->version = bytes != NULL ? sonde__base_le32(bytes) : found->version;
    }
    for (size_t i = 0; i < sizeof since / sizeof *since; i++) {
        if (since[i].version > found->version && strcmp(symbol->name, since[i].name) == 0) {
            found->version = since[i].version;
        }
    }
    note_other(symbol->name, found);
}

static void note_symbols(const struct sonde__elf *elf, const struct sonde__elf_symbols *table,
                         struct found *found)
{
    struct sonde__elf_symbol symbol;
    for (uint32_t i = 0; sonde__elf_symbols_at(table, i, &symbol); i++) {
        const char *name = symbol.name;
        bool is_near = (name[0] == '_' && name[1] == 'P' && name[2] == 'y') ||
                       (name[0] == 'P' && name[1] == 'y');
        if (is_near && symbol.section != SONDE__SHN_UNDEF) {
            note_symbol(elf, &symbol, found);
        } else if (v8_is_near(name) && symbol.section != SONDE__SHN_UNDEF) {
            v8_note(&found->v8, elf, &symbol);
        }
        found->is_node_like |= symbol.section != SONDE__SHN_UNDEF && is_node_api(name);
    }
}

static bool find_symbols(const struct sonde__elf *elf, struct found *found)
{
    struct sonde__elf_symbols table;
    struct sonde__elf_section section;
    if (sonde__elf_dynamic_symbols(elf, &table)) {
        note_symbols(elf, &table, found);
    }
    found->is_bun = found->is_node_like && sonde__elf_section_by_name(elf, ".bun", &section);
    bool has_section = sonde__elf_section_by_name(elf, ".PyRuntime", &section);
    if (!found->has_runtime && has_section) {
        found->runtime = section.vaddr;
        found->has_runtime = true;
    }
    if (found->has_runtime && !found->has_loop &&
        sonde__elf_section_by_type(elf, SONDE__SHT_SYMTAB, &section) &&
        sonde__elf_symbols(elf, &section, &table)) {
        note_symbols(elf, &table, found);
    }
    return found->has_runtime;
}

static bool read_bytes(const struct sonde__runtime_memory *memory, uint64_t address, void *ret,
                       uint32_t size)
{
    struct sonde__runtime_piece piece = {address, ret, size, 0};
    memory->read(memory->ctx, &piece, 1);
    return piece.got == size;
}

enum sonde_status sonde__runtime_choose_layout(uint64_t address,
                                               const struct sonde__runtime_memory *memory,
                                               struct python_layout *ret_layout, uint32_t *version,
                                               struct sonde_error *ret_error)
{
    uint8_t bytes[PYTHON_OFFSETS_BYTES];
    char what[64];
    const struct python_layout *layout = NULL;
    if (!read_bytes(memory, address, bytes, sizeof bytes)) {
        return sonde__base_fail(ret_error, SONDE_CORRUPT, "Python's runtime cannot be read", NULL,
                                0, 0);
    }
    if (sonde__python_states_offsets(bytes, sizeof bytes, version)) {
        if (sonde__python_layout_stated(bytes, sizeof bytes, ret_layout)) {
            return SONDE_OK;
        }
    } else if (*version >> 24 == 3) {
        layout = sonde__python_layout_of(*version >> 16 & 0xff);
    }
    if (*version == 0) {
        return sonde__base_fail(ret_error, SONDE_UNSUPPORTED,
                                "the version of Python is unknown: no symbol tells it", NULL, 0, 0);
    }
    if (layout == NULL || layout->minor >= 13) {
        snprintf(what, sizeof what, "Python %u.%u is not known", *version >> 24,
                 *version >> 16 & 0xff);
        return sonde__base_fail(ret_error, SONDE_UNSUPPORTED, what, NULL, 0, 0);
    }
    *ret_layout = *layout;
    return SONDE_OK;
}

static void set_name(struct sonde__runtime *r, uint32_t version)
{
    if ((version & 0xffff) != 0) {
        snprintf(r->name, sizeof r->name, "Python %u.%u.%u", version >> 24, version >> 16 & 0xff,
                 version >> 8 & 0xff);
    } else {
        snprintf(r->name, sizeof r->name, "Python %u.%u", version >> 24, version >> 16 & 0xff);
    }
}

enum sonde_status sonde__runtime_open_at(uint64_t address, uint32_t version,
                                         const struct sonde__runtime_memory *memory,
                                         struct sonde__runtime **ret_runtime,
                                         struct sonde_error *ret_error)
{
    struct python_layout layout;
    SONDE_TRY(sonde__runtime_choose_layout(address, memory, &layout, &version, ret_error));
    struct sonde__runtime *r = sonde__mem_alloc_zeroed(sizeof *r);
    if (r == NULL) {
        return SONDE_MEMORY;
    }
    r->view.memory = *memory;
    r->python.layout = layout;
    r->python.codes.layout = &r->python.layout;
    r->python.runtime = address;
    set_name(r, version);
    sonde__view_begin(&r->view, NULL, 0);
    if (!python_is_consistent(&r->python, &r->view)) {
        sonde__runtime_close(r);
        return sonde__base_fail(ret_error, SONDE_CORRUPT,
                                "Python's runtime is not set up, or not laid out as its version is",
                                NULL, 0, 0);
    }
    *ret_runtime = r;
    return SONDE_OK;
}

enum sonde_status sonde__runtime_plan(const struct sonde__elf *elf, uint64_t bias,
                                      const struct sonde__runtime_memory *memory,
                                      struct sonde__runtime_plan *ret_plan,
                                      struct sonde_error *ret_error)
{
    struct found found = {0};
    if (!find_symbols(elf, &found)) {
        return refuse(&found, ret_error);
    }
    struct sonde__runtime_plan plan = {.address = found.runtime + bias, .version = found.version};
    SONDE_TRY(
        sonde__runtime_choose_layout(plan.address, memory, &plan.layout, &plan.version, ret_error));
    struct sonde__runtime *r = sonde__mem_alloc_zeroed(sizeof *r);
    if (r == NULL) {
        return SONDE_MEMORY;
    }
    if (found.has_loop && found.loop_bytes != 0) {
        sonde__runtime_add_loop(r, elf, found.loop, found.loop + found.loop_bytes, bias);
    }
    memcpy(plan.loops, r->loops, sizeof plan.loops);
    plan.loop_count = r->loop_count;
    sonde__runtime_close(r);
    *ret_plan = plan;
    return SONDE_OK;
}

enum sonde_status sonde__runtime_plan_v8(const struct sonde__elf *elf, struct v8_layout *ret_layout,
                                         struct sonde_error *ret_error)
{
    struct found found = {0};
    (void)find_symbols(elf, &found);
    return found.v8.is_v8 ? v8_layout_of(&found.v8, ret_layout, ret_error)
                          : refuse(&found, ret_error);
}

enum sonde_status sonde__runtime_open(const struct sonde__elf *elf, uint64_t bias,
                                      const struct sonde__runtime_memory *memory,
                                      struct sonde__runtime **ret_runtime,
                                      struct sonde_error *ret_error)
{
    struct found found = {0};
    struct sonde__runtime *r = NULL;
    if (!find_symbols(elf, &found)) {
        return found.v8.is_v8 ? sonde__runtime_open_v8(&found.v8, memory, ret_runtime, ret_error)
                              : refuse(&found, ret_error);
    }
    SONDE_TRY(sonde__runtime_open_at(found.runtime + bias, found.version, memory, &r, ret_error));
    if (r != NULL && found.has_loop && found.loop_bytes != 0) {
        sonde__runtime_add_loop(r, elf, found.loop, found.loop + found.loop_bytes, bias);
    }
    *ret_runtime = r;
    return SONDE_OK;
}
