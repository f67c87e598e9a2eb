// SPDX-License-Identifier: Apache-2.0
/* JSON of stalls, and of samples and waits outside stalls. */
#include <string.h>

#include "mem_heap.h"
#include "report_analyse.h"
#include "report_fingerprint.h"
#include "report_group.h"
#include "report_json_parts.h"
#include "report_load.h"
#include "report_summary.h"
#include "report_view.h"

static const char *const phase_kinds[] = {"none", "running", "blocked", "disk", "unknown"};
static const char *const loops[] = {"unknown", "epoll", "poll",  "select",   "condition",
                                    "signal",  "other", "marks", "run loop", "semaphore",
                                    "futex",   "pause", "timer"};
static const char *const samplers[] = {"none", "passive+perf", "passive+ptrace", "passive+signal",
                                       "stop"};
static const char *const stall_kinds[] = {"loop", "launch", "exit", "scope"};
static const char *const app_states[] = {"unknown", "active", "inactive", "background",
                                         "extension"};
static const char *const reasons[] = {"unknown", "before", "late", "unread", "budget"};

static void put_stack_once(struct sonde__json *j, const struct sonde__report *report, uint8_t *seen,
                           uint32_t stack, uint32_t end)
{
    if (stack == 0 || stack > sonde__report_node_count(report) ||
        (seen != NULL && (seen[stack / 8] >> (stack % 8) & 1) != 0)) {
        return;
    }
    if (seen != NULL) {
        seen[stack / 8] = (uint8_t)(seen[stack / 8] | 1u << (stack % 8));
    }
    sonde__json_object(j, NULL);
    sonde__json_uint(j, "id", stack);
    sonde__report_json_end_reason(j, end);
    sonde__report_put_json_frames(j, report, stack);
    sonde__json_close(j);
}

static void put_sample(struct sonde__json *j, const struct sonde__report *report,
                       const struct sonde__report_sample *s)
{
    sonde__json_object(j, NULL);
    if (s->tid != 0) { /* outside stalls */
        sonde__json_int(j, "tid", s->tid);
        sonde__report_json_process(j, report, s->process);
    }
    sonde__json_uint(j, "time_ns", s->time_ns);
    sonde__json_uint(j, "weight_ns", s->weight_ns);
    sonde__json_uint(j, "stack", s->stack);
    sonde__report_json_number(j, "read_later", s->script_stack);
    sonde__json_string(j, "state", SONDE__JSON_PICK(phase_kinds, s->phase));
    sonde__report_json_syscall(j, report, s->syscall);
    sonde__report_json_text(j, "waits_for", report, s->detail);
    sonde__json_string(j, "captured_by",
                       SONDE__JSON_PICK(sonde__report_captured_by, s->captured_by));
    sonde__report_json_purpose(j, report, s->qos, s->queue);
    sonde__json_close(j);
}

/* stall null: samples outside stalls. */
static const struct sonde__report_sample *
sample_at(const struct sonde__report *report, const struct sonde__report_stall *stall, uint32_t i)
{
    return stall != NULL ? &stall->samples[i] : sonde__report_sample(report, i);
}

/* Write the samples, preceded by the distinct stacks that they refer to by id. */
static void put_samples(struct sonde__json *j, const struct sonde__report *report,
                        const struct sonde__report_stall *stall)
{
    uint32_t count = stall != NULL ? stall->sample_count : sonde__report_sample_count(report);
    uint8_t *seen = sonde__mem_alloc_zeroed((size_t)sonde__report_node_count(report) / 8 + 1);
    sonde__json_array(j, "stacks");
    for (uint32_t i = 0; i < count && !j->out->stopped; i++) {
        const struct sonde__report_sample *s = sample_at(report, stall, i);
        put_stack_once(j, report, seen, s->stack, s->end);
        put_stack_once(j, report, seen, s->script_stack, s->end);
    }
    sonde__json_close(j);
    sonde__mem_free(seen);
    sonde__json_array(j, "samples");
    for (uint32_t i = 0; i < count && !j->out->stopped; i++) {
        put_sample(j, report, sample_at(report, stall, i));
    }
    sonde__json_close(j);
}

static void put_weight(struct sonde__json *j, const char *key, const struct sonde__report *report,
                       const struct sonde__report_weight *weight)
{
    if (weight->frame != 0) {
        sonde__json_object(j, key);
        sonde__report_json_frame(j, report, sonde__report_frame(report, weight->frame));
        sonde__json_uint(j, "weight_ns", weight->weight_ns);
        sonde__json_close(j);
    }
}

