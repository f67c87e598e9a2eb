// SPDX-License-Identifier: Apache-2.0
/* Stacks as text. A flag distinguishes handlers from normal context; both print the same where both
 * have a name. */
#include <sonde/text.h>

#include "api_names.h"
#include "api_thread.h"
#include "base_mem.h"
#include "base_status.h"
#include "demangle.h"
#include "host_self.h"
#include "mem_heap.h"

enum { PC_DIGITS = 16, TEXT_FIRST = 8192, DEPTH = 4096 };

/* Collects lines and passes on each complete one. */
struct lines {
    struct sonde_symbolizer *symbolizer;
    enum sonde_style style;
    const struct sonde_stack *stack;
    bool is_handler;
    struct sonde__text *out;
    bool (*each)(void *ctx, struct sonde__text *out);
    void *ctx;
};

static bool end_line(struct lines *l)
{
    sonde__base_text_char(l->out, '\n');
    return l->each == NULL || l->each(l->ctx, l->out);
}

/* --- style sonde --- */

static void put_number(struct lines *l, uint32_t index)
{
    const struct sonde_stack *stack = l->stack;
    uint64_t number = index < stack->lost_at ? index : index + stack->lost_count;
    sonde__base_text_char(l->out, '#');
    sonde__base_text_dec(l->out, number);
    sonde__base_text_str(l->out, number < 10 ? "  0x" : " 0x");
    sonde__base_text_hex(l->out, stack->pcs[index], PC_DIGITS);
    sonde__base_text_str(l->out, "  ");
}

static void put_name(struct lines *l, const char *name)
{
    if (l->is_handler) {
        sonde__base_text_str(l->out, name);
    } else {
        char buffer[SONDE__DEMANGLE_OUTPUT_MAX];
        sonde__base_text_str(l->out, sonde__demangle(name, buffer));
    }
}

static void put_source(struct lines *l, const struct sonde__call *call)
{
    if (call->file[0] != '\0') {
        sonde__base_text_str(l->out, "  ");
        sonde__base_text_str(l->out, call->file);
        if (call->line != 0) {
            sonde__base_text_char(l->out, ':');
            sonde__base_text_dec(l->out, call->line);
        }
    }
}

static bool put_inlined(struct lines *l, uint32_t index, const struct names_answer *answer,
                        const struct sonde__answer *calls)
{
    for (uint32_t i = 0; i + 1 < calls->count; i++) {
        put_number(l, index);
        put_name(l, calls->calls[i].name[0] != '\0' ? calls->calls[i].name : "?");
        sonde__base_text_str(l->out, "  ");
        sonde__base_text_str(l->out, sonde__base_file_name(answer->path));
        put_source(l, &calls->calls[i]);
        sonde__base_text_str(l->out, "  [inlined]");
        if (!end_line(l)) {
            return false;
        }
    }
    return true;
}

static bool put_frame(struct lines *l, uint32_t index, const struct names_answer *answer,
                      const struct sonde__answer *calls)
{
    uint64_t pc = l->stack->pcs[index];
    unsigned found = l->stack->how[index] & SONDE_HOW_FOUND_MASK;
    if (!put_inlined(l, index, answer, calls)) {
        return false;
    }
    put_number(l, index);
    if (answer->function.name[0] != '\0') {
        put_name(l, answer->function.name);
        sonde__base_text_str(l->out,
                             answer->function.source == SONDE__NAME_PLT ? "@plt+0x" : "+0x");
        sonde__base_text_hex(l->out, pc - answer->function.start, 0);
        sonde__base_text_str(l->out, "  ");
        sonde__base_text_str(l->out, sonde__base_file_name(answer->path));
    } else if (answer->path[0] != '\0') {
        sonde__base_text_str(l->out, sonde__base_file_name(answer->path));
        sonde__base_text_str(l->out, "+0x");
        sonde__base_text_hex(l->out, pc - answer->bias, 0);
    } else {
        sonde__base_text_str(l->out, "(no image)");
    }
    if (calls->count != 0) {
        put_source(l, &calls->calls[calls->count - 1]);
    }
    if (found != SONDE_FOUND_REGISTERS && found != SONDE_FOUND_CFI) {
        sonde__base_text_str(l->out, "  by ");
        sonde__base_text_str(l->out, sonde_found_text(found));
    }
    return end_line(l);
}

