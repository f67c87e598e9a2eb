// SPDX-License-Identifier: Apache-2.0
/* A comparison as JSON (docs/guide/report-json.md). */
#include <stdlib.h>

#include "diff_parts.h"
#include "report_analyse.h"
#include "report_json.h"
#include "report_summary.h"

#define SUMMARY_BYTES 2048u

static void put_sides(struct sonde__json *j, const struct sonde__diff *diff)
{
    static const char *const keys[] = {"old", "new"};
    for (unsigned s = 0; s < SONDE__DIFF_SIDES; s++) {
        const struct sonde__diff_side *side = &diff->sides[s];
        sonde__json_array(j, keys[s]);
        for (uint32_t i = 0; i < side->count; i++) {
            char buffer[SONDE__REPORT_BUILD_ID_TEXT];
            const struct sonde__report_header *header = sonde__report_header(side->reports[i]);
            sonde__json_object(j, NULL);
            sonde__json_string(j, "file", side->names[i]);
            sonde__json_string(j, "report_id", header->report_id);
            sonde__json_string(j, "executable", header->executable);
            sonde__json_string(j, "build", sonde__report_build(side->reports[i], buffer));
            sonde__json_time(j, "time", header->time_unix_ns);
            sonde__json_close(j);
        }
        sonde__json_close(j);
    }
}

static void put_amounts(struct sonde__json *j, const struct sonde__diff_amount *amounts,
                        bool has_time)
{
    static const char *const keys[] = {"old", "new"};
    for (unsigned s = 0; s < SONDE__DIFF_SIDES; s++) {
        sonde__json_object(j, keys[s]);
        sonde__json_uint(j, "count", amounts[s].count);
        if (has_time) {
            sonde__json_uint(j, "total_ns", amounts[s].total_ns);
            sonde__json_uint(j, "longest_ns", amounts[s].longest_ns);
        }
        sonde__json_close(j);
    }
}

static void put_stalls(struct sonde__json *j, const struct sonde__diff *diff)
{
    sonde__json_array(j, "stalls");
    for (uint32_t i = 0; i < diff->stall_count && !j->out->stopped; i++) {
        const struct sonde__diff_stall *stall = &diff->stalls[i];
        struct sonde__report_analysis analysis;
        struct sonde__report_fingerprint fingerprint;
        sonde__json_object(j, NULL);
        sonde__json_string(j, "state", sonde__diff_words[stall->state]);
        sonde__json_string(j, "fingerprint", stall->id);
        put_amounts(j, stall->amounts, true);
        const struct sonde__report_stall *longest =
            stall->report != NULL ? sonde__report_stall(stall->report, stall->index) : NULL;
        if (longest != NULL &&
            sonde__report_fingerprint(stall->report, longest, &fingerprint) == SONDE_OK) {
            sonde__json_string(j, "fingerprint_text",
                               fingerprint.text != NULL ? fingerprint.text : "");
            sonde__report_fingerprint_done(&fingerprint);
        }
        if (longest != NULL &&
            sonde__report_analyse(stall->report, longest, &analysis) == SONDE_OK) {
            char text[SUMMARY_BYTES];
            sonde__report_summary_text(stall->report, longest, &analysis, text, sizeof text);
            sonde__json_string(j, "summary", text);
            sonde__report_put_json_frames(j, stall->report, analysis.stack);
            sonde__report_analysis_done(&analysis);
        }
        sonde__json_close(j);
    }
    sonde__json_close(j);
}

static void put_calls(struct sonde__json *j, const struct sonde__diff *diff)
{
    sonde__json_array(j, "calls");
    for (uint32_t i = 0; i < diff->call_count && !j->out->stopped; i++) {
        const struct sonde__diff_call *call = &diff->calls[i];
        char id[SONDE__REPORT_CALL_KEY_TEXT];
        sonde__json_object(j, NULL);
        sonde__json_string(j, "state", sonde__diff_words[call->state]);
        sonde__json_string(j, "function", call->function);
        sonde__report_call_key_text(&call->key, id);
        sonde__json_string(j, "fingerprint", call->is_stable ? id : "");
        if (call->doubt != SONDE__DIFF_SURE) {
            sonde__json_string(j, "why", sonde__diff_doubt_text(call->doubt));
        }
        put_amounts(j, call->amounts, false);
        sonde__report_put_json_frames(j, call->report, call->call->stack);
        sonde__json_close(j);
    }
    sonde__json_close(j);
}

static void put_totals(struct sonde__json *j, const char *key, const uint32_t *states)
{
    sonde__json_object(j, key);
    for (unsigned i = 0; i < SONDE__DIFF_STATES; i++) {
        sonde__json_uint(j, sonde__diff_words[i], states[i]);
    }
    sonde__json_close(j);
}

void sonde__diff_json(const struct sonde__diff *diff, const struct sonde__report_view *view,
                      struct sonde__report_sink sink)
{
    struct sonde__report_out out;
    struct sonde__json json;
    struct sonde__diff_notes notes;
    sonde__report_out_init(&out, sink, false);
    out.raw_names = view->raw_names;
    sonde__json_init(&json, &out);
    sonde__json_object(&json, NULL);
    sonde__json_string(&json, "schema", "sonde-diff-1");
    put_sides(&json, diff);
    sonde__json_uint(&json, "worse_percent", diff->percent);
    sonde__diff_find_notes(diff, &notes);
    sonde__json_array(&json, "notes");
    for (uint32_t i = 0; i < notes.count; i++) {
        sonde__json_string(&json, NULL, notes.list[i]);
    }
    sonde__json_close(&json);
    if (diff->has_stalls) {
        put_totals(&json, "stall_states", diff->stall_states);
        put_stalls(&json, diff);
    }
    if (diff->has_calls) {
        put_totals(&json, "call_states", diff->call_states);
        put_calls(&json, diff);
    }
    sonde__json_close(&json);
    sonde__report_out_str(&out, "\n");
    sonde__report_out_flush(&out);
}
