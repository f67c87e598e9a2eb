// SPDX-License-Identifier: Apache-2.0
/* The text view of a whole report: a heading, the stalls or threads, then what was not read, kept
 * or finished. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base_status.h"
#include "base_text.h"
#include "mem_heap.h"
#include "report_group.h"
#include "report_read.h"
#include "report_turns.h"
#include "report_view.h"

static void put_known(struct sonde__report_out *out, const char *before, const char *text,
                      bool *first)
{
    if (*text != '\0') {
        sonde__report_out_print(out, "%s%s", *first ? "" : before, text);
        *first = false;
    }
}

/* The caller's description of the run. */
static void put_origin(struct sonde__report_out *out, const struct sonde__report_header *h)
{
    if (*h->build != '\0') {
        sonde__report_out_print(out, "build %s", h->build);
        sonde__report_out_str(out, h->tag_count != 0 ? "  " : "\n");
    }
    for (uint32_t i = 0; i < h->tag_count; i++) {
        sonde__report_out_print(out, "%s%s=%s", i == 0 ? "tags " : ", ", h->tags[i].key,
                                h->tags[i].value);
    }
    sonde__report_out_str(out, h->tag_count != 0 ? "\n" : "");
}

/* The report's id and where it was made. */
static void put_device(struct sonde__report_out *out, const struct sonde__report_header *h)
{
    const struct sonde__report_device *d = &h->device;
    bool first = true, is_known = *d->id != '\0' || *d->model != '\0' || *d->os != '\0' ||
                                  *d->kernel != '\0' || *d->cpu != '\0' || d->cpu_count != 0;
    sonde__report_out_str(out, is_known ? "\ndevice  " : "");
    put_known(out, "", d->id, &first);
    put_known(out, ", ", d->model, &first);
    put_known(out, ", ", d->os, &first);
    put_known(out, ", ", d->kernel, &first);
    put_known(out, ", ", d->cpu, &first);
    if (d->cpu_count != 0) {
        sonde__report_out_print(out, "%s%u CPU%s", first ? "" : ", ", d->cpu_count,
                                sonde__base_plural(d->cpu_count));
        first = false;
    }
    sonde__report_out_str(out, first ? "" : "\n");
    if (*h->report_id != '\0') {
        sonde__report_out_str(out, is_known ? "report  " : "\nreport  ");
        sonde__report_out_print(out, "%s\n", h->report_id);
    }
}

static void put_heading(struct sonde__report_out *out, const struct sonde__report *report)
{
    const struct sonde__report_header *h = sonde__report_header(report);
    sonde__report_out_color(out, SONDE__REPORT_BOLD);
    sonde__report_out_str(out, strcmp(h->source, "core") == 0 ? "core of process" : "process");
    if (h->pid != 0) {
        sonde__report_out_print(out, " %d", h->pid);
    }
    sonde__report_out_color(out, SONDE__REPORT_PLAIN);
    if (*h->executable != '\0') {
        sonde__report_out_print(out, "  %s", h->executable);
    }
    if (*h->arch != '\0') {
        sonde__report_out_print(out, "  %s", h->arch);
    }
    if (h->kind == SONDE__REPORT_STACKS) {
        uint32_t count = sonde__report_thread_count(report);
        sonde__report_out_print(out, "  %u thread%s", count, sonde__base_plural(count));
    }
    if (h->pause_ns != 0) {
        sonde__report_out_print(out, "  stopped for %s", sonde__report_duration(h->pause_ns).text);
    }
    if (h->threshold_ns != 0) {
        sonde__report_out_print(out, "  stalls of %s and more",
                                sonde__report_duration(h->threshold_ns).text);
    }
    sonde__report_out_str(out, "\n");
    put_origin(out, h);
}

static void put_images(struct sonde__report_out *out, const struct sonde__report *report)
{
    uint32_t count = sonde__report_image_count(report);
    sonde__report_out_str(out, count == 0 ? "" : "\nimages\n");
    for (uint32_t id = 1; id <= count && !out->stopped; id++) {
        const struct sonde__report_image *image = sonde__report_image(report, id);
        char build_id[SONDE__REPORT_BUILD_ID_TEXT];
        sonde__report_out_print(out, "  %s",
                                image->build_id.size == 0
                                    ? "no build-id"
                                    : sonde__report_build_id_text(&image->build_id, build_id));
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
        sonde__report_out_print(
            out, "note: left out, over a limit or out of memory: %" PRIu64 " %s\n", count, what);
    }
}