/* --- the other styles --- */

static void ask_loader(uint64_t pc, struct sonde__style_frame *frame)
{
    struct sonde__host_symbol symbol;
    frame->image = frame->name = "";
    if (!sonde__host_loader_symbol(pc, &symbol)) {
        return;
    }
    frame->image = symbol.path;
    frame->name = symbol.name;
    frame->start = symbol.start;
    frame->image_bias = symbol.bias;
    frame->plt = false;
}

static bool put_styled(struct lines *l, uint32_t index, const struct names_answer *answer)
{
    struct sonde__style_frame frame = {
        .index = index < l->stack->lost_at ? index : index + l->stack->lost_count,
        .pc = l->stack->pcs[index],
        .image = answer->path,
        .image_base = answer->image_start,
        .image_bias = answer->bias,
        .name = answer->function.name,
        .plt = answer->function.source == SONDE__NAME_PLT,
        .start = answer->function.start,
    };
    if (answer->build_id != NULL) {
        frame.build_id = answer->build_id->bytes;
        frame.build_id_size = answer->build_id->size;
    }
    if (l->style == SONDE_STYLE_GLIBC && !l->is_handler) {
        ask_loader(frame.pc, &frame);
    }
    sonde__style_line(l->out, l->style, &frame);
    return end_line(l);
}

/* --- a stack --- */

static bool put_gap(struct lines *l, uint32_t index)
{
    const struct sonde_stack *stack = l->stack;
    if (l->style != SONDE_STYLE_SONDE || stack->lost_count == 0 || index != stack->lost_at) {
        return true;
    }
    sonde__base_text_str(l->out, "    ");
    sonde__base_text_dec(l->out, stack->lost_count);
    sonde__base_text_str(l->out, " frames left out");
    return end_line(l);
}

static bool put_end(struct lines *l)
{
    if (l->style != SONDE_STYLE_SONDE || l->stack->end == SONDE_END_ROOT) {
        return true;
    }
    sonde__base_text_str(l->out, "    ended: ");
    sonde__base_text_str(l->out, sonde_end_text(l->stack->end));
    if (l->stack->end == SONDE_END_NO_CODE) {
        sonde__base_text_str(l->out, " at ");
        sonde__base_text_hex(l->out, l->stack->end_at, 0);
    }
    return end_line(l);
}

bool names_put_stack(struct sonde_symbolizer *symbolizer, enum sonde_style style,
                     const struct sonde_stack *stack, bool is_handler, struct sonde__text *out,
                     bool (*each)(void *ctx, struct sonde__text *out), void *ctx)
{
    static const struct sonde__answer none = {.count = 0};
    struct lines l = {symbolizer, style, stack, is_handler, out, each, ctx};
    struct sonde__capture_pin pin = sonde__capture_pin();
    bool in_memory = true, goes_on = true;
    for (uint32_t i = 0; i < stack->count && in_memory && goes_on; i++) {
        uint64_t lookup = sonde_stack_lookup_pc(stack, i);
        struct names_answer answer;
        goes_on = put_gap(&l, i);
        in_memory = goes_on && names_find(symbolizer, &pin, lookup, !is_handler, &answer);
        if (!in_memory) {
            break;
        }
        if (style != SONDE_STYLE_SONDE) {
            goes_on = put_styled(&l, i, &answer);
        } else {
            if (!is_handler) {
                names_calls(symbolizer, &pin, lookup, &answer);
            }
            goes_on = put_frame(&l, i, &answer, is_handler ? &none : &symbolizer->answer);
        }
    }
    sonde__capture_unpin(pin);
    if (goes_on && in_memory) {
        (void)(put_gap(&l, stack->count) && put_end(&l));
    }
    return in_memory || !goes_on;
}

