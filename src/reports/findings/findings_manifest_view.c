// SPDX-License-Identifier: Apache-2.0
/* A comparison with a manifest as text and as JSON. */
#include <inttypes.h>

#include "base_text.h"
#include "findings_manifest.h"
#include "report_json.h"

/* Why no call of a category is known. */
static const char *why_none(const struct sonde__report *report,
                            const struct sonde__manifest_line *line)
{
    if (sonde__report_header(report)->kind != SONDE__REPORT_AUDIT) {
        return ", its functions were not recorded";
    }
    return line->rules != 0 ? ", no call by the audit's rules of this class"
                            : ", no rule of the audit has this class";
}

static void put_numbers(struct sonde__report_out *out, const struct sonde__report *report,
                        const struct sonde__manifest_line *line)
{
    if (line->calls != 0) {
        sonde__report_out_print(out, ", %" PRIu64 " call%s", line->calls,
                                sonde__base_plural(line->calls));
    }
    if (line->system_calls != 0) {
        sonde__report_out_print(out, ", %" PRIu64 " by libraries of the system",
                                line->system_calls);
    }
    if (line->recorded == 0 &&
        (line->state == SONDE__MANIFEST_UNKNOWN || line->state == SONDE__MANIFEST_NEITHER)) {
        sonde__report_out_str(out, why_none(report, line));
    }
    if (line->missed != 0) {
        const struct sonde__report_call *call = sonde__report_call(report, line->missed - 1);
        sonde__report_out_print(out, ", calls of %s may be missing: %s",
                                sonde__report_text(report, call->function),
                                sonde__report_text(report, call->missed));
    }
    if (line->may_miss > 1) {
        sonde__report_out_print(out, ", and of %u more", line->may_miss - 1);
    }
    sonde__report_out_str(out, "\n");
}

static void put_line(struct sonde__report_out *out, const struct sonde__report *report,
                     const struct sonde__manifest_line *line)
{
    bool is_bad = sonde__manifest_severity(line->state) == SONDE__REPORT_SEVERITY_ERROR;
    sonde__report_out_color(out, is_bad ? SONDE__REPORT_RED : SONDE__REPORT_BOLD);
    sonde__report_out_str(out, sonde__manifest_state_text(line->state));
    sonde__report_out_color(out, SONDE__REPORT_PLAIN);
    sonde__report_out_str(out, ": ");
    sonde__report_out_text(out, line->category);
    put_numbers(out, report, line);
    if (line->state == SONDE__MANIFEST_UNDECLARED) {
        const struct sonde__report_call *call = sonde__report_call(report, line->first - 1);
        sonde__report_out_print(out, "  %s, %" PRIu64 " call%s\n",
                                sonde__report_text(report, call->function), call->count,
                                sonde__base_plural(call->count));
        sonde__report_put_stack(out, report, call->stack, 4);
    }
}

static void put_title(struct sonde__report_out *out, const struct sonde__manifest_part *part,
                      bool is_first)
{
    if (part->name[0] != '\0') {
        sonde__report_out_str(out, is_first ? "" : "\n");
        sonde__report_out_color(out, SONDE__REPORT_BOLD);
        sonde__report_out_text(out, part->name);
        sonde__report_out_color(out, SONDE__REPORT_PLAIN);
        sonde__report_out_str(out, ": ");
        sonde__report_out_text(out, part->files[0] != '\0' ? part->files : "no manifest");
        sonde__report_out_str(out, "\n");
    }
}

void sonde__manifest_text(const struct sonde__manifest_part *parts, uint32_t count,
                          const struct sonde__report *report, const struct sonde__report_view *view,
                          struct sonde__report_sink sink)
{
    struct sonde__report_out out;
    sonde__report_out_init(&out, sink, view->color);
    out.raw_names = view->raw_names;
    for (uint32_t p = 0; p < count && !out.stopped; p++) {
        put_title(&out, &parts[p], p == 0);
        for (uint32_t i = 0; i < parts[p].result.count && !out.stopped; i++) {
            put_line(&out, report, &parts[p].result.lines[i]);
        }
    }
    sonde__report_out_flush(&out);
}

static void put_category(struct sonde__json *json, const struct sonde__report *report,
                         const struct sonde__manifest_line *line)
{
    sonde__json_object(json, NULL);
    sonde__json_string(json, "category", line->category);
    sonde__json_string(json, "state", sonde__manifest_state_text(line->state));
    sonde__json_uint(json, "calls", line->calls);
    sonde__json_uint(json, "system_calls", line->system_calls);
    sonde__json_bool(json, "recorded", line->recorded != 0);
    sonde__json_bool(json, "may_miss", line->may_miss != 0);
    if (line->missed != 0) {
        const struct sonde__report_call *call = sonde__report_call(report, line->missed - 1);
        sonde__json_string(json, "missed_function", sonde__report_text(report, call->function));
        sonde__json_string(json, "missed_why", sonde__report_text(report, call->missed));
    }
    if (line->first != 0) {
        const struct sonde__report_call *call = sonde__report_call(report, line->first - 1);
        sonde__json_string(json, "function", sonde__report_text(report, call->function));
        sonde__report_put_json_frames(json, report, call->stack);
    }
    sonde__json_close(json);
}

static void put_categories(struct sonde__json *json, const struct sonde__report *report,
                           const struct sonde__manifest_result *result)
{
    sonde__json_array(json, "categories");
    for (uint32_t i = 0; i < result->count; i++) {
        put_category(json, report, &result->lines[i]);
    }
    sonde__json_close(json);
}

void sonde__manifest_json(const struct sonde__manifest_part *parts, uint32_t count,
                          const struct sonde__report *report, const struct sonde__report_view *view,
                          struct sonde__report_sink sink)
{
    struct sonde__report_out out;
    struct sonde__json json;
    sonde__report_out_init(&out, sink, false);
    out.raw_names = view->raw_names;
    sonde__json_init(&json, &out);
    sonde__json_object(&json, NULL);
    sonde__json_string(&json, "schema", "sonde-privacy-1");
    if (count == 1 && parts[0].name[0] == '\0') {
        put_categories(&json, report, &parts[0].result);
    } else {
        sonde__json_array(&json, "parts");
        for (uint32_t i = 0; i < count; i++) {
            sonde__json_object(&json, NULL);
            sonde__json_string(&json, "name", parts[i].name);
            sonde__json_string(&json, "manifests", parts[i].files);
            put_categories(&json, report, &parts[i].result);
            sonde__json_close(&json);
        }
        sonde__json_close(&json);
    }
    sonde__json_close(&json);
    sonde__report_out_str(&out, "\n");
    sonde__report_out_flush(&out);
}
