// SPDX-License-Identifier: Apache-2.0
/* The text view of a whole report: a heading, the stalls or the threads, then what was not read,
 * not kept or not finished. */
#include <string.h>

#include "mem_heap.h"
#include "report_read.h"
#include "report_view.h"

static void put_heading(struct sonde__report_out *out, const struct sonde__report *report)
{
    const struct sonde__report_header *h = sonde__report_header(report);
    sonde__report_out_color(out, SONDE__REPORT_BOLD);
    sonde__report_out_str(out, strcmp(h->source, "core") == 0 ? "core of process" : "process");
    if (h->pid != 0) {
        sonde__report_out_str(out, " ");
        sonde__report_out_int(out, h->pid);
    }
    sonde__report_out_color(out, SONDE__REPORT_PLAIN);
    if (*h->executable != '\0') {
        sonde__report_out_str(out, "  ");
        sonde__report_out_text(out, h->executable);
    }
    if (*h->arch != '\0') {
        sonde__report_out_str(out, "  ");
        sonde__report_out_text(out, h->arch);
    }
    if (h->kind == SONDE__REPORT_STACKS) {
        uint32_t count = sonde__report_thread_count(report);
        sonde__report_out_str(out, "  ");
        sonde__report_out_dec(out, count);
        sonde__report_out_str(out, count == 1 ? " thread" : " threads");
    }
    if (h->pause_ns != 0) {
        sonde__report_out_str(out, "  stopped for ");
        sonde__report_out_duration(out, h->pause_ns);
    }
    if (h->threshold_ns != 0) {
        sonde__report_out_str(out, "  stalls of ");
        sonde__report_out_duration(out, h->threshold_ns);
        sonde__report_out_str(out, " and more");
    }
    sonde__report_out_str(out, "\n");
}

static void put_images(struct sonde__report_out *out, const struct sonde__report *report)
{
    uint32_t count = sonde__report_image_count(report);
    sonde__report_out_str(out, count == 0 ? "" : "\nimages\n");
    for (uint32_t id = 1; id <= count && !out->stopped; id++) {
        const struct sonde__report_image *image = sonde__report_image(report, id);
        static const char digits[] = "0123456789abcdef";
        char build_id[2 * SONDE__BUILD_ID_MAX + 1] = "no build-id";
        for (size_t i = 0; i < image->build_id.size; i++) {
            build_id[2 * i] = digits[image->build_id.bytes[i] >> 4];
            build_id[2 * i + 1] = digits[image->build_id.bytes[i] & 15];
            build_id[2 * i + 2] = '\0';
        }
        sonde__report_out_str(out, "  ");
        sonde__report_out_str(out, build_id);
        if (image->code_id != 0) {
            sonde__report_out_str(out, ", code ");
            sonde__report_out_code_id(out, image->code_id);
        }
        sonde__report_out_tab(out, 44);
        sonde__report_out_text(out, sonde__report_text(report, image->path));
        sonde__report_out_str(out, (image->flags & SONDE__IMAGE_DELETED) != 0
                                       ? "  [file replaced or deleted]\n"
                                       : "\n");
    }
}

static void put_count(struct sonde__report_out *out, uint64_t count, const char *what)
{
    if (count != 0) {
        sonde__report_out_str(out, "note: left out, over a limit or out of memory: ");
        sonde__report_out_dec(out, count);
        sonde__report_out_str(out, what);
    }
}

static void put_losses(struct sonde__report_out *out, const struct sonde__report *report,
                       const struct sonde__report_loss *loss)
{
    char line[SONDE__REPORT_LOSS_LINE];
    const struct sonde__report_lost *lost = sonde__report_lost(report);
    const struct sonde__report_end *end = sonde__report_end(report);
    for (uint32_t i = 0; i < sonde__report_note_count(report); i++) {
        sonde__report_out_str(out, i == 0 ? "\nnote: " : "note: ");
        sonde__report_out_text(out, sonde__report_note(report, i));
        sonde__report_out_str(out, "\n");
    }
    put_count(out, lost->threads, " threads\n");
    put_count(out, lost->stalls, " stalls\n");
    put_count(out, lost->samples, " samples\n");
    put_count(out, lost->nodes + lost->frames, " frames\n");
    put_count(out, lost->images, " images\n");
    put_count(out, lost->strings, " names or texts\n");
    put_count(out, lost->notes, " notes\n");
    put_count(out, lost->calls, " recorded calls\n");
    put_count(out, lost->heap_blocks, " groups of blocks\n");
    if (end != NULL && end->lost_records != 0) {
        put_count(out, end->lost_records, " records, when the report was made\n");
    }
    if (loss != NULL) {
        sonde__report_loss_line(loss, line, sizeof line);
        if (*line != '\0') {
            sonde__report_out_color(out, SONDE__REPORT_RED);
            sonde__report_out_str(out, "\ndamaged: ");
            sonde__report_out_str(out, line);
            sonde__report_out_color(out, SONDE__REPORT_PLAIN);
            sonde__report_out_str(out, "\n");
        }
    }
}

