// SPDX-License-Identifier: Apache-2.0
/* A stack for people:
 *
 *   #0   __futex_abstimed_wait_common+0xe9   libc.so.6+0x86d29
 *   #1   python3.11+0x1d64b4
 *        ... 12345 frames left out ...
 *   #12347  <signal>                         libc.so.6+0x3c050
 *
 * Numbers are true depths: they go on after a gap. What has no symbol is its module and offset,
 * once, in the place of the name. The last column is what addr2line and gdb understand. */
#include <string.h>

#include "arch_regs.h"
#include "arch_syscall.h"
#include "demangle.h"
#include "report_view.h"

#define NAME_COLUMN_MAX 56u /* a longer name pushes its own last column only */

const char *sonde__report_module(const struct sonde__report *report, uint32_t image)
{
    const char *path = sonde__report_text(report, sonde__report_image(report, image)->path);
    const char *slash = strrchr(path, '/');
    const char *name = slash == NULL ? path : slash + 1;
    return *name != '\0' ? name : "?";
}

const char *sonde__report_syscall_name(const struct sonde__report *report, int64_t number)
{
    const char *arch = sonde__report_header(report)->arch;
    if (strcmp(arch, "x86_64") == 0) {
        return sonde__arch_syscall_name(SONDE__ARCH_X86_64, number);
    }
    return strcmp(arch, "aarch64") == 0 ? sonde__arch_syscall_name(SONDE__ARCH_AARCH64, number)
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
    sonde__report_out_str(out, "system call ");
    sonde__report_out_int(out, syscall - 1);
}

static void put_place(struct sonde__report_out *out, const struct sonde__report *report,
                      const struct sonde__report_frame *frame)
{
    if (frame->image == 0) {
        sonde__report_out_hex(out, frame->offset);
        return;
    }
    sonde__report_out_text(out, sonde__report_module(report, frame->image));
    sonde__report_out_str(out, "+");
    sonde__report_out_hex(out, frame->offset);
}

const char *sonde__report_function(const struct sonde__report_out *out,
                                   const struct sonde__report *report,
                                   const struct sonde__report_frame *frame, char *buffer)
{
    const char *name = sonde__report_text(report, frame->name);
    return out->raw_names ? name : sonde__demangle(name, buffer);
}

void sonde__report_put_function(struct sonde__report_out *out, const struct sonde__report *report,
                                const struct sonde__report_frame *frame)
{
    char buffer[SONDE__DEMANGLE_OUTPUT_MAX];
    const char *name = sonde__report_function(out, report, frame, buffer);
    if (frame->lost_count != 0) {
        sonde__report_out_str(out, "...");
    } else if ((frame->how & SONDE_HOW_SIGNAL) != 0) {
        sonde__report_out_str(out, "<signal>");
    } else if (*name == '\0') {
        put_place(out, report, frame);
    } else {
        sonde__report_out_text(out, name);
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

/* Characters of "function+0x12", as put_frame prints it. */
static uint32_t name_width(const struct sonde__report_out *out, const struct sonde__report *report,
                           const struct sonde__report_frame *frame)
{
    char buffer[SONDE__DEMANGLE_OUTPUT_MAX];
    if ((frame->how & SONDE_HOW_SIGNAL) != 0) {
        return (uint32_t)strlen("<signal>");
    }
    return sonde__report_text_width(sonde__report_function(out, report, frame, buffer)) +
           (frame->name_source == SONDE__REPORT_NAME_PLT ? 4 : 0) + 3 +
           hex_digits(frame->name_offset);
}

/* How the pc was found, where that is weaker than call frame information. */
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

static void put_frame(struct sonde__report_out *out, const struct sonde__report *report,
                      const struct sonde__report_frame *frame, uint32_t place_column)
{
    bool named = has_name(report, frame);
    sonde__report_out_color(out, named ? SONDE__REPORT_BOLD : SONDE__REPORT_PLAIN);
    sonde__report_put_function(out, report, frame);
    sonde__report_out_color(out, SONDE__REPORT_PLAIN);
    if (named) {
        if ((frame->how & SONDE_HOW_SIGNAL) == 0) {
            sonde__report_out_str(out, "+");
            sonde__report_out_hex(out, frame->name_offset);
        }
        sonde__report_out_tab(out, place_column);
        sonde__report_out_color(out, SONDE__REPORT_DIM);
        put_place(out, report, frame);
        sonde__report_out_color(out, SONDE__REPORT_PLAIN);
    }
    if (frame->image == 0) {
        sonde__report_out_str(out, "  [no image]");
    } else if ((sonde__report_image(report, frame->image)->flags & SONDE__IMAGE_DELETED) != 0) {
        sonde__report_out_str(out, "  [file replaced or deleted]");
    }
    sonde__report_out_str(out, mark_of(frame->how));
    sonde__report_out_str(out, "\n");
}

struct layout {
    uint32_t index_width; /* digits of the largest depth */
    uint32_t name_width;
};

static struct layout measure(const struct sonde__report_out *out,
                             const struct sonde__report *report, uint32_t stack)
{
    struct layout layout = {1, 0};
    uint64_t depth = 0;
    uint32_t shown = 0;
    for (uint32_t id = stack; id != 0 && shown < SONDE__REPORT_VIEW_FRAMES_MAX; shown++) {
        const struct sonde__report_node *node = sonde__report_node(report, id);
        const struct sonde__report_frame *frame = sonde__report_frame(report, node->frame);
        id = node->parent;
        if (frame->lost_count != 0) {
            depth += frame->lost_count;
            continue;
        }
        if (has_name(report, frame)) {
            uint32_t width = name_width(out, report, frame);
            if (width > layout.name_width && width <= NAME_COLUMN_MAX) {
                layout.name_width = width;
            }
        }
        if (decimal_digits(depth) > layout.index_width) {
            layout.index_width = decimal_digits(depth);
        }
        depth++;
    }
    return layout;
}

void sonde__report_put_stack(struct sonde__report_out *out, const struct sonde__report *report,
                             uint32_t stack, uint32_t indent)
{
    struct layout layout = measure(out, report, stack);
    uint32_t name_column = indent + 1 + layout.index_width + 2;
    uint32_t place_column = name_column + layout.name_width + 3;
    uint64_t depth = 0;
    uint32_t shown = 0, id = stack;
    for (; id != 0 && shown < SONDE__REPORT_VIEW_FRAMES_MAX && !out->stopped; shown++) {
        const struct sonde__report_node *node = sonde__report_node(report, id);
        const struct sonde__report_frame *frame = sonde__report_frame(report, node->frame);
        id = node->parent;
        if (frame->lost_count != 0) {
            sonde__report_out_tab(out, name_column);
            sonde__report_out_str(out, "... ");
            sonde__report_out_dec(out, frame->lost_count);
            sonde__report_out_str(out, frame->lost_count == 1 ? " frame left out ...\n"
                                                              : " frames left out ...\n");
            depth += frame->lost_count;
            continue;
        }
        sonde__report_out_tab(out, indent);
        sonde__report_out_str(out, "#");
        sonde__report_out_dec(out, depth++);
        sonde__report_out_tab(out, name_column);
        put_frame(out, report, frame, place_column);
    }
    if (id != 0) {
        sonde__report_out_tab(out, name_column);
        sonde__report_out_str(out, "... ");
        sonde__report_out_dec(out, sonde__report_node(report, id)->depth);
        sonde__report_out_str(out, " more frames not shown ...\n");
    }
}
