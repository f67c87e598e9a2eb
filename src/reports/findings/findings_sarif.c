// SPDX-License-Identifier: Apache-2.0
/* SARIF 2.1.0 (OASIS, with errata 01). One run: the rules, the reports as invocations with their
 * blind spots as notifications, one result for each finding.
 *
 * All results of a run have a baseline state, or none (§3.27.24), and the same for suppressions
 * (§3.27.23). A result whose state is in doubt has "new" or "absent", and the doubt as property. */
#include <inttypes.h>
#include <stdio.h>

#include "base_text.h"
#include "demangle.h"
#include "findings_parts.h"
#include "mem_heap.h"

#define SCHEMA                                                                                     \
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
#define MESSAGE_BYTES (2u * SONDE__DEMANGLE_OUTPUT_MAX)

struct work {
    struct sonde__report_out out;
    struct sonde__json json;
    const struct sonde__findings *findings;
    const struct sonde__sarif_options *options;
    struct sonde__findings_rules rules;
    struct sonde__findings_places places;
};

static void put_message(struct sonde__json *j, const char *key, const char *text)
{
    sonde__json_object(j, key);
    sonde__json_string(j, "text", text);
    sonde__json_close(j);
}

static void put_tool(struct work *w)
{
    struct sonde__json *j = &w->json;
    sonde__json_object(j, "tool");
    sonde__json_object(j, "driver");
    sonde__json_string(j, "name", "sonde");
    sonde__json_string(j, "version", w->options->version);
    sonde__findings_put_rules(j, &w->rules);
    sonde__json_close(j);
    sonde__json_close(j);
}

/* --- the reports --- */

static void put_notification(struct work *w, const char *level, const char *rule, const char *text)
{
    struct sonde__json *j = &w->json;
    uint32_t index = rule != NULL ? sonde__findings_rule_index(&w->rules, rule) : UINT32_MAX;
    sonde__json_object(j, NULL);
    sonde__json_string(j, "level", level);
    put_message(j, "message", text);
    if (index != UINT32_MAX) {
        sonde__json_object(j, "associatedRule");
        sonde__json_string(j, "id", rule);
        sonde__json_uint(j, "index", index);
        sonde__json_close(j);
    }
    sonde__json_close(j);
}

/* Blind spots, notes, and whether the report is whole. */
static void put_notifications(struct work *w, const struct sonde__report *report)
{
    char text[MESSAGE_BYTES];
    sonde__json_array(&w->json, "toolExecutionNotifications");
    if (sonde__report_end(report) == NULL) {
        put_notification(w, "warning", NULL, "the report was not finished: it may lack calls");
    }
    for (uint32_t i = 0; i < sonde__report_note_count(report); i++) {
        put_notification(w, "note", NULL, sonde__report_note(report, i));
    }
    for (uint32_t i = 0; i < sonde__report_call_count(report) && !w->out.stopped; i++) {
        const struct sonde__report_call *call = sonde__report_call(report, i);
        if (call->missed != 0) {
            snprintf(text, sizeof text, "calls of %.1000s may be missing: %.4000s",
                     sonde__report_text(report, call->function),
                     sonde__report_text(report, call->missed));
            put_notification(w, "warning", sonde__findings_rule_id(report, call), text);
        }
    }
    sonde__json_close(&w->json);
}

static void put_report_properties(struct sonde__json *j, const struct sonde__report *report)
{
    const struct sonde__report_header *header = sonde__report_header(report);
    char build[SONDE__REPORT_BUILD_ID_TEXT];
    sonde__json_object(j, "properties");
    sonde__json_string(j, "executable", header->executable);
    sonde__json_string(j, "build", sonde__report_build(report, build));
    sonde__json_string(j, "reportId", header->report_id);
    sonde__json_string(j, "arch", header->arch);
    sonde__json_string(j, "os", header->os);
    if (*header->device.model != '\0') {
        sonde__json_string(j, "device", header->device.model);
    }
    sonde__json_array(j, "reportTags");
    for (uint32_t i = 0; i < header->tag_count; i++) {
        sonde__json_object(j, NULL);
        sonde__json_string(j, "key", header->tags[i].key);
        sonde__json_string(j, "value", header->tags[i].value);
        sonde__json_close(j);
    }
    sonde__json_close(j);
    sonde__json_close(j);
}

