// SPDX-License-Identifier: Apache-2.0
/* The JSON view; docs/guide/report-json.md has its schema. Numbers that may exceed 2^53 (addresses,
 * the time of day) are strings: many readers store numbers as doubles. */
#include "report_json.h"

#include "report_json_parts.h"
#include "report_read.h"
#include "report_view.h"

static void put_notes(struct sonde__json *j, const struct sonde__report *report)
{
    sonde__json_array(j, "notes");
    for (uint32_t i = 0; i < sonde__report_note_count(report); i++) {
        sonde__json_string(j, NULL, sonde__report_note(report, i));
    }
    sonde__json_close(j);
}

static void put_turns(struct sonde__json *j, const struct sonde__report_end *end)
{
    if (end->turn_count_count != 0) {
        sonde__json_array(j, "long_turns");
        for (uint32_t i = 0; i < end->turn_count_count; i++) {
            const struct sonde__report_turn_count *turns = &end->turn_counts[i];
            sonde__json_object(j, NULL);
            sonde__json_uint(j, "from_ns", turns->from_ns);
            sonde__report_json_number(j, "to_ns", turns->to_ns);
            sonde__json_uint(j, "count", turns->count);
            sonde__json_close(j);
        }
        sonde__json_close(j);
    }
    if (end->frame_ns != 0) {
        sonde__json_uint(j, "frame_ns", end->frame_ns);
        sonde__json_uint(j, "frames_dropped", end->frames_dropped);
    }
}

static void put_totals(struct sonde__json *j, const struct sonde__report *report,
                       const struct sonde__report_loss *loss)
{
    static const char *const damages[] = {"none", "cut", "checksum", "malformed", "limit"};
    const struct sonde__report_end *end = sonde__report_end(report);
    sonde__json_uint(j, "left_out", sonde__report_lost_records(report));
    if (end != NULL) {
        sonde__json_object(j, "totals");
        sonde__json_uint(j, "stalls", end->stall_count);
        sonde__json_uint(j, "turns", end->turn_count);
        sonde__json_uint(j, "watched_ns", end->watched_ns);
        sonde__json_uint(j, "left_out", end->lost_records);
        sonde__report_json_number(j, "overhead_ns", end->overhead_ns);
        put_turns(j, end);
        sonde__json_close(j);
    }
    if (loss != NULL) {
        char line[SONDE__REPORT_LOSS_LINE];
        sonde__report_loss_line(loss, line, sizeof line);
        sonde__json_object(j, "file");
        sonde__json_uint(j, "bytes", loss->file_bytes);
        sonde__json_string(j, "damage", SONDE__JSON_PICK(damages, loss->damage));
        sonde__json_uint(j, "lost_from", loss->offset);
        sonde__json_uint(j, "lost_bytes", loss->size_bytes);
        sonde__json_bool(j, "finished", !loss->unfinished);
        sonde__json_uint(j, "unknown_fields", loss->unknown_fields);
        sonde__json_string(j, "text", line);
        sonde__json_close(j);
    }
}

void sonde__report_json_view(const struct sonde__report *report,
                             const struct sonde__report_view *view, struct sonde__report_sink sink)
{
    struct sonde__report_out out;
    struct sonde__json j;
    sonde__report_out_init(&out, sink, false);
    (view != NULL && view->one_line ? sonde__json_init_compact : sonde__json_init)(&j, &out);
    sonde__json_object(&j, NULL);
    sonde__report_json_header(&j, report);
    put_notes(&j, report);
    sonde__report_json_dictionaries(&j, report);
    sonde__json_array(&j, "threads");
    for (uint32_t i = 0; i < sonde__report_thread_count(report) && !out.stopped; i++) {
        sonde__report_json_thread(&j, report, sonde__report_thread(report, i));
    }
    sonde__json_close(&j);
    sonde__report_json_stalls(&j, report);
    sonde__report_json_loose(&j, report);
    sonde__report_json_calls(&j, report);
    sonde__report_json_tasks(&j, report);
    sonde__report_json_heap_blocks(&j, report);
    put_totals(&j, report, view == NULL ? NULL : view->loss);
    sonde__json_close(&j);
    sonde__report_out_str(&out, "\n");
    sonde__report_out_flush(&out);
}