/* A deadlock, which a reader of stacks looks for first. */
static bool is_circle(const char *note)
{
    return strncmp(note, "deadlock: ", 10) == 0 || strncmp(note, "circle of waits: ", 17) == 0;
}

static void put_circles(struct sonde__report_out *out, const struct sonde__report *report)
{
    for (uint32_t i = 0; i < sonde__report_note_count(report); i++) {
        const char *note = sonde__report_note(report, i);
        if (is_circle(note)) {
            sonde__report_out_color(out, SONDE__REPORT_RED);
            sonde__report_out_text(out, note);
            sonde__report_out_color(out, SONDE__REPORT_PLAIN);
            sonde__report_out_str(out, "\n");
        }
    }
}

static const char *loss_kind(const struct sonde__report_loss *loss)
{
    return sonde__report_is_damaged(loss) ? "damaged" : loss->unfinished ? "unfinished" : "newer";
}

static void put_losses(struct sonde__report_out *out, const struct sonde__report *report,
                       const struct sonde__report_loss *loss)
{
    char line[SONDE__REPORT_LOSS_LINE];
    const struct sonde__report_lost *lost = sonde__report_lost(report);
    const struct sonde__report_end *end = sonde__report_end(report);
    bool any = false;
    for (uint32_t i = 0; i < sonde__report_note_count(report); i++) {
        if (!is_circle(sonde__report_note(report, i))) {
            sonde__report_out_str(out, any ? "note: " : "\nnote: ");
            sonde__report_out_print(out, "%s\n", sonde__report_note(report, i));
            any = true;
        }
    }
    put_count(out, lost->threads, "threads");
    put_count(out, lost->stalls, "stalls");
    put_count(out, lost->samples, "samples");
    put_count(out, lost->nodes + lost->frames, "frames");
    put_count(out, lost->images, "images");
    put_count(out, lost->strings, "names or texts");
    put_count(out, lost->notes, "notes");
    put_count(out, lost->calls, "recorded calls");
    put_count(out, lost->heap_blocks, "groups of blocks");
    put_count(out, lost->tasks, "groups of tasks");
    put_count(out, lost->processes, "processes");
    put_count(out, lost->phases + lost->rules, "phases or rules");
    put_count(out, lost->waits, "waits");
    put_count(out, lost->stall_counts, "counts of stalls");
    put_count(out, lost->details, "tags, arguments or unsampled times");
    if (end != NULL && end->lost_records != 0) {
        put_count(out, end->lost_records, "records, when the report was made");
    }
    if (loss != NULL) {
        sonde__report_loss_line(loss, line, sizeof line);
        if (*line != '\0') {
            sonde__report_out_color(out, SONDE__REPORT_RED);
            sonde__report_out_print(out, "\n%s: %s", loss_kind(loss), line);
            sonde__report_out_color(out, SONDE__REPORT_PLAIN);
            sonde__report_out_str(out, "\n");
        }
    }
}

static uint64_t counted_stalls(const struct sonde__report *report)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < sonde__report_stall_count_count(report); i++) {
        sum += sonde__report_stall_count_at(report, i)->count;
    }
    return sum;
}

/* Without its end, a report does not say how long was watched, nor what was left out. */
static void put_totals(struct sonde__report_out *out, const struct sonde__report *report,
                       const struct sonde__report_loss *loss)
{
    const struct sonde__report_end *end = sonde__report_end(report);
    uint32_t shown = sonde__report_stall_count(report);
    uint64_t counted = counted_stalls(report);
    uint64_t count = end == NULL ? shown + counted : end->stall_count;
    counted = counted < count ? counted : count; /* a damaged file may have any count */
    sonde__report_out_print(out, "\n%" PRIu64 " stall%s", count, sonde__base_plural(count));
    if (counted != 0) {
        sonde__report_out_print(out, " (%" PRIu64 " only counted)", counted);
    }
    if (count - counted > shown) {
        sonde__report_out_print(out, " (%" PRIu64 " not in this report)", count - counted - shown);
    }
    if (end != NULL) {
        sonde__report_out_print(out, " in %s, %" PRIu64 " turn%s",
                                sonde__report_duration(end->watched_ns).text, end->turn_count,
                                sonde__base_plural(end->turn_count));
    } else if (loss != NULL && loss->unfinished) {
        sonde__report_out_str(out, " in the part that was written");
    }
    sonde__report_out_str(out, "\n");
    if (end != NULL && (end->turn_count_count != 0 || end->frame_ns != 0)) {
        char text[1024];
        sonde__report_turns_text(end, text, sizeof text);
        sonde__report_out_print(out, "%s\n", text);
    }
}

