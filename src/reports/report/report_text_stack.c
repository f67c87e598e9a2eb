// SPDX-License-Identifier: Apache-2.0
/* A stack as text:
 *
 *   #0   __futex_abstimed_wait_common+0xe9   libc.so.6+0x86d29
 *   #1   python3.11+0x1d64b4
 *        ... 12345 frames left out ...
 *   #12347  <signal>                         libc.so.6+0x3c050
 *
 * Numbers are true depths: they continue after a gap, and inlined calls have the number of their
 * frame. Without a symbol, image and offset replace the name. The last column is an input for
 * addr2line and gdb; file and line follow it. */
#include <inttypes.h>
#include <string.h>

#include "arch_regs.h"
#include "arch_syscall.h"
#include "base_text.h"
#include "demangle.h"
#include "report_analyse.h"
#include "report_view.h"
#include "report_walk.h"

#define NAME_COLUMN_MAX 56u /* a longer name shifts only the column of its own line */

const char *sonde__report_image_name(const struct sonde__report *report, uint32_t image)
{
    const char *name =
        sonde__base_file_name(sonde__report_text(report, sonde__report_image(report, image)->path));
    return *name != '\0' ? name : "?";
}

const char *sonde__report_syscall_name(const struct sonde__report *report, int64_t number)
{
    const char *arch = sonde__report_header(report)->arch;
    if (strcmp(arch, "x86_64") == 0) {
        return sonde__arch_syscall_name(SONDE_ARCH_X86_64, number);
    }
    return strcmp(arch, "aarch64") == 0 ? sonde__arch_syscall_name(SONDE_ARCH_AARCH64, number)
                                        : NULL;
}

void sonde__report_put_syscall(struct sonde__report_out *out, const struct sonde__report *report,
                               int64_t syscall)
{
    const char *name = sonde__report_syscall_name(report, syscall - 1);
    if (name != NULL) {
        sonde__report_out_str(out, name);
        return;
    }
    sonde__report_out_print(out, "system call %" PRId64, syscall - 1);
}

void sonde__report_put_thread_name(struct sonde__report_out *out,
                                   const struct sonde__report *report, uint32_t name)
{
    const char *text = sonde__report_text(report, name);
    if (*text != '\0') {
        sonde__report_out_print(out, " \"%s\"", text);
    }
}

/* Printed piece by piece, which is faster: most of a view is frames. */
static void put_place(struct sonde__report_out *out, const struct sonde__report *report,
                      const struct sonde__report_frame *frame)
{
    if (frame->image == 0) {
        sonde__report_out_hex(out, frame->offset);
        return;
    }
    sonde__report_out_text(out, sonde__report_image_name(report, frame->image));
    sonde__report_out_str(out, "+");
    sonde__report_out_hex(out, frame->offset);
}

const char *sonde__report_function(const struct sonde__report_out *out,
                                   const struct sonde__report *report, uint32_t name, char *buffer)
{
    const char *text = sonde__report_text(report, name);
    return out->raw_names ? text : sonde__demangle(text, buffer);
}

void sonde__report_put_name(struct sonde__report_out *out, const struct sonde__report *report,
                            uint32_t name)
{
    char buffer[SONDE__DEMANGLE_OUTPUT_MAX];
    const char *text = sonde__report_function(out, report, name, buffer);
    sonde__report_out_text(out, *text != '\0' ? text : "?");
}

void sonde__report_put_function(struct sonde__report_out *out, const struct sonde__report *report,
                                const struct sonde__report_frame *frame)
{
    if (frame->lost_count != 0) {
        sonde__report_out_str(out, "...");
    } else if ((frame->how & SONDE_HOW_SIGNAL) != 0) {
        sonde__report_out_str(out, "<signal>");
    } else if (*sonde__report_text(report, frame->name) == '\0') {
        put_place(out, report, frame);
    } else {
        sonde__report_put_name(out, report, frame->name);
        if (frame->name_source == SONDE__REPORT_NAME_PLT) {
            sonde__report_out_str(out, "@plt");
        }
    }
}