static void put_invocations(struct work *w)
{
    const struct sonde__diff_side *side = &w->findings->diff->sides[SONDE__DIFF_NEW_SIDE];
    struct sonde__json *j = &w->json;
    sonde__json_array(j, "invocations");
    for (uint32_t r = 0; r < side->count && !w->out.stopped; r++) {
        const struct sonde__report *report = side->reports[r];
        sonde__json_object(j, NULL);
        sonde__json_bool(j, "executionSuccessful", sonde__report_end(report) != NULL);
        sonde__json_time(j, "startTimeUtc", sonde__report_header(report)->time_unix_ns);
        put_notifications(w, report);
        put_report_properties(j, report);
        sonde__json_close(j);
    }
    sonde__json_close(j);
}

/* --- results --- */

/* "3 calls of getenv from read_settings" */
static void put_result_message(struct work *w, const struct sonde__diff_call *call)
{
    char buffer[SONDE__DEMANGLE_OUTPUT_MAX], text[MESSAGE_BYTES];
    uint64_t count = call->amounts[SONDE__DIFF_NEW_SIDE].count;
    const char *caller = sonde__findings_caller(&w->out, &w->places, call, buffer);
    const char *before = count == 0 ? " in the baseline" : "";
    count = count == 0 ? call->amounts[SONDE__DIFF_OLD].count : count;
    snprintf(text, sizeof text, "%" PRIu64 " call%s of %.1000s%s%s%s", count,
             sonde__base_plural(count), call->function,
             call->call->stack == 0 ? ", whose stack was not kept"
             : *caller == '\0'      ? ", not from a named function of the program"
                                    : " from ",
             caller, before);
    put_message(&w->json, "message", text);
}

/* The state that a baseline comparison of SARIF has. */
static const char *baseline_state(const struct sonde__diff_call *call)
{
    if (call->amounts[SONDE__DIFF_OLD].count == 0) {
        return "new";
    }
    if (call->amounts[SONDE__DIFF_NEW_SIDE].count == 0) {
        return "absent";
    }
    return call->state == SONDE__DIFF_SAME ? "unchanged" : "updated";
}

static void put_suppressions(struct sonde__json *j, const struct sonde__suppression *suppression)
{
    sonde__json_array(j, "suppressions");
    if (suppression != NULL) {
        sonde__json_object(j, NULL);
        sonde__json_string(j, "kind", "external");
        sonde__json_string(j, "status", "accepted");
        sonde__json_string(j, "justification", suppression->reason);
        sonde__json_object(j, "properties");
        sonde__json_string(j, "until", suppression->until);
        sonde__json_close(j);
        sonde__json_close(j);
    }
    sonde__json_close(j);
}

/* A result may stand for several calls, of which one is kept: the others have other values. */
static void put_arguments(struct sonde__json *j, const struct sonde__diff_call *call)
{
    struct sonde__report_argument list[2 * SONDE__REPORT_ARGUMENTS_MAX];
    const struct sonde__report_call *of = call->call;
    uint64_t calls = call->amounts[SONDE__DIFF_NEW_SIDE].count;
    uint64_t others = calls > of->count ? calls - of->count : 0;
    uint32_t count = 0;
    for (uint32_t i = 0; i < of->argument_count && i < SONDE__REPORT_ARGUMENTS_MAX; i++) {
        bool is_last = i + 1 == of->argument_count ||
                       of->arguments[i + 1].position != of->arguments[i].position ||
                       of->arguments[i + 1].name != of->arguments[i].name;
        list[count++] = of->arguments[i];
        if (is_last && others != 0 && of->arguments[i].value == 0) {
            list[count - 1].count += others;
        } else if (is_last && others != 0) {
            list[count] = of->arguments[i];
            list[count].value = 0;
            list[count++].count = others;
        }
    }
    sonde__findings_put_arguments(j, call->report, list, count);
}