char *names_stack_text(struct sonde_symbolizer *symbolizer, enum sonde_style style,
                       const struct sonde_stack *stack, size_t *ret_length)
{
    size_t size = TEXT_FIRST;
    char *text = NULL;
    bool done = false;
    pthread_mutex_lock(&symbolizer->mutex);
    if (names_update(symbolizer) == SONDE_OK) {
        for (; !done && size <= SONDE_STRINGS_BYTES_MAX * 4; size *= 4) {
            struct sonde__text out;
            sonde__mem_free(text);
            text = sonde__mem_alloc(size);
            if (text == NULL) {
                break;
            }
            sonde__base_text_init(&out, text, size);
            if (!names_put_stack(symbolizer, style, stack, false, &out, NULL, NULL)) {
                break;
            }
            *ret_length = out.length;
            done = !out.cut;
        }
    }
    pthread_mutex_unlock(&symbolizer->mutex);
    if (!done) {
        sonde__mem_free(text);
        text = NULL;
    }
    return text;
}

/* --- public: one stack --- */

static bool is_style(enum sonde_style style)
{
    return (unsigned)style <= SONDE_STYLE_GLIBC;
}

struct writing {
    sonde_write write;
    void *ctx;
    char *line;
    bool failed;
};

static bool write_line(void *ctx, struct sonde__text *out)
{
    struct writing *w = ctx;
    if (out->cut && out->length > 0) {
        out->data[out->length - 1] = '\n';
    }
    w->failed = w->write(w->ctx, out->data, out->length) != 0;
    sonde__base_text_init(out, w->line, SONDE_TEXT_LINE_MAX + 1);
    return !w->failed;
}

enum sonde_status sonde_stack_write(struct sonde_symbolizer *symbolizer, enum sonde_style style,
                                    const struct sonde_stack *stack, sonde_write write, void *ctx)
{
    char line[SONDE_TEXT_LINE_MAX + 1];
    struct writing w = {write, ctx, line, false};
    struct sonde__text out;
    if (symbolizer == NULL || stack == NULL || write == NULL || !is_style(style)) {
        return SONDE_USAGE;
    }
    sonde__base_text_init(&out, line, sizeof line);
    (void)names_put_stack(symbolizer, style, stack, true, &out, write_line, &w);
    return w.failed ? SONDE_OS : SONDE_OK;
}

enum sonde_status sonde_stack_text(struct sonde_symbolizer *symbolizer, enum sonde_style style,
                                   const struct sonde_stack *stack, char *text, size_t size_bytes,
                                   size_t *ret_length)
{
    struct sonde__text out;
    enum sonde_status status;
    if (symbolizer == NULL || stack == NULL || text == NULL || size_bytes == 0 ||
        !is_style(style)) {
        return SONDE_USAGE;
    }
    sonde__base_text_init(&out, text, size_bytes);
    pthread_mutex_lock(&symbolizer->mutex);
    status = names_update(symbolizer);
    if (status == SONDE_OK && !names_put_stack(symbolizer, style, stack, false, &out, NULL, NULL)) {
        status = SONDE_MEMORY;
    }
    pthread_mutex_unlock(&symbolizer->mutex);
    if (status != SONDE_OK) {
        return status;
    }
    if (ret_length != NULL) {
        *ret_length = out.length;
    }
    return out.cut ? SONDE_LIMIT : SONDE_OK;
}

/* --- public: threads --- */

enum sonde_status sonde__api_thread_write(struct sonde_symbolizer *symbolizer,
                                          enum sonde_style style, uint64_t tid, sonde_write write,
                                          void *ctx, const struct sonde__regs *caller);
enum sonde_status sonde__api_threads_write(struct sonde_symbolizer *symbolizer,
                                           enum sonde_style style, sonde_write write, void *ctx,
                                           const struct sonde__regs *caller);

struct thread_writing {
    struct sonde_symbolizer *symbolizer;
    enum sonde_style style;
    sonde_write write;
    void *ctx;
    bool all;
    enum sonde_status status;
};

static bool write_text(struct thread_writing *w, const char *text, size_t size)
{
    if (size != 0 && w->write(w->ctx, text, size) != 0) {
        w->status = SONDE_OS;
    }
    return w->status == SONDE_OK;
}