static bool has_name(const struct sonde__report *report, const struct sonde__report_frame *frame)
{
    return *sonde__report_text(report, frame->name) != '\0' || (frame->how & SONDE_HOW_SIGNAL) != 0;
}

static uint32_t hex_digits(uint64_t value)
{
    uint32_t digits = 1;
    for (; value > 15; value >>= 4) {
        digits++;
    }
    return digits;
}

static uint32_t decimal_digits(uint64_t value)
{
    uint32_t digits = 1;
    for (; value > 9; value /= 10) {
        digits++;
    }
    return digits;
}

/* Characters of "function+0x12" or "function" as put_step prints it; 0: no name. */
static uint32_t name_width(const struct sonde__report_out *out, const struct sonde__report *report,
                           const struct sonde__report_step *step)
{
    char buffer[SONDE__DEMANGLE_OUTPUT_MAX];
    const struct sonde__report_frame *frame = step->frame;
    uint32_t name = sonde__report_shown(step).name;
    uint32_t width;
    if (step->kind == SONDE__REPORT_STEP_GAP) {
        return 0;
    }
    if (step->kind != SONDE__REPORT_STEP_INLINED && (frame->how & SONDE_HOW_SIGNAL) != 0) {
        return (uint32_t)strlen("<signal>");
    }
    width = sonde__report_text_width(sonde__report_function(out, report, name, buffer));
    if (width == 0 || step->kind == SONDE__REPORT_STEP_INLINED ||
        step->kind == SONDE__REPORT_STEP_SCRIPT) {
        return width;
    }
    return width + (frame->name_source == SONDE__REPORT_NAME_PLT ? 4 : 0) + 3 +
           hex_digits(frame->name_offset);
}

/* A mark for a pc found by weaker means than call frame information. */
static const char *mark_of(uint32_t how)
{
    switch (how & SONDE_HOW_FOUND_MASK) {
    case SONDE_FOUND_FP:
        return "  [frame pointer]";
    case SONDE_FOUND_INFERRED:
        return "  [inferred]";
    case SONDE_FOUND_ASYNC:
        return "  [async]";
    default:
        return "";
    }
}

struct layout {
    bool folds;           /* fold the interpreter's frames */
    uint32_t index_width; /* digits of the largest depth */
    uint32_t name_width;
    uint32_t name_column, place_column;
};

/* "  main.c:12" */
static void put_source(struct sonde__report_out *out, const struct sonde__report *report,
                       const struct sonde__report_shown *shown)
{
    const char *file = sonde__report_text(report, shown->file);
    if (*file == '\0') {
        return;
    }
    sonde__report_out_print(out, "  %s", file);
    if (shown->line != 0) {
        sonde__report_out_print(out, ":%u", shown->line);
    }
}

static void put_marks(struct sonde__report_out *out, const struct sonde__report *report,
                      const struct sonde__report_step *step)
{
    const struct sonde__report_frame *frame = step->frame;
    if (step->kind == SONDE__REPORT_STEP_INLINED) {
        sonde__report_out_str(out, "  " SONDE__REPORT_MARK_INLINED);
        return;
    }
    if (frame->image == 0) {
        sonde__report_out_str(out, frame->name_source == SONDE__REPORT_NAME_JIT ? "  [JIT]"
                                                                                : "  [no image]");
        if (frame->code_id != 0) {
            sonde__report_out_str(out, "  [code ");
            sonde__report_out_code_id(out, frame->code_id);
            sonde__report_out_str(out, "]");
        }
    } else if ((sonde__report_image(report, frame->image)->flags & SONDE__IMAGE_DELETED) != 0) {
        sonde__report_out_str(out, "  [file replaced or deleted]");
    }
    sonde__report_out_str(out, step->kind == SONDE__REPORT_STEP_TAIL_CALL
                                   ? "  [tail call, inferred]"
                                   : mark_of(frame->how));
}

