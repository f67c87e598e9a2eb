// SPDX-License-Identifier: Apache-2.0
/* A report in the formats of other tools (style.h), one line for each captured frame. Gaps, inlined
 * calls and tail calls are left out, because these formats have none.
 *
 * Addresses are those of the process where the report was made. A report from a file does not have
 * the addresses of images, so offsets are shown. */
#include "report_analyse.h"
#include "report_view.h"
#include "report_walk.h"
#include "style.h"

/* A name and a path of SONDE__REPORT_STRING_BYTES_MAX each, and the rest of a line. */
#define LINE_BYTES (2 * SONDE__REPORT_STRING_BYTES_MAX + 256)

struct styled {
    struct sonde__report_out *out;
    const struct sonde__report *report;
    enum sonde_style style;
    char line[LINE_BYTES];
};

/* Print a line; the formats do not escape names and paths, so control characters are made
 * visible. */
static void flush(struct styled *s, struct sonde__text *text)
{
    char *at = s->line;
    for (size_t i = 0; i <= text->length; i++) {
        if (s->line[i] == '\n' || i == text->length) {
            bool newline = s->line[i] == '\n';
            s->line[i] = '\0';
            sonde__report_out_text(s->out, at);
            sonde__report_out_str(s->out, newline ? "\n" : "");
            at = &s->line[i + 1];
        }
    }
}

static void put_frame(struct styled *s, const struct sonde__report_step *step)
{
    const struct sonde__report_frame *f = step->frame;
    const struct sonde__report_image *image = sonde__report_image(s->report, f->image);
    struct sonde__text text;
    struct sonde__style_frame frame = {
        .index = step->depth,
        .pc = f->offset + image->bias,
        .image = f->image != 0 ? sonde__report_text(s->report, image->path) : "",
        .image_base = image->start,
        .image_bias = image->bias,
        .name = sonde__report_text(s->report, f->name),
        .plt = f->name_source == SONDE__REPORT_NAME_PLT,
        .start = f->offset + image->bias - f->name_offset,
        .build_id = image->build_id.bytes,
        .build_id_size = image->build_id.size,
    };
    if (f->image != 0 && frame.image[0] == '\0') {
        frame.image = "?";
    }
    sonde__base_text_init(&text, s->line, sizeof s->line);
    sonde__style_line(&text, s->style, &frame);
    flush(s, &text);
    sonde__report_out_str(s->out, "\n");
}

static void put_stack(struct styled *s, int64_t tid, uint32_t stack)
{
    struct sonde__report_walk walk;
    struct sonde__report_step step;
    struct sonde__text text;
    sonde__base_text_init(&text, s->line, sizeof s->line);
    sonde__style_begin(&text, s->style, tid);
    flush(s, &text);
    sonde__report_walk_begin(&walk, s->report, stack);
    for (uint32_t n = 0; n < SONDE__REPORT_VIEW_FRAMES_MAX && !s->out->stopped &&
                         sonde__report_walk_next(&walk, &step);
         n++) {
        if (step.kind == SONDE__REPORT_STEP_PHYSICAL || step.kind == SONDE__REPORT_STEP_ASYNC) {
            put_frame(s, &step);
        }
    }
    sonde__base_text_init(&text, s->line, sizeof s->line);
    sonde__style_end(&text, s->style);
    flush(s, &text);
}

/* Separates threads in formats that have no syntax for it. */
static void put_thread(struct styled *s, const char *what, int64_t tid, uint32_t name,
                       uint32_t stack, bool alone)
{
    if (s->style != SONDE_STYLE_BS && !alone) {
        sonde__report_out_str(s->out, what);
        sonde__report_out_int(s->out, tid);
        sonde__report_put_thread_name(s->out, s->report, name);
        sonde__report_out_str(s->out, "\n");
    }
    put_stack(s, tid, stack);
    if (s->style != SONDE_STYLE_BS && !alone) {
        sonde__report_out_str(s->out, "\n");
    }
}

static void put_stall(struct styled *s, const struct sonde__report_stall *stall)
{
    struct sonde__report_analysis analysis;
    if (sonde__report_analyse(s->report, stall, &analysis) == SONDE_OK) {
        put_thread(s, "stall of thread ", stall->tid, stall->thread_name, analysis.stack, false);
        sonde__report_analysis_done(&analysis);
    }
    for (uint32_t i = 0; i < stall->thread_count && !s->out->stopped; i++) {
        const struct sonde__report_thread *t = &stall->threads[i];
        put_thread(s, "thread ", t->tid, t->name, t->stack, false);
    }
}

void sonde__report_style_view(const struct sonde__report *report, enum sonde_style style,
                              struct sonde__report_sink sink)
{
    struct sonde__report_out out;
    struct styled s = {.out = &out, .report = report, .style = style};
    uint32_t count = sonde__report_thread_count(report);
    struct sonde__text text;
    sonde__report_out_init(&out, sink, false);
    for (uint32_t i = 0; i < sonde__report_stall_count(report) && !out.stopped; i++) {
        put_stall(&s, sonde__report_stall(report, i));
    }
    if (count > 1) {
        sonde__base_text_init(&text, s.line, sizeof s.line);
        sonde__style_begin_all(&text, style, count);
        flush(&s, &text);
    }
    for (uint32_t i = 0; i < count && !out.stopped; i++) {
        const struct sonde__report_thread *t = sonde__report_thread(report, i);
        put_thread(&s, "thread ", t->tid, t->name, t->stack, count == 1);
    }
    sonde__report_out_flush(&out);
}
