// SPDX-License-Identifier: Apache-2.0
/* JSON of the header, processes, named phases and images. */
#include "mem_heap.h"
#include "report_analyse.h"
#include "report_json_parts.h"
#include "report_new.h"
#include "report_rule_sum.h"
#include "report_rule_values.h"

static void put_string(struct sonde__json *j, const char *key, const char *text)
{
    if (*text != '\0') {
        sonde__json_string(j, key, text);
    }
}

static void put_device(struct sonde__json *j, const struct sonde__report_device *d)
{
    if (*d->id == '\0' && *d->model == '\0' && *d->os == '\0' && *d->kernel == '\0' &&
        *d->cpu == '\0' && d->cpu_count == 0 && d->memory_bytes == 0) {
        return;
    }
    sonde__json_object(j, "device");
    put_string(j, "id", d->id);
    put_string(j, "model", d->model);
    put_string(j, "os", d->os);
    put_string(j, "kernel", d->kernel);
    put_string(j, "cpu", d->cpu);
    sonde__report_json_number(j, "cpu_count", d->cpu_count);
    sonde__report_json_number(j, "memory_bytes", d->memory_bytes);
    sonde__json_close(j);
}

void sonde__report_json_header(struct sonde__json *j, const struct sonde__report *report)
{
    const struct sonde__report_header *h = sonde__report_header(report);
    char build[SONDE__REPORT_BUILD_ID_TEXT];
    sonde__json_string(j, "schema", "sonde-report-1");
    sonde__json_string(j, "kind",
                       h->kind == SONDE__REPORT_STACKS        ? "stacks"
                       : h->kind == SONDE__REPORT_WATCH       ? "watch"
                       : h->kind == SONDE__REPORT_CALLS       ? "calls"
                       : h->kind == SONDE__REPORT_HEAP_BLOCKS ? "heap-blocks"
                       : h->kind == SONDE__REPORT_AUDIT       ? "audit"
                                                              : "unknown");
    sonde__json_string(j, "tool", h->tool);
    sonde__json_time(j, "time", h->time_unix_ns);
    sonde__json_int(j, "pid", h->pid);
    sonde__json_string(j, "executable", h->executable);
    sonde__json_string(j, "os", h->os);
    sonde__json_string(j, "arch", h->arch);
    sonde__json_string(j, "source", h->source);
    sonde__report_json_number(j, "threshold_ns", h->threshold_ns);
    sonde__report_json_number(j, "pause_ns", h->pause_ns);
    sonde__json_uint(j, "format", h->format);
    put_string(j, "report_id", h->report_id);
    put_string(j, "build", sonde__report_build(report, build));
    put_device(j, &h->device);
    if (h->tag_count != 0) {
        sonde__json_array(j, "tags");
        for (uint32_t i = 0; i < h->tag_count; i++) {
            sonde__json_object(j, NULL);
            sonde__json_string(j, "key", h->tags[i].key);
            sonde__json_string(j, "value", h->tags[i].value);
            sonde__json_close(j);
        }
        sonde__json_close(j);
    }
}

static const char *platform_text(uint32_t platform)
{
    static const char *const apple[] = {"",
                                        "macos",
                                        "ios",
                                        "tvos",
                                        "watchos",
                                        "bridgeos",
                                        "mac catalyst",
                                        "ios simulator",
                                        "tvos simulator",
                                        "watchos simulator",
                                        "driverkit",
                                        "visionos",
                                        "visionos simulator"};
    return platform == SONDE__REPORT_PLATFORM_LINUX ? "linux" : SONDE__JSON_PICK(apple, platform);
}

static void put_images(struct sonde__json *j, const struct sonde__report *report)
{
    sonde__json_array(j, "images");
    for (uint32_t id = 1; id <= sonde__report_image_count(report) && !j->out->stopped; id++) {
        const struct sonde__report_image *image = sonde__report_image(report, id);
        char build_id[SONDE__REPORT_BUILD_ID_TEXT];
        sonde__json_object(j, NULL);
        sonde__json_uint(j, "id", id);
        sonde__json_string(j, "path", sonde__report_text(report, image->path));
        sonde__json_string(j, "build_id", sonde__report_build_id_text(&image->build_id, build_id));
        sonde__report_json_code_id(j, image->code_id);
        sonde__json_bool(j, "main", (image->flags & SONDE__IMAGE_MAIN) != 0);
        sonde__json_bool(j, "app", sonde__report_is_app(report, id));
        if ((image->flags & SONDE__IMAGE_DELETED) != 0) {
            sonde__json_bool(j, "deleted", true);
        }
        put_string(j, "platform", platform_text(image->platform));
        sonde__json_close(j);
    }
    sonde__json_close(j);
}