/* Print the function's name and offset, or else its place. True: the place has not been printed. */
static bool put_name(struct sonde__report_out *out, const struct sonde__report *report,
                     const struct sonde__report_step *step)
{
    bool named = step->kind == SONDE__REPORT_STEP_INLINED || has_name(report, step->frame);
    sonde__report_out_color(out, named ? SONDE__REPORT_BOLD : SONDE__REPORT_PLAIN);
    if (step->kind == SONDE__REPORT_STEP_INLINED) {
        sonde__report_put_name(out, report, step->inlined->name);
    } else {
        sonde__report_put_function(out, report, step->frame);
    }
    sonde__report_out_color(out, SONDE__REPORT_PLAIN);
    if (named && step->kind != SONDE__REPORT_STEP_INLINED &&
        (step->frame->how & SONDE_HOW_SIGNAL) == 0) {
        sonde__report_out_str(out, "+");
        sonde__report_out_hex(out, step->frame->name_offset);
    }
    return named;
}

/* "  [task save-1, created by accept session.py:40]" */
static void put_task(struct sonde__report_out *out, const struct sonde__report *report,
                     const struct sonde__report_step *step)
{
    const struct sonde__report_frame *creator = sonde__report_frame(report, step->creator);
    sonde__report_out_print(out, "  [task %s", sonde__report_text(report, step->task));
    if (step->creator != 0) {
        sonde__report_out_print(out, ", created by %s %s:%u",
                                sonde__report_text(report, creator->name),
                                sonde__report_text(report, creator->file), creator->line);
    }
    sonde__report_out_str(out, "]");
}

/* "Session.save   session.py:88  [Python]  [task save-1]" */
static void put_script(struct sonde__report_out *out, const struct sonde__report *report,
                       const struct sonde__report_step *step, const struct layout *layout)
{
    struct sonde__report_shown shown = sonde__report_shown(step);
    sonde__report_out_color(out, SONDE__REPORT_CYAN);
    sonde__report_put_name(out, report, shown.name);
    sonde__report_out_color(out, SONDE__REPORT_PLAIN);
    sonde__report_out_tab(out, layout->place_column - 2);
    put_source(out, report, &shown);
    if (step->frame->language != 0) {
        sonde__report_out_print(out, "  [%s]", sonde__report_text(report, step->frame->language));
    }
    if (step->task != 0) {
        put_task(out, report, step);
    }
    sonde__report_out_str(out, "\n");
}

void sonde__report_put_tail_ways(struct sonde__report_out *out, uint32_t ways)
{
    sonde__report_out_str(out, "... tail calls, ");
    if (ways == UINT32_MAX) {
        sonde__report_out_str(out, "any number of");
    } else {
        sonde__report_out_dec(out, ways);
    }
    sonde__report_out_str(out, " ways ...\n");
}

/* Print a step, after its number. */
static void put_step(struct sonde__report_out *out, const struct sonde__report *report,
                     const struct sonde__report_step *step, const struct layout *layout)
{
    struct sonde__report_shown shown = sonde__report_shown(step);
    if (step->kind == SONDE__REPORT_STEP_GAP) {
        sonde__report_out_print(out, "... %" PRIu64, step->frame->lost_count);
        sonde__report_out_str(out, step->frame->lost_count == 1 ? " frame left out ...\n"
                                                                : " frames left out ...\n");
        return;
    }
    if (step->kind == SONDE__REPORT_STEP_SCRIPT) {
        put_script(out, report, step, layout);
        return;
    }
    if (step->kind == SONDE__REPORT_STEP_TAIL_CALL && step->frame->alternatives != 0) {
        sonde__report_put_tail_ways(out, step->frame->alternatives);
        return;
    }
    if (put_name(out, report, step)) {
        sonde__report_out_tab(out, layout->place_column);
        sonde__report_out_color(out, SONDE__REPORT_DIM);
        put_place(out, report, step->frame);
        sonde__report_out_color(out, SONDE__REPORT_PLAIN);
    }
    put_source(out, report, &shown);
    put_marks(out, report, step);
    sonde__report_out_str(out, "\n");
}

static bool is_hidden(const struct sonde__report *report, const struct sonde__report_step *step,
                      const struct layout *layout)
{
    return layout->folds && step->kind != SONDE__REPORT_STEP_GAP &&
           ((step->runs_script && step->kind != SONDE__REPORT_STEP_SCRIPT) ||
            sonde__report_is_interpreter(report, step->frame) || step->frame->alternatives != 0);
}

