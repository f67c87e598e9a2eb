// SPDX-License-Identifier: Apache-2.0
#include "report_new.h"

#include <inttypes.h>

#include "report_analyse.h"
#include "report_json_parts.h"
#include "report_view.h"

/* Frames on a line for people; JSON has all. */
enum { FRAMES_MAX = 16 };

const char *sonde__report_severity_text(uint32_t severity)
{
    static const char *const texts[] = {"unknown", "note", "warning", "error"};
    return SONDE__JSON_PICK(texts, severity);
}

static void put_own(struct sonde__report_out *out, const struct sonde__report *report,
                    uint32_t stack)
{
    uint32_t count = 0;
    for (uint32_t n = stack; n != 0; n = sonde__report_node(report, n)->parent) {
        const struct sonde__report_frame *frame =
            sonde__report_frame(report, sonde__report_node(report, n)->frame);
        if (!sonde__report_frame_is_app(report, frame)) {
            continue;
        }
        if (count++ == FRAMES_MAX) {
            sonde__report_out_str(out, " < ...");
            return;
        }
        sonde__report_out_str(out, count > 1 ? " < " : "");
        sonde__report_put_function(out, report, frame);
    }
    sonde__report_out_str(out, count == 0 ? "no frame of the program" : "");
}

void sonde__report_text_own(const struct sonde__report *report, uint32_t stack,
                            struct sonde__report_sink sink)
{
    struct sonde__report_out out;
    sonde__report_out_init(&out, sink, false);
    put_own(&out, report, stack);
    sonde__report_out_flush(&out);
}

void sonde__report_text_new(const struct sonde__report *report,
                            const struct sonde__report_call *call, const char *phase, int32_t pid,
                            struct sonde__report_sink sink)
{
    struct sonde__report_out out;
    const struct sonde__report_rule *rule = sonde__report_rule(report, call->rule);
    const char *before = "  ";
    sonde__report_out_init(&out, sink, false);
    sonde__report_out_print(&out, "%s  %s: ", sonde__report_severity_text(rule->severity),
                            sonde__report_text(report, rule->name));
    sonde__report_put_name(&out, report, call->function);
    sonde__report_out_str(&out, "  by ");
    put_own(&out, report, call->stack);
    if (phase[0] != '\0') {
        sonde__report_out_print(&out, "%sphase %s", before, phase);
        before = ", ";
    }
    if (call->sdk != 0) {
        sonde__report_out_print(&out, "%sSDK %s", before, sonde__report_text(report, call->sdk));
        before = ", ";
    }
    if (call->tid != 0) {
        sonde__report_out_print(&out, "%sthread %" PRId64, before, call->tid);
        before = ", ";
    }
    if (pid != 0) {
        sonde__report_out_print(&out, "%sprocess %d", before, pid);
    }
    sonde__report_out_str(&out, "\n");
    sonde__report_out_flush(&out);
}

void sonde__report_json_new(const struct sonde__report *report,
                            const struct sonde__report_call *call, const char *phase, int32_t pid,
                            struct sonde__report_sink sink)
{
    struct sonde__report_out out;
    struct sonde__json j;
    const struct sonde__report_rule *rule = sonde__report_rule(report, call->rule);
    sonde__report_out_init(&out, sink, false);
    sonde__json_init_compact(&j, &out);
    sonde__json_object(&j, NULL);
    sonde__json_string(&j, "kind", "audit-new");
    sonde__report_json_text(&j, "rule_name", report, rule->name);
    sonde__json_string(&j, "severity", sonde__report_severity_text(rule->severity));
    sonde__report_json_text(&j, "pack", report, rule->pack);
    sonde__report_json_text(&j, "category", report, rule->category);
    sonde__report_json_text(&j, "text", report, rule->text);
    sonde__report_json_text(&j, "function", report, call->function);
    if (phase[0] != '\0') {
        sonde__json_string(&j, "phase", phase);
    }
    sonde__report_json_text(&j, "sdk", report, call->sdk);
    sonde__report_json_number(&j, "first_ns", call->first_ns);
    if (call->tid != 0) {
        sonde__json_int(&j, "tid", call->tid);
    }
    if (pid != 0) {
        sonde__json_int(&j, "pid", pid);
    }
    sonde__report_put_json_frames(&j, report, call->stack);
    sonde__json_close(&j);
    sonde__report_out_str(&out, "\n");
    sonde__report_out_flush(&out);
}