static void put_totals(struct sonde__report_out *out, const struct sonde__report *report)
{
    const struct sonde__report_end *end = sonde__report_end(report);
    uint32_t shown = sonde__report_stall_count(report);
    uint64_t count = end == NULL ? shown : end->stall_count;
    sonde__report_out_str(out, "\n");
    sonde__report_out_dec(out, count);
    sonde__report_out_str(out, count == 1 ? " stall" : " stalls");
    if (count > shown) {
        sonde__report_out_str(out, " (");
        sonde__report_out_dec(out, count - shown);
        sonde__report_out_str(out, " not in this report)");
    }
    if (end != NULL) {
        sonde__report_out_str(out, " in ");
        sonde__report_out_duration(out, end->watched_ns);
        sonde__report_out_str(out, ", ");
        sonde__report_out_dec(out, end->turn_count);
        sonde__report_out_str(out, end->turn_count == 1 ? " turn" : " turns");
    }
    sonde__report_out_str(out, "\n");
}

/* Grouping needs one array; without memory for it each thread is shown on its own. */
static void put_all_threads(struct sonde__report_out *out, const struct sonde__report *report,
                            bool unfolded)
{
    uint32_t count = sonde__report_thread_count(report);
    struct sonde__report_thread *threads = sonde__mem_alloc_array(count, sizeof *threads);
    for (uint32_t i = 0; i < count; i++) {
        if (threads == NULL) {
            sonde__report_put_threads(out, report, sonde__report_thread(report, i), 1, true);
        } else {
            threads[i] = *sonde__report_thread(report, i);
        }
    }
    if (threads != NULL) {
        sonde__report_put_threads(out, report, threads, count, unfolded);
    }
    sonde__mem_free(threads);
}

static struct sonde__report_out *begin(const struct sonde__report_view *view,
                                       struct sonde__report_sink sink,
                                       struct sonde__report_out *out)
{
    sonde__report_out_init(out, sink, view->color);
    out->raw_names = view->raw_names;
    out->physical_only = view->physical_only;
    out->app_only = view->app_only;
    return out;
}

static const struct sonde__report_view plain_view;

void sonde__report_text_stall(const struct sonde__report *report, uint32_t index,
                              const struct sonde__report_view *view, struct sonde__report_sink sink)
{
    struct sonde__report_out out;
    view = view == NULL ? &plain_view : view;
    sonde__report_put_stall(begin(view, sink, &out), report, index, view);
    sonde__report_out_flush(&out);
}

void sonde__report_text_calls(const struct sonde__report *report,
                              const struct sonde__report_view *view, struct sonde__report_sink sink)
{
    struct sonde__report_out out;
    view = view == NULL ? &plain_view : view;
    sonde__report_put_calls(begin(view, sink, &out), report, view);
    sonde__report_out_flush(&out);
}

void sonde__report_text_heap_blocks(const struct sonde__report *report, uint32_t first,
                                    const struct sonde__report_view *view,
                                    struct sonde__report_sink sink)
{
    struct sonde__report_out out;
    view = view == NULL ? &plain_view : view;
    sonde__report_put_heap_blocks(begin(view, sink, &out), report, first);
    sonde__report_out_flush(&out);
}

void sonde__report_text_view(const struct sonde__report *report,
                             const struct sonde__report_view *view, struct sonde__report_sink sink)
{
    struct sonde__report_out out;
    const struct sonde__report_header *header = sonde__report_header(report);
    view = view == NULL ? &plain_view : view;
    put_heading(begin(view, sink, &out), report);
    for (uint32_t i = 0; i < sonde__report_stall_count(report) && !out.stopped; i++) {
        sonde__report_put_stall(&out, report, i, view);
    }
    if (header->kind == SONDE__REPORT_WATCH) {
        put_totals(&out, report);
    }
    if (sonde__report_thread_count(report) != 0) {
        put_all_threads(&out, report, view->unfolded);
    }
    sonde__report_put_calls(&out, report, view);
    sonde__report_put_heap_blocks(&out, report, 0);
    if (view->images) {
        put_images(&out, report);
    }
    put_losses(&out, report, view->loss);
    sonde__report_out_flush(&out);
}