static void put_analysis(struct sonde__json *j, const struct sonde__report *report,
                         const struct sonde__report_analysis *a)
{
    sonde__json_array(j, "phases");
    for (uint32_t i = 0; i < a->phase_count; i++) {
        const struct sonde__report_phase *phase = &a->phases[i];
        sonde__json_object(j, NULL);
        sonde__json_uint(j, "begin_ns", phase->begin_ns);
        sonde__json_uint(j, "duration_ns", phase->duration_ns);
        sonde__json_uint(j, "own_ns", phase->own_ns);
        sonde__json_string(j, "state", SONDE__JSON_PICK(phase_kinds, phase->kind));
        sonde__report_json_syscall(j, report, phase->syscall);
        sonde__report_json_text(j, "waits_for", report, phase->detail);
        sonde__json_uint(j, "stack", phase->stack);
        sonde__json_close(j);
    }
    sonde__json_close(j);
    sonde__json_array(j, "dominant_path");
    for (uint32_t i = 0; i < a->path_count && !j->out->stopped; i++) {
        put_weight(j, NULL, report, &a->path[i]);
    }
    sonde__json_close(j);
    put_weight(j, "heaviest_function", report, &a->heaviest);
    put_weight(j, "heaviest_app_function", report, &a->heaviest_app);
    if (a->stack != 0) {
        sonde__json_uint(j, "heaviest_stack", a->stack);
        sonde__json_uint(j, "heaviest_stack_ns", a->stack_ns);
    }
}

/* Time that no sample covers; nothing if there is none. */
static void put_uncovered(struct sonde__json *j, const struct sonde__report *report,
                          const struct sonde__report_stall *stall)
{
    uint64_t total_ns = 0;
    if (stall->uncovered_count == 0) {
        return;
    }
    sonde__json_array(j, "uncovered");
    for (uint32_t i = 0; i < stall->uncovered_count && !j->out->stopped; i++) {
        const struct sonde__report_uncovered *u = &stall->uncovered[i];
        total_ns += u->duration_ns;
        sonde__json_object(j, NULL);
        sonde__json_uint(j, "time_ns", u->time_ns);
        sonde__json_uint(j, "duration_ns", u->duration_ns);
        sonde__json_string(j, "reason", SONDE__JSON_PICK(reasons, u->reason));
        sonde__report_json_number(j, "cpu_ns", u->cpu_ns);
        sonde__report_json_number(j, "runqueue_ns", u->runqueue_ns);
        sonde__report_json_text(j, "waits_for", report, u->detail);
        sonde__json_close(j);
    }
    sonde__json_close(j);
    sonde__json_uint(j, "uncovered_ns", total_ns);
}

/* The fingerprint, its text, and the writer's fingerprint if that differs. */
static void put_fingerprint(struct sonde__json *j, const struct sonde__report *report,
                            const struct sonde__report_stall *stall)
{
    struct sonde__report_fingerprint fingerprint;
    const char *written = sonde__report_text(report, stall->fingerprint);
    if (sonde__report_fingerprint(report, stall, &fingerprint) != SONDE_OK) {
        return;
    }
    if (fingerprint.id[0] != '\0') {
        sonde__json_string(j, "fingerprint", fingerprint.id);
    }
    if (fingerprint.text != NULL) {
        sonde__json_string(j, "fingerprint_text", fingerprint.text);
    }
    if (*written != '\0' && strcmp(written, fingerprint.id) != 0) {
        sonde__json_string(j, "fingerprint_written", written);
    }
    sonde__report_fingerprint_done(&fingerprint);
}

/* Nothing if nothing is known. */
static void put_load(struct sonde__json *j, const struct sonde__report_stall *stall)
{
    const struct sonde__report_load *load = &stall->load;
    if (load->measured_ns != 0) {
        sonde__json_object(j, "load");
        sonde__json_uint(j, "measured_ns", load->measured_ns);
        sonde__json_uint(j, "minor_faults", load->minor_faults);
        sonde__json_uint(j, "major_faults", load->major_faults);
        if (load->has_pressure) {
            sonde__json_uint(j, "cpu_pressure_ns", load->cpu_pressure_ns);
            sonde__json_uint(j, "memory_pressure_ns", load->memory_pressure_ns);
            sonde__json_uint(j, "io_pressure_ns", load->io_pressure_ns);
        }
        sonde__json_close(j);
    }
    if (sonde__report_is_congested(stall)) {
        sonde__json_bool(j, "congested", true);
    }
}

/* Members that only some reports have. */
static void put_circumstances(struct sonde__json *j, const struct sonde__report *report,
                              const struct sonde__report_stall *s)
{
    sonde__json_string(j, "kind", SONDE__JSON_PICK(stall_kinds, s->kind));
    sonde__report_json_process(j, report, s->process);
    if (s->fatal) {
        sonde__json_bool(j, "fatal", true);
    }
    sonde__report_json_number(j, "phase", s->phase);
    sonde__report_json_text(j, "loop_phase", report, s->loop_phase);
    sonde__report_json_text(j, "mode", report, s->mode);
    if (s->app_state != 0) {
        sonde__json_string(j, "app_state", SONDE__JSON_PICK(app_states, s->app_state));
    }
    if (s->annotation_count != 0) {
        sonde__json_array(j, "annotations");
        for (uint32_t i = 0; i < s->annotation_count && !j->out->stopped; i++) {
            sonde__json_object(j, NULL);
            sonde__report_json_text(j, "key", report, s->annotations[i].key);
            sonde__report_json_text(j, "value", report, s->annotations[i].value);
            sonde__json_close(j);
        }
        sonde__json_close(j);
    }
    put_uncovered(j, report, s);
    put_load(j, s);
    if (s->wait_count != 0) {
        sonde__json_array(j, "waits");
        sonde__report_json_waits(j, report, s->waits, s->wait_count);
        sonde__json_close(j);
    }
    put_fingerprint(j, report, s);
}