/* `thread 4711 "worker"  queue com.example.parser`, if there are several threads and the style has
 * no heading for them. */
static bool write_head(struct thread_writing *w, uint64_t tid, const char *name, const char *queue,
                       uint32_t threads)
{
    char line[192];
    struct sonde__text out;
    sonde__base_text_init(&out, line, sizeof line);
    if (threads != 0) {
        sonde__style_begin_all(&out, w->style, threads);
    } else if (w->style == SONDE_STYLE_BS) {
        sonde__style_begin(&out, w->style, (int64_t)tid);
    } else if (w->all) {
        sonde__base_text_str(&out, "thread ");
        sonde__base_text_dec(&out, (uint64_t)tid);
        sonde__base_text_str(&out, name[0] != '\0' ? " \"" : "");
        sonde__base_text_str(&out, name);
        sonde__base_text_str(&out, name[0] != '\0' ? "\"" : "");
        sonde__base_text_str(&out, queue[0] != '\0' ? "  queue " : "");
        sonde__base_text_str(&out, queue);
        sonde__base_text_char(&out, '\n');
    }
    return write_text(w, line, out.length);
}

static bool write_thread(struct thread_writing *w, uint64_t tid, const char *name,
                         const char *queue, const struct sonde_stack *stack)
{
    size_t length = 0;
    char *text = names_stack_text(w->symbolizer, w->style, stack, &length);
    bool goes_on = false;
    if (text == NULL) {
        w->status = SONDE_MEMORY;
    } else {
        goes_on = write_head(w, tid, name, queue, 0) && write_text(w, text, length) &&
                  write_text(w, "\n", w->all || w->style == SONDE_STYLE_BS);
    }
    sonde__mem_free(text);
    return goes_on;
}

enum sonde_status sonde__api_thread_write(struct sonde_symbolizer *symbolizer,
                                          enum sonde_style style, uint64_t tid, sonde_write write,
                                          void *ctx, const struct sonde__regs *caller)
{
    struct thread_writing w = {symbolizer, style, write, ctx, false, SONDE_OK};
    struct sonde_stack stack;
    enum sonde_status status;
    if (symbolizer == NULL || write == NULL || !is_style(style)) {
        return SONDE_USAGE;
    }
    if (!sonde__api_stack_alloc(&stack, DEPTH, SONDE_OUTER_FRAMES)) {
        return SONDE_MEMORY;
    }
    status = sonde__api_thread_capture(tid, NULL, &stack, NULL, caller);
    if (status == SONDE_OK) {
        (void)write_thread(&w, tid, "", "", &stack);
        status = w.status;
    }
    sonde_stack_free(&stack);
    return status;
}

static int take_thread(void *ctx, const struct sonde_thread *thread,
                       const struct sonde_stack *stack, const struct sonde_captured *captured)
{
    static const struct sonde_stack nothing = {.end = SONDE_END_ROOT};
    return !write_thread(ctx, thread->tid, thread->name, thread->queue,
                         captured->status == SONDE_OK ? stack : &nothing);
}

enum sonde_status sonde__api_threads_write(struct sonde_symbolizer *symbolizer,
                                           enum sonde_style style, sonde_write write, void *ctx,
                                           const struct sonde__regs *caller)
{
    struct thread_writing w = {symbolizer, style, write, ctx, true, SONDE_OK};
    struct sonde_stack stack;
    enum sonde_status status;
    uint32_t count = 0;
    if (symbolizer == NULL || write == NULL || !is_style(style)) {
        return SONDE_USAGE;
    }
    status = sonde_threads_list(NULL, 0, &count);
    if (status != SONDE_OK && status != SONDE_LIMIT) {
        return status;
    }
    if (!sonde__api_stack_alloc(&stack, DEPTH, SONDE_OUTER_FRAMES)) {
        return SONDE_MEMORY;
    }
    status = SONDE_OK;
    if (write_head(&w, 0, "", "", count)) {
        status = sonde__api_threads_capture(NULL, &stack, take_thread, &w, caller);
    }
    sonde_stack_free(&stack);
    return status != SONDE_OK ? status : w.status;
}