static void put_processes(struct sonde__json *j, const struct sonde__report *report)
{
    sonde__json_array(j, "processes");
    for (uint32_t id = 1; id <= sonde__report_process_count(report) && !j->out->stopped; id++) {
        const struct sonde__report_process *process = sonde__report_process(report, id);
        sonde__json_object(j, NULL);
        sonde__json_uint(j, "id", id);
        sonde__json_int(j, "pid", process->pid);
        sonde__report_json_number(j, "parent", process->parent);
        if (process->parent_pid != 0) {
            sonde__json_int(j, "parent_pid", process->parent_pid);
        }
        sonde__report_json_text(j, "executable", report, process->executable);
        sonde__json_close(j);
    }
    sonde__json_close(j);
}

static void put_phases(struct sonde__json *j, const struct sonde__report *report)
{
    static const char *const consents[] = {"unknown", "before", "given", "refused"};
    sonde__json_array(j, "named_phases");
    for (uint32_t id = 1; id <= sonde__report_phase_count(report) && !j->out->stopped; id++) {
        const struct sonde__report_named_phase *phase = sonde__report_phase(report, id);
        sonde__json_object(j, NULL);
        sonde__json_uint(j, "id", id);
        sonde__report_json_text(j, "name", report, phase->name);
        sonde__json_uint(j, "begin_ns", phase->begin_ns);
        sonde__json_string(j, "consent", SONDE__JSON_PICK(consents, phase->consent));
        sonde__report_json_process(j, report, phase->process);
        sonde__json_close(j);
    }
    sonde__json_close(j);
}

/* What the rule's findings are together. */
static void put_rule_sum(struct sonde__json *j, const struct sonde__report *report,
                         const struct sonde__report_rule_sum *sum)
{
    sonde__json_uint(j, "calls", sum->calls);
    sonde__json_uint(j, "app_stacks", sum->app_stacks);
    sonde__report_json_number(j, "first_ns", sum->first_ns);
    sonde__report_json_number(j, "last_ns", sum->last_ns);
    sonde__report_json_threads(j, sum->threads, sum->has_more_threads);
    if (sum->sdk_count != 0) {
        sonde__json_array(j, "sdks");
        for (uint32_t i = 0; i < sum->sdk_count; i++) {
            sonde__json_string(j, NULL, sonde__report_text(report, sum->sdks[i]));
        }
        sonde__json_close(j);
    }
    if (sum->has_more_sdks) {
        sonde__json_bool(j, "more_sdks", true);
    }
}

static void put_rule_values(struct sonde__json *j, const struct sonde__report *report,
                            const struct sonde__report_values *values, uint32_t rule)
{
    struct sonde__report_argument arguments[SONDE__REPORT_RULE_VALUES];
    uint32_t count = sonde__report_values_of(values, rule, arguments, SONDE__REPORT_RULE_VALUES);
    sonde__report_json_arguments(j, report, arguments, count);
}

static void put_rules(struct sonde__json *j, const struct sonde__report *report)
{
    struct sonde__report_rule_sum *sums = NULL; /* without memory the sums are left out */
    struct sonde__report_values values = {.count = 0};
    (void)!sonde__report_sum_rules(report, &sums);
    (void)!sonde__report_sum_values(report, &values);
    sonde__json_array(j, "rules");
    for (uint32_t id = 1; id <= sonde__report_rule_count(report) && !j->out->stopped; id++) {
        const struct sonde__report_rule *rule = sonde__report_rule(report, id);
        sonde__json_object(j, NULL);
        sonde__json_uint(j, "id", id);
        sonde__report_json_text(j, "name", report, rule->name);
        sonde__report_json_text(j, "pack", report, rule->pack);
        sonde__report_json_text(j, "category", report, rule->category);
        sonde__json_string(j, "severity", sonde__report_severity_text(rule->severity));
        sonde__report_json_text(j, "text", report, rule->text);
        sonde__report_json_number(j, "limit_count", rule->limit_count);
        sonde__report_json_number(j, "limit_ns", rule->limit_ns);
        sonde__report_json_number(j, "over_first_ns", rule->over_first_ns);
        sonde__report_json_number(j, "over_last_ns", rule->over_last_ns);
        if (sums != NULL) {
            put_rule_sum(j, report, &sums[id - 1]);
        }
        put_rule_values(j, report, &values, id);
        sonde__json_close(j);
    }
    sonde__mem_free(sums);
    sonde__report_values_done(&values);
    sonde__json_close(j);
}

void sonde__report_json_dictionaries(struct sonde__json *j, const struct sonde__report *report)
{
    put_images(j, report);
    if (sonde__report_process_count(report) != 0) {
        put_processes(j, report);
    }
    if (sonde__report_phase_count(report) != 0) {
        put_phases(j, report);
    }
    if (sonde__report_rule_count(report) != 0) {
        put_rules(j, report);
    }
}