/* Summaries are cut at this length; names that long are rare. */
#define SUMMARY_BYTES 4096u

static void put_summary(struct sonde__json *j, const struct sonde__report *report,
                        const struct sonde__report_stall *stall,
                        const struct sonde__report_analysis *a)
{
    char text[SUMMARY_BYTES];
    sonde__report_summary_text(report, stall, a, text, sizeof text);
    sonde__json_string(j, "summary", text);
}

static void put_stall(struct sonde__json *j, const struct sonde__report *report,
                      const struct sonde__report_stall *s)
{
    struct sonde__report_analysis a = {0};
    sonde__json_object(j, NULL);
    sonde__json_uint(j, "begin_ns", s->begin_ns);
    sonde__json_uint(j, "duration_ns", s->duration_ns);
    sonde__json_bool(j, "open", s->open);
    sonde__json_int(j, "tid", s->tid);
    sonde__report_json_text(j, "thread_name", report, s->thread_name);
    sonde__json_bool(j, "main", s->main);
    sonde__json_string(j, "loop", SONDE__JSON_PICK(loops, s->loop));
    sonde__report_json_text(j, "loop_detail", report, s->loop_detail);
    sonde__json_uint(j, "loop_turns", s->loop_turns);
    sonde__json_uint(j, "cpu_ns", s->cpu_ns);
    sonde__json_uint(j, "runqueue_ns", s->runqueue_ns);
    sonde__json_uint(j, "overhead_ns", s->overhead_ns);
    sonde__json_uint(j, "samples_early", s->samples_early);
    sonde__json_string(j, "sampler", SONDE__JSON_PICK(samplers, s->sampler));
    if (sonde__report_analyse(report, s, &a) == SONDE_OK) {
        put_summary(j, report, s, &a);
        put_analysis(j, report, &a);
        sonde__report_analysis_done(&a);
    }
    put_circumstances(j, report, s);
    put_samples(j, report, s);
    sonde__json_array(j, "other_threads");
    for (uint32_t i = 0; i < s->thread_count && !j->out->stopped; i++) {
        sonde__report_json_thread(j, report, &s->threads[i]);
    }
    sonde__json_close(j);
    sonde__json_close(j);
}

static void put_groups(struct sonde__json *j, const struct sonde__report *report)
{
    struct sonde__report_groups groups;
    if (sonde__report_group_stalls(&report, 1, &groups) != SONDE_OK) {
        return;
    }
    sonde__json_array(j, "stall_groups");
    for (uint32_t i = 0; i < groups.count && !j->out->stopped; i++) {
        const struct sonde__report_group *group = &groups.list[i];
        sonde__json_object(j, NULL);
        sonde__json_string(j, "fingerprint", group->id);
        sonde__json_uint(j, "count", group->count);
        sonde__json_uint(j, "total_ns", group->total_ns);
        sonde__json_uint(j, "longest_ns", group->longest_ns);
        sonde__json_uint(j, "first_ns", group->first_ns);
        sonde__json_uint(j, "last_ns", group->last_ns);
        if (group->longest != UINT32_MAX) {
            sonde__json_uint(j, "longest", group->longest);
        }
        sonde__json_close(j);
    }
    sonde__json_close(j);
    sonde__report_groups_done(&groups);
}

void sonde__report_json_stalls(struct sonde__json *j, const struct sonde__report *report)
{
    uint32_t count = sonde__report_stall_count(report);
    sonde__json_array(j, "stalls");
    for (uint32_t i = 0; i < count && !j->out->stopped; i++) {
        put_stall(j, report, sonde__report_stall(report, i));
    }
    sonde__json_close(j);
    if (count > 1 || sonde__report_stall_count_count(report) != 0) {
        put_groups(j, report);
    }
}

void sonde__report_json_loose(struct sonde__json *j, const struct sonde__report *report)
{
    uint32_t waits = sonde__report_wait_count(report);
    if (sonde__report_sample_count(report) != 0) {
        put_samples(j, report, NULL);
    }
    if (waits != 0) {
        sonde__json_array(j, "waits");
        for (uint32_t i = 0; i < waits && !j->out->stopped; i++) {
            sonde__report_json_waits(j, report, sonde__report_wait(report, i), 1);
        }
        sonde__json_close(j);
    }
}