static void put_result_properties(struct work *w, const struct sonde__diff_call *call)
{
    struct sonde__json *j = &w->json;
    sonde__json_object(j, "properties");
    sonde__json_string(j, "function", call->function);
    sonde__findings_put_seen(j, call->first_ns, call->last_ns,
                             (uint32_t)__builtin_popcountll(call->threads),
                             (call->threads & SONDE__REPORT_LATER_THREADS) != 0);
    if (call->call->sdk != 0) {
        sonde__json_string(j, "sdk", sonde__report_text(call->report, call->call->sdk));
    }
    put_arguments(j, call);
    if (w->findings->has_baseline) {
        sonde__json_uint(j, "callsInBaseline", call->amounts[SONDE__DIFF_OLD].count);
    }
    if (w->findings->has_baseline && call->doubt != SONDE__DIFF_SURE) {
        sonde__json_string(j, "notComparable", sonde__diff_doubt_text(call->doubt));
    }
    sonde__json_close(j);
}

static void put_result(struct work *w, const struct sonde__finding *finding)
{
    const struct sonde__diff_call *call = finding->call;
    struct sonde__json *j = &w->json;
    const char *rule = sonde__findings_rule_id(call->report, call->call);
    char id[SONDE__REPORT_CALL_KEY_TEXT];
    sonde__json_object(j, NULL);
    sonde__json_string(j, "ruleId", rule);
    sonde__json_uint(j, "ruleIndex", sonde__findings_rule_index(&w->rules, rule));
    sonde__json_string(j, "level", sonde__findings_levels[finding->severity]);
    put_result_message(w, call);
    if (call->amounts[SONDE__DIFF_NEW_SIDE].count != 0) {
        sonde__json_uint(j, "occurrenceCount", call->amounts[SONDE__DIFF_NEW_SIDE].count);
    }
    if (call->is_stable) {
        sonde__report_call_key_text(&call->key, id);
        sonde__json_object(j, "partialFingerprints");
        sonde__json_string(j, "sondeCallStack/v1", id);
        sonde__json_close(j);
    }
    if (w->findings->has_baseline) {
        sonde__json_string(j, "baselineState", baseline_state(call));
    }
    if (w->findings->suppressions != NULL) {
        put_suppressions(j, finding->suppression);
    }
    sonde__findings_put_places(j, &w->places, call);
    put_result_properties(w, call);
    sonde__json_close(j);
}

static void put_run(struct work *w)
{
    struct sonde__json *j = &w->json;
    sonde__json_array(j, "runs");
    sonde__json_object(j, NULL);
    put_tool(w);
    if (w->options->source_root != NULL && w->options->source_root[0] == '/') {
        char root[4096];
        w->places.source_root = NULL; /* the root itself is absolute */
        snprintf(root, sizeof root, "%s/", w->options->source_root);
        sonde__json_object(j, "originalUriBaseIds");
        sonde__json_object(j, "SRCROOT");
        sonde__json_string(j, "uri", sonde__findings_uri(&w->places, root).text);
        sonde__json_close(j);
        sonde__json_close(j);
    }
    w->places.source_root = w->options->source_root;
    put_invocations(w);
    sonde__json_array(j, "results");
    for (uint32_t i = 0; i < w->findings->count && !w->out.stopped; i++) {
        put_result(w, &w->findings->list[i]);
    }
    sonde__json_close(j);
    sonde__json_close(j);
    sonde__json_close(j);
}

enum sonde_status sonde__findings_sarif(const struct sonde__findings *findings,
                                        const struct sonde__sarif_options *options,
                                        struct sonde__report_sink sink)
{
    struct work *w = sonde__mem_alloc_zeroed(sizeof *w);
    if (w == NULL) {
        return SONDE_MEMORY;
    }
    w->findings = findings;
    w->options = options;
    enum sonde_status status = sonde__findings_rules_make(findings, &w->rules);
    if (status == SONDE_OK) {
        sonde__report_out_init(&w->out, sink, false);
        w->out.raw_names = options->raw_names;
        sonde__json_init(&w->json, &w->out);
        sonde__json_object(&w->json, NULL);
        sonde__json_string(&w->json, "$schema", SCHEMA);
        sonde__json_string(&w->json, "version", "2.1.0");
        put_run(w);
        sonde__json_close(&w->json);
        sonde__report_out_str(&w->out, "\n");
        sonde__report_out_flush(&w->out);
    }
    sonde__findings_rules_done(&w->rules);
    sonde__mem_free(w);
    return status;
}