/* Without memory for the array that grouping needs, each thread is shown on its own. */
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
    out->app_only = view->app_only;
    out->unfolded = view->unfolded;
    return out;
}

static const struct sonde__report_view plain_view;

/* False: no memory. */
static bool put_groups(struct sonde__report_out *out, const struct sonde__report *report,
                       const struct sonde__report_view *view)
{
    struct sonde__report_groups groups;
    if (sonde__report_group_stalls(&report, 1, &groups) != SONDE_OK) {
        return false;
    }
    for (uint32_t i = 0; i < groups.count && !out->stopped; i++) {
        const struct sonde__report_group *group = &groups.list[i];
        if (group->count == 1 && group->longest != UINT32_MAX) {
            sonde__report_put_stall(out, report, group->longest, view);
            continue;
        }
        sonde__report_out_str(out, "\n");
        sonde__report_out_color(out, SONDE__REPORT_BOLD);
        sonde__report_out_print(out, "%" PRIu64 "%s", group->count,
                                group->count == 1 ? " stall" : " equal stalls");
        sonde__report_out_color(out, SONDE__REPORT_PLAIN);
        sonde__report_out_print(out, ", %s%s%s", sonde__report_duration(group->total_ns).text,
                                group->count == 1 ? " after " : " in all, the first after ",
                                sonde__report_duration(group->first_ns).text);
        if (group->count > 1) {
            sonde__report_out_print(out, ", the last after %s%s",
                                    sonde__report_duration(group->last_ns).text,
                                    group->longest != UINT32_MAX ? "; the longest:" : "");
        }
        sonde__report_out_str(out, "\n");
        if (group->longest != UINT32_MAX) {
            sonde__report_put_stall(out, report, group->longest, view);
        } else {
            sonde__report_out_print(out, "  fingerprint            %s\n", group->id);
        }
    }
    sonde__report_groups_done(&groups);
    return true;
}

/* Stalls that the report contains as a number only. */
static void put_counts(struct sonde__report_out *out, const struct sonde__report *report)
{
    struct sonde__report_groups groups;
    if (sonde__report_stall_count_count(report) == 0 ||
        sonde__report_group_stalls(&report, 1, &groups) != SONDE_OK) {
        return;
    }
    for (uint32_t i = 0; i < groups.count && !out->stopped; i++) {
        const struct sonde__report_group *group = &groups.list[i];
        uint64_t counted = group->id[0] != '\0' ? group->counted : 0;
        if (counted == 0) {
            continue;
        }
        sonde__report_out_str(out, "\n");
        bool has_one = group->longest != UINT32_MAX;
        sonde__report_out_print(out, "%" PRIu64 "%s stall%s", counted, has_one ? " more" : "",
                                sonde__base_plural(counted));
        if (has_one) {
            sonde__report_out_print(
                out, " equal to stall %" PRIu64 ", only counted: all %" PRIu64 " lasted ",
                (uint64_t)group->longest + 1, group->count);
        } else {
            sonde__report_out_print(out, ", only counted, of fingerprint %s: ", group->id);
        }
        sonde__report_out_print(out, "%s in all, the longest %s, the last after %s\n",
                                sonde__report_duration(group->total_ns).text,
                                sonde__report_duration(group->longest_ns).text,
                                sonde__report_duration(group->last_ns).text);
    }
    sonde__report_groups_done(&groups);
}

void sonde__report_text_stall(const struct sonde__report *report, uint32_t index,
                              const struct sonde__report_view *view, struct sonde__report_sink sink)
{
    struct sonde__report_out out;
    view = view == NULL ? &plain_view : view;
    sonde__report_put_stall(begin(view, sink, &out), report, index, view);
    sonde__report_out_flush(&out);
}