static bool is_numbered(enum sonde__report_step_kind kind)
{
    return kind != SONDE__REPORT_STEP_GAP && kind != SONDE__REPORT_STEP_TAIL_CALL;
}

static struct layout measure(const struct sonde__report_out *out,
                             const struct sonde__report *report, uint32_t stack, uint32_t indent)
{
    struct layout layout = {.index_width = 1,
                            .folds = !out->unfolded && sonde__report_has_script(report, stack)};
    struct sonde__report_walk walk;
    struct sonde__report_step step;
    sonde__report_walk_begin(&walk, report, stack);
    for (uint32_t n = 0; n < SONDE__REPORT_VIEW_FRAMES_MAX && sonde__report_walk_next(&walk, &step);
         n++) {
        uint32_t width = is_hidden(report, &step, &layout) ? 0 : name_width(out, report, &step);
        if (width > layout.name_width && width <= NAME_COLUMN_MAX) {
            layout.name_width = width;
        }
        if (is_numbered(step.kind) && decimal_digits(step.depth) > layout.index_width) {
            layout.index_width = decimal_digits(step.depth);
        }
    }
    layout.name_column = indent + 1 + layout.index_width + 2;
    layout.place_column = layout.name_column + layout.name_width + 3;
    return layout;
}

/* Is it a system library's frame that app_only hides? Gaps are not folded. */
static bool is_folded(const struct sonde__report_out *out, const struct sonde__report *report,
                      const struct sonde__report_step *step)
{
    return out->app_only && step->kind != SONDE__REPORT_STEP_GAP &&
           !sonde__report_frame_is_app(report, step->frame);
}

static void put_folded(struct sonde__report_out *out, uint64_t *count, uint32_t column)
{
    if (*count != 0) {
        sonde__report_out_tab(out, column);
        sonde__report_out_print(out, "... %" PRIu64, *count);
        sonde__report_out_str(out, *count == 1 ? " system frame ...\n" : " system frames ...\n");
        *count = 0;
    }
}

/* Print one chain. Returns the first stack that awaits one of its frames, or 0. */
static uint32_t put_chain(struct sonde__report_out *out, const struct sonde__report *report,
                          uint32_t stack, uint32_t indent, uint32_t *frames)
{
    struct layout layout = measure(out, report, stack, indent);
    struct sonde__report_walk walk;
    struct sonde__report_step step;
    uint32_t shown = *frames;
    uint64_t folded = 0;
    sonde__report_walk_begin(&walk, report, stack);
    while (shown < SONDE__REPORT_VIEW_FRAMES_MAX && !out->stopped &&
           sonde__report_walk_next(&walk, &step)) {
        if (is_hidden(report, &step, &layout)) {
            continue;
        }
        if (is_folded(out, report, &step)) {
            folded += step.kind == SONDE__REPORT_STEP_PHYSICAL;
            continue;
        }
        put_folded(out, &folded, layout.name_column);
        if (is_numbered(step.kind)) {
            sonde__report_out_tab(out, indent);
            sonde__report_out_str(out, "#");
            sonde__report_out_dec(out, step.depth);
        }
        sonde__report_out_tab(out, layout.name_column);
        put_step(out, report, &step, &layout);
        shown++;
    }
    put_folded(out, &folded, layout.name_column);
    if (walk.node != 0) {
        sonde__report_out_tab(out, layout.name_column);
        sonde__report_out_print(out, "... %u more frames not shown ...\n",
                                sonde__report_node(report, walk.node)->depth);
        return 0;
    }
    *frames = shown;
    return walk.awaiter;
}

/* Awaiters have smaller ids, so this ends. */
void sonde__report_put_stack(struct sonde__report_out *out, const struct sonde__report *report,
                             uint32_t stack, uint32_t indent)
{
    uint32_t frames = 0;
    uint32_t awaiter = put_chain(out, report, stack, indent, &frames);
    while (awaiter != 0 && !out->stopped) {
        sonde__report_out_tab(out, indent);
        sonde__report_out_str(out, "awaited by\n");
        frames++;
        awaiter = put_chain(out, report, awaiter, indent, &frames);
    }
}
