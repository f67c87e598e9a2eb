// SPDX-License-Identifier: Apache-2.0
#include <inttypes.h>

#include "export_functions.h"

#include "base_text.h"
#include "mem_heap.h"
#include "report_trie.h"
#include "report_view.h"

static const char *const literals[] = {
    [SONDE__EXPORT_NOT_SAMPLED] = "(not sampled)",
    [SONDE__EXPORT_NO_STACK] = "(no stack)",
    [SONDE__EXPORT_MORE_FRAMES] = "(more frames)",
};

static uint32_t hash_of(const struct sonde__export_function *f)
{
    return sonde__mem_hash(f->key);
}

/* A function is the same whether inlined or not. */
static bool is_same(const struct sonde__export_function *a, const struct sonde__export_function *b)
{
    bool a_frame = a->kind == SONDE__EXPORT_INLINED || a->kind == SONDE__EXPORT_FRAME;
    bool b_frame = b->kind == SONDE__EXPORT_INLINED || b->kind == SONDE__EXPORT_FRAME;
    return a->key == b->key && (a->kind == b->kind || (a_frame && b_frame));
}

static uint32_t find(const struct sonde__export_functions *t,
                     const struct sonde__export_function *wanted)
{
    return SONDE__TABLE_FIND(&t->table, hash_of(wanted), i, is_same(&t->list[i], wanted));
}

static bool add(struct sonde__export_functions *t, const struct sonde__export_function *function,
                uint32_t *ret_number)
{
    uint32_t number = find(t, function);
    if (number == SONDE__TABLE_NONE) {
        number = t->count;
        if (!sonde__mem_grow(&t->list, t->count, &t->capacity, sizeof *t->list) ||
            !sonde__mem_table_add(&t->table, hash_of(function), number)) {
            return false;
        }
        t->list[t->count] = *function;
        t->list[t->count++].file = 0;
    }
    struct sonde__export_function *kept = &t->list[number];
    bool is_there = function->file <= sonde__report_string_count(t->report); /* false for an id of a
                                                                              * hostile file */
    kept->file = kept->file != 0 || !is_there ? kept->file : function->file;
    kept->several_lines |= function->line != 0 && kept->line != 0 && kept->line != function->line;
    kept->line = kept->line != 0 ? kept->line : function->line;
    *ret_number = number;
    return true;
}

static bool add_frame(struct sonde__export_functions *t, uint32_t id)
{
    const struct sonde__report_frame *f = sonde__report_frame(t->report, id);
    struct sonde__export_function function = {
        .key = sonde__trie_function(t->report, id),
        .kind = f->kind == SONDE__REPORT_FRAME_TAIL_CALL ? SONDE__EXPORT_TAIL : SONDE__EXPORT_FRAME,
        .frame = id,
        .name = f->name,
        .image = f->image,
        .file = f->file,
        .line = f->line,
    };
    if (f->lost_count != 0 || f->alternatives != 0) { /* no function: all of them share one entry */
        function = (struct sonde__export_function){.key = 1, .kind = function.kind, .frame = id};
    }
    if (!add(t, &function, &t->of_frame[id])) {
        return false;
    }
    for (uint32_t i = 0; i < f->inlined_count; i++) {
        const struct sonde__report_inlined *call = &f->inlined[i];
        function = (struct sonde__export_function){
            .key = (uint64_t)1 << 63 | (uint64_t)f->image << 32 | call->name,
            .kind = SONDE__EXPORT_INLINED,
            .frame = id,
            .name = call->name,
            .image = f->image,
            .file = call->file,
            .line = call->line,
        };
        if (!add(t, &function, &t->of_inlined[t->first_inlined[id] + i])) {
            return false;
        }
    }
    return true;
}

static bool make_arrays(struct sonde__export_functions *t)
{
    uint32_t frames = sonde__report_frame_count(t->report);
    uint64_t inlined = 0;
    t->of_frame = sonde__mem_alloc_zeroed(((size_t)frames + 1) * sizeof *t->of_frame);
    t->first_inlined = sonde__mem_alloc_zeroed(((size_t)frames + 2) * sizeof *t->first_inlined);
    if (t->of_frame == NULL || t->first_inlined == NULL) {
        return false;
    }
    for (uint32_t id = 1; id <= frames; id++) {
        t->first_inlined[id] = (uint32_t)inlined;
        inlined += sonde__report_frame(t->report, id)->inlined_count;
    }
    t->first_inlined[frames + 1] = (uint32_t)inlined;
    t->of_inlined = inlined > UINT32_MAX
                        ? NULL
                        : sonde__mem_alloc_array((size_t)inlined + 1, sizeof *t->of_inlined);
    return t->of_inlined != NULL;
}

enum sonde_status sonde__export_functions_make(struct sonde__export_functions *t,
                                               const struct sonde__report *report, bool raw_names)
{
    *t = (struct sonde__export_functions){.report = report, .raw_names = raw_names};
    bool done = make_arrays(t);
    for (uint32_t i = 0; i < SONDE__EXPORT_FIXED && done; i++) {
        uint32_t number;
        done = add(t, &(struct sonde__export_function){.key = i, .kind = SONDE__EXPORT_LITERAL},
                   &number);
    }
    for (uint32_t id = 1; id <= sonde__report_frame_count(report) && done; id++) {
        done = add_frame(t, id);
    }
    t->named = t->count;
    return done ? SONDE_OK : SONDE_MEMORY;
}

void sonde__export_functions_done(struct sonde__export_functions *t)
{
    sonde__mem_free(t->list);
    sonde__mem_free(t->of_frame);
    sonde__mem_free(t->first_inlined);
    sonde__mem_free(t->of_inlined);
    sonde__mem_table_done(&t->table);
    *t = (struct sonde__export_functions){0};
}