/* --- several reports --- */

static int compare_total(const void *a, const void *b)
{
    const struct sonde__report_group *x = a, *y = b;
    return x->total_ns != y->total_ns ? (x->total_ns < y->total_ns) - (x->total_ns > y->total_ns)
                                      : strcmp(x->id, y->id);
}

static void put_group_of_many(struct sonde__report_out *out,
                              const struct sonde__report *const *reports, const char *const *names,
                              uint32_t count, const struct sonde__report_group *group,
                              const struct sonde__report_view *view)
{
    sonde__report_out_str(out, "\n");
    sonde__report_out_color(out, SONDE__REPORT_BOLD);
    sonde__report_out_print(out, "%" PRIu64 "%s", group->count,
                            group->count == 1 ? " stall" : " equal stalls");
    sonde__report_out_color(out, SONDE__REPORT_PLAIN);
    sonde__report_out_print(out, " in %" PRIu32 " of %" PRIu32 " reports, %s in all",
                            group->sources, count, sonde__report_duration(group->total_ns).text);
    if (group->longest == UINT32_MAX) {
        sonde__report_out_print(out,
                                ", the longest %s, only counted\n  fingerprint            %s\n",
                                sonde__report_duration(group->longest_ns).text, group->id);
        return;
    }
    sonde__report_out_print(out, "%s of ", group->count == 1 ? "," : "; the longest,");
    sonde__report_out_print(out, "%s:\n", names[group->source]);
    sonde__report_put_stall(out, reports[group->source], group->longest, view);
}

enum sonde_status sonde__report_text_groups(const struct sonde__report *const *reports,
                                            const char *const *names, uint32_t count,
                                            const struct sonde__report_view *view,
                                            struct sonde__report_sink sink)
{
    struct sonde__report_out out;
    struct sonde__report_groups groups;
    uint64_t stalls = 0;
    SONDE_TRY(sonde__report_group_stalls(reports, count, &groups));
    for (uint32_t i = 0; i < groups.count; i++) {
        stalls += groups.list[i].count;
    }
    if (groups.count > 1) {
        qsort(groups.list, groups.count, sizeof *groups.list, compare_total);
    }
    view = view == NULL ? &plain_view : view;
    sonde__report_out_print(begin(view, sink, &out),
                            "%" PRIu32 " report%s, %" PRIu64 " stall%s in %" PRIu32 " group%s\n",
                            count, sonde__base_plural(count), stalls, sonde__base_plural(stalls),
                            groups.count, sonde__base_plural(groups.count));
    for (uint32_t i = 0; i < groups.count && !out.stopped; i++) {
        put_group_of_many(&out, reports, names, count, &groups.list[i], view);
    }
    sonde__report_out_flush(&out);
    sonde__report_groups_done(&groups);
    return SONDE_OK;
}

void sonde__report_text_calls(const struct sonde__report *report,
                              const struct sonde__report_view *view, struct sonde__report_sink sink)
{
    struct sonde__report_out out;
    view = view == NULL ? &plain_view : view;
    sonde__report_put_findings(begin(view, sink, &out), report, view);
    sonde__report_put_calls(&out, report, view);
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
    put_circles(&out, report);
    if (!view->group || !put_groups(&out, report, view)) {
        for (uint32_t i = 0; i < sonde__report_stall_count(report) && !out.stopped; i++) {
            sonde__report_put_stall(&out, report, i, view);
        }
        put_counts(&out, report);
    }
    if (header->kind == SONDE__REPORT_WATCH) {
        put_totals(&out, report, view->loss);
    }
    if (sonde__report_thread_count(report) != 0) {
        put_all_threads(&out, report, view->unfolded);
    }
    sonde__report_put_tasks(&out, report);
    sonde__report_put_all_waits(&out, report);
    sonde__report_put_findings(&out, report, view);
    sonde__report_put_calls(&out, report, view);
    sonde__report_put_heap_blocks(&out, report, 0);
    if (view->images) {
        put_device(&out, header);
        put_images(&out, report);
    }
    put_losses(&out, report, view->loss);
    sonde__report_out_flush(&out);
}