static struct sonde__export_function by_name(uint32_t name)
{
    return (struct sonde__export_function){.key = name, .kind = SONDE__EXPORT_NAMED, .name = name};
}

bool sonde__export_function_named(struct sonde__export_functions *t, uint32_t name,
                                  uint32_t *ret_function)
{
    const struct sonde__export_function function = by_name(name);
    return add(t, &function, ret_function);
}

uint32_t sonde__export_function_find(const struct sonde__export_functions *t, uint32_t name)
{
    const struct sonde__export_function function = by_name(name);
    uint32_t found = find(t, &function);
    return found == SONDE__TABLE_NONE ? SONDE__EXPORT_NO_STACK : found;
}

bool sonde__export_has_frame(const struct sonde__export_function *function)
{
    return function->kind <= SONDE__EXPORT_TAIL;
}

/* --- names --- */

/* "libc.so.6+0x2724a": the function's start if known, else the pc. */
static void put_nameless(struct sonde__report_out *out, const struct sonde__report *report,
                         const struct sonde__report_frame *f)
{
    uint64_t start = f->name_offset <= f->offset ? f->offset - f->name_offset : f->offset;
    if (f->image != 0) {
        sonde__report_out_print(out, "%s+0x%" PRIx64, sonde__report_image_name(report, f->image),
                                start);
    } else if (f->code_id != 0) {
        sonde__report_out_str(out, "(code ");
        sonde__report_out_code_id(out, f->code_id);
        sonde__report_out_str(out, ")");
    } else {
        sonde__report_out_hex(out, start);
    }
}

static void put_of_frame(struct sonde__report_out *out, const struct sonde__report *report,
                         const struct sonde__report_frame *f, bool is_tail)
{
    if (f->lost_count != 0) {
        sonde__report_out_str(out, "(frames left out)");
    } else if (is_tail && f->alternatives != 0) {
        sonde__report_out_str(out, "(tail calls)");
    } else if (*sonde__report_text(report, f->name) == '\0' && (f->how & SONDE_HOW_SIGNAL) == 0) {
        put_nameless(out, report, f);
    } else {
        sonde__report_put_function(out, report, f);
    }
    if (is_tail && f->alternatives == 0) {
        sonde__report_out_str(out, " (tail call)");
    }
}

void sonde__export_put_name(struct sonde__report_out *out, const struct sonde__export_functions *t,
                            uint32_t number)
{
    const struct sonde__export_function *f = &t->list[number];
    out->raw_names = t->raw_names;
    switch (f->kind) {
    case SONDE__EXPORT_FRAME:
    case SONDE__EXPORT_TAIL:
        put_of_frame(out, t->report, sonde__report_frame(t->report, f->frame),
                     f->kind == SONDE__EXPORT_TAIL);
        break;
    case SONDE__EXPORT_LITERAL:
        sonde__report_out_str(out, literals[f->key]);
        break;
    default:
        sonde__report_put_name(out, t->report, f->name);
        break;
    }
}

/* --- stacks --- */

enum sonde_status sonde__export_path_make(struct sonde__export_path *path)
{
    path->count = 0;
    path->places = sonde__mem_alloc_array(SONDE__EXPORT_PLACES_MAX + 2, sizeof *path->places);
    return path->places != NULL ? SONDE_OK : SONDE_MEMORY;
}

void sonde__export_path_done(struct sonde__export_path *path)
{
    sonde__mem_free(path->places);
    path->places = NULL;
}

static void push(struct sonde__export_path *path, uint32_t function, uint32_t frame,
                 uint32_t inlined)
{
    if (path->count < SONDE__EXPORT_PLACES_MAX) {
        path->places[path->count++] = (struct sonde__export_place){function, frame, inlined};
    } else {
        path->is_cut = true;
    }
}

static void push_node(struct sonde__export_path *path, const struct sonde__export_functions *t,
                      const struct sonde__report_node *node)
{
    const struct sonde__report_frame *f = sonde__report_frame(t->report, node->frame);
    if (node->frame == 0 || node->frame > sonde__report_frame_count(t->report)) {
        return;
    }
    for (uint32_t i = 0; f->lost_count == 0 && i < f->inlined_count; i++) {
        push(path, t->of_inlined[t->first_inlined[node->frame] + i], node->frame, i + 1);
    }
    push(path, t->of_frame[node->frame], node->frame, 0);
    for (uint32_t i = 0; f->lost_count == 0 && i < node->tail_call_count; i++) {
        uint32_t id = node->tail_calls[i];
        if (id != 0 && id <= sonde__report_frame_count(t->report)) {
            push(path, t->of_frame[id], id, 0);
        }
    }
}

void sonde__export_path_read(struct sonde__export_path *path,
                             const struct sonde__export_functions *t, uint32_t stack, uint32_t leaf,
                             uint32_t root)
{
    path->count = 0;
    path->is_cut = false;
    if (leaf != 0) {
        push(path, leaf - 1, 0, 0);
    }
    while (stack != 0 && !path->is_cut) {
        const struct sonde__report_node *node = sonde__report_node(t->report, stack);
        push_node(path, t, node);
        stack = node->parent;
    }
    if (path->count == 0) {
        push(path, SONDE__EXPORT_NO_STACK, 0, 0);
    }
    if (path->is_cut) {
        path->places[path->count++] =
            (struct sonde__export_place){.function = SONDE__EXPORT_MORE_FRAMES};
    }
    if (root != 0) {
        path->places[path->count++] = (struct sonde__export_place){.function = root - 1};
    }
}
