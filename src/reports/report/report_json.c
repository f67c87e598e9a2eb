// SPDX-License-Identifier: Apache-2.0
/* The JSON view; docs/guide/report-json.md has its schema. Numbers that may exceed 2^53 (addresses,
 * the time of day) are strings: many readers store numbers as doubles. */
#include <string.h>

#include "base_text.h"
#include "demangle.h"
#include "mem_heap.h"
#include "report_analyse.h"
#include "report_json.h"
#include "report_read.h"
#include "report_view.h"

static const char *const name_sources[] = {"none", "symtab", "dynsym", "plt", "debug info", "jit"};
static const char *const captured_by[] = {"not",  "passive", "perf",  "ptrace",
                                          "core", "self",    "signal"};
static const char *const phase_kinds[] = {"none", "running", "blocked", "disk", "unknown"};
static const char *const loops[] = {"unknown",   "epoll",  "poll",  "select",
                                    "condition", "signal", "other", "marks"};
static const char *const samplers[] = {"none", "passive+perf", "passive+ptrace", "passive+signal"};

#define PICK(texts, index) ((index) < sizeof(texts) / sizeof *(texts) ? (texts)[index] : "unknown")

static void put_end_reason(struct sonde__json *j, uint32_t end)
{
    sonde__json_string(j, "end", sonde_end_text((enum sonde_end_reason)end));
}

static void put_end(struct sonde__json *j, uint32_t end, uint64_t end_at)
{
    put_end_reason(j, end);
    if (end_at != 0 || end == SONDE_END_NO_CODE) {
        sonde__json_hex(j, "end_at", end_at);
    }
}

static void put_syscall(struct sonde__json *j, const struct sonde__report *report, int64_t syscall)
{
    const char *name = sonde__report_syscall_name(report, syscall - 1);
    if (syscall <= 0) {
        return;
    }
    sonde__json_object(j, "syscall");
    sonde__json_int(j, "number", syscall - 1);
    if (name != NULL) {
        sonde__json_string(j, "name", name);
    }
    sonde__json_close(j);
}

static void put_text(struct sonde__json *j, const char *key, const struct sonde__report *report,
                     uint32_t string)
{
    if (string != 0) {
        sonde__json_string(j, key, sonde__report_text(report, string));
    }
}

/* The name as in the file, to compare and to look up; and demangled, if that differs. */
static void put_function(struct sonde__json *j, const char *name)
{
    char buffer[SONDE__DEMANGLE_OUTPUT_MAX];
    const char *shown = sonde__demangle(name, buffer);
    sonde__json_string(j, "function", name);
    if (shown != name) {
        sonde__json_string(j, "demangled", shown);
    }
}

static void put_code_id(struct sonde__json *j, uint64_t code_id)
{
    char digits[24];
    struct sonde__text text;
    if (code_id != 0) {
        sonde__base_text_init(&text, digits, sizeof digits);
        sonde__base_text_hex(&text, code_id, 16);
        sonde__json_string(j, "code_id", digits);
    }
}

static void put_place(struct sonde__json *j, const struct sonde__report *report,
                      const struct sonde__report_frame *f)
{
    if (f->image != 0) {
        sonde__json_uint(j, "image", f->image);
        sonde__json_string(j, "module", sonde__report_module(report, f->image));
        sonde__json_hex(j, "offset", f->offset);
    } else {
        sonde__json_hex(j, "address", f->offset);
        put_code_id(j, f->code_id);
    }
    if (f->name != 0) {
        put_function(j, sonde__report_text(report, f->name));
        sonde__json_uint(j, "function_offset", f->name_offset);
        sonde__json_string(j, "name_source", PICK(name_sources, f->name_source));
    }
}

static void put_frame_fields(struct sonde__json *j, const struct sonde__report *report,
                             const struct sonde__report_frame *f)
{
    put_place(j, report, f);
    sonde__json_string(j, "found",
                       sonde_found_text((enum sonde_found_by)(f->how & SONDE_HOW_FOUND_MASK)));
    if ((f->how & SONDE_HOW_EXACT) != 0) {
        sonde__json_bool(j, "exact", true);
    }
    if ((f->how & SONDE_HOW_SIGNAL) != 0) {
        sonde__json_bool(j, "signal", true);
    }
}

static void put_source(struct sonde__json *j, const struct sonde__report *report, uint32_t file,
                       uint32_t line)
{
    put_text(j, "file", report, file);
    if (line != 0) {
        sonde__json_uint(j, "line", line);
    }
}

/* The calls inlined into a physical frame, and the tail calls after it. */
static void put_calls(struct sonde__json *j, const struct sonde__report *report,
                      const struct sonde__report_node *node, const struct sonde__report_frame *f)
{
    if (f->inlined_count != 0) {
        sonde__json_array(j, "inlined");
        for (uint32_t i = 0; i < f->inlined_count && !j->out->stopped; i++) {
            sonde__json_object(j, NULL);
            put_function(j, sonde__report_text(report, f->inlined[i].name));
            put_source(j, report, f->inlined[i].file, f->inlined[i].line);
            sonde__json_close(j);
        }
        sonde__json_close(j);
    }
    if (node->tail_call_count != 0) {
        sonde__json_array(j, "tail_calls");
        for (uint32_t i = 0; i < node->tail_call_count && !j->out->stopped; i++) {
            const struct sonde__report_frame *call =
                sonde__report_frame(report, node->tail_calls[i]);
            sonde__json_object(j, NULL);
            if (call->alternatives != 0) {
                sonde__json_uint(j, "alternatives", call->alternatives);
            } else {
                put_place(j, report, call);
                put_source(j, report, call->file, call->line);
            }
            sonde__json_close(j);
        }
        sonde__json_close(j);
    }
}

void sonde__report_put_json_frames(struct sonde__json *j, const struct sonde__report *report,
                                   uint32_t stack)
{
    uint64_t depth = 0;
    uint32_t shown = 0, id = stack;
    sonde__json_array(j, "frames");
    for (; id != 0 && shown < SONDE__REPORT_VIEW_FRAMES_MAX && !j->out->stopped; shown++) {
        const struct sonde__report_node *node = sonde__report_node(report, id);
        const struct sonde__report_frame *f = sonde__report_frame(report, node->frame);
        id = node->parent;
        sonde__json_object(j, NULL);
        if (f->lost_count != 0) {
            sonde__json_uint(j, "left_out", f->lost_count);
            depth += f->lost_count;
        } else {
            sonde__json_uint(j, "index", depth++);
            put_frame_fields(j, report, f);
            put_source(j, report, f->file, f->line);
            put_calls(j, report, node, f);
            shown += f->inlined_count + node->tail_call_count;
        }
        sonde__json_close(j);
    }
    if (id != 0) {
        sonde__json_object(j, NULL);
        sonde__json_uint(j, "not_shown", sonde__report_node(report, id)->depth);
        sonde__json_close(j);
    }
    sonde__json_close(j);
}

static void put_thread(struct sonde__json *j, const struct sonde__report *report,
                       const struct sonde__report_thread *t)
{
    char state[2] = {t->state > ' ' && t->state < 0x7f ? (char)t->state : '?', '\0'};
    sonde__json_object(j, NULL);
    sonde__json_int(j, "tid", t->tid);
    put_text(j, "name", report, t->name);
    sonde__json_bool(j, "main", t->main);
    sonde__json_string(j, "state", state);
    put_syscall(j, report, t->syscall);
    put_text(j, "waits_for", report, t->detail);
    sonde__json_string(j, "captured_by", PICK(captured_by, t->captured_by));
    if (t->pause_ns != 0) {
        sonde__json_uint(j, "pause_ns", t->pause_ns);
    }
    if (t->time_ns != 0) {
        sonde__json_uint(j, "time_ns", t->time_ns);
    }
    put_end(j, t->end, t->end_at);
    put_text(j, "note", report, t->note);
    sonde__report_put_json_frames(j, report, t->stack);
    sonde__json_close(j);
}

static void put_header(struct sonde__json *j, const struct sonde__report *report)
{
    const struct sonde__report_header *h = sonde__report_header(report);
    sonde__json_string(j, "schema", "sonde-report-1");
    sonde__json_string(j, "kind",
                       h->kind == SONDE__REPORT_STACKS        ? "stacks"
                       : h->kind == SONDE__REPORT_WATCH       ? "watch"
                       : h->kind == SONDE__REPORT_CALLS       ? "calls"
                       : h->kind == SONDE__REPORT_HEAP_BLOCKS ? "heap-blocks"
                                                              : "unknown");
    sonde__json_string(j, "tool", h->tool);
    sonde__json_time(j, "time", h->time_unix_ns);
    sonde__json_int(j, "pid", h->pid);
    sonde__json_string(j, "executable", h->executable);
    sonde__json_string(j, "os", h->os);
    sonde__json_string(j, "arch", h->arch);
    sonde__json_string(j, "source", h->source);
    if (h->threshold_ns != 0) {
        sonde__json_uint(j, "threshold_ns", h->threshold_ns);
    }
    if (h->pause_ns != 0) {
        sonde__json_uint(j, "pause_ns", h->pause_ns);
    }
}

static void put_images(struct sonde__json *j, const struct sonde__report *report)
{
    static const char digits[] = "0123456789abcdef";
    sonde__json_array(j, "images");
    for (uint32_t id = 1; id <= sonde__report_image_count(report) && !j->out->stopped; id++) {
        const struct sonde__report_image *image = sonde__report_image(report, id);
        char build_id[2 * SONDE__BUILD_ID_MAX + 1] = "";
        for (size_t i = 0; i < image->build_id.size; i++) {
            build_id[2 * i] = digits[image->build_id.bytes[i] >> 4];
            build_id[2 * i + 1] = digits[image->build_id.bytes[i] & 15];
            build_id[2 * i + 2] = '\0';
        }
        sonde__json_object(j, NULL);
        sonde__json_uint(j, "id", id);
        sonde__json_string(j, "path", sonde__report_text(report, image->path));
        sonde__json_string(j, "build_id", build_id);
        put_code_id(j, image->code_id);
        sonde__json_bool(j, "main", (image->flags & SONDE__IMAGE_MAIN) != 0);
        sonde__json_bool(j, "app", sonde__report_is_app(report, id));
        if ((image->flags & SONDE__IMAGE_DELETED) != 0) {
            sonde__json_bool(j, "deleted", true);
        }
        sonde__json_close(j);
    }
    sonde__json_close(j);
}

/* The stacks that samples of a stall refer to by id, each once. */
static void put_stall_stacks(struct sonde__json *j, const struct sonde__report *report,
                             const struct sonde__report_stall *stall)
{
    uint32_t nodes = sonde__report_node_count(report);
    uint8_t *seen = sonde__mem_alloc_zeroed((size_t)nodes / 8 + 1);
    sonde__json_array(j, "stacks");
    for (uint32_t i = 0; i < stall->sample_count && !j->out->stopped; i++) {
        uint32_t stack = stall->samples[i].stack;
        if (stack == 0 || stack > nodes ||
            (seen != NULL && (seen[stack / 8] >> (stack % 8) & 1) != 0)) {
            continue;
        }
        if (seen != NULL) {
            seen[stack / 8] = (uint8_t)(seen[stack / 8] | 1u << (stack % 8));
        }
        sonde__json_object(j, NULL);
        sonde__json_uint(j, "id", stack);
        put_end_reason(j, stall->samples[i].end);
        sonde__report_put_json_frames(j, report, stack);
        sonde__json_close(j);
    }
    sonde__json_close(j);
    sonde__mem_free(seen);
}

static void put_samples(struct sonde__json *j, const struct sonde__report *report,
                        const struct sonde__report_stall *stall)
{
    sonde__json_array(j, "samples");
    for (uint32_t i = 0; i < stall->sample_count && !j->out->stopped; i++) {
        const struct sonde__report_sample *s = &stall->samples[i];
        sonde__json_object(j, NULL);
        sonde__json_uint(j, "time_ns", s->time_ns);
        sonde__json_uint(j, "weight_ns", s->weight_ns);
        sonde__json_uint(j, "stack", s->stack);
        sonde__json_string(j, "state", PICK(phase_kinds, s->phase));
        put_syscall(j, report, s->syscall);
        put_text(j, "waits_for", report, s->detail);
        sonde__json_string(j, "captured_by", PICK(captured_by, s->captured_by));
        sonde__json_close(j);
    }
    sonde__json_close(j);
}

static void put_weight(struct sonde__json *j, const char *key, const struct sonde__report *report,
                       const struct sonde__report_weight *weight)
{
    if (weight->frame != 0) {
        sonde__json_object(j, key);
        put_frame_fields(j, report, sonde__report_frame(report, weight->frame));
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
        sonde__json_string(j, "state", PICK(phase_kinds, phase->kind));
        put_syscall(j, report, phase->syscall);
        put_text(j, "waits_for", report, phase->detail);
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

static void put_stall(struct sonde__json *j, const struct sonde__report *report,
                      const struct sonde__report_stall *s)
{
    struct sonde__report_analysis a = {0};
    sonde__json_object(j, NULL);
    sonde__json_uint(j, "begin_ns", s->begin_ns);
    sonde__json_uint(j, "duration_ns", s->duration_ns);
    sonde__json_bool(j, "open", s->open);
    sonde__json_int(j, "tid", s->tid);
    put_text(j, "thread_name", report, s->thread_name);
    sonde__json_bool(j, "main", s->main);
    sonde__json_string(j, "loop", PICK(loops, s->loop));
    put_text(j, "loop_detail", report, s->loop_detail);
    sonde__json_uint(j, "loop_turns", s->loop_turns);
    sonde__json_uint(j, "cpu_ns", s->cpu_ns);
    sonde__json_uint(j, "runqueue_ns", s->runqueue_ns);
    sonde__json_uint(j, "overhead_ns", s->overhead_ns);
    sonde__json_uint(j, "samples_early", s->samples_early);
    sonde__json_string(j, "sampler", PICK(samplers, s->sampler));
    if (sonde__report_analyse(report, s, &a) == SONDE_OK) {
        put_analysis(j, report, &a);
        sonde__report_analysis_done(&a);
    }
    put_stall_stacks(j, report, s);
    put_samples(j, report, s);
    sonde__json_array(j, "other_threads");
    for (uint32_t i = 0; i < s->thread_count && !j->out->stopped; i++) {
        put_thread(j, report, &s->threads[i]);
    }
    sonde__json_close(j);
    sonde__json_close(j);
}

/* In the order of the file: each pair of function and stack once. */
static void put_recorded(struct sonde__json *j, const struct sonde__report *report)
{
    if (sonde__report_header(report)->kind != SONDE__REPORT_CALLS) {
        return;
    }
    sonde__json_array(j, "calls");
    for (uint32_t i = 0; i < sonde__report_call_count(report) && !j->out->stopped; i++) {
        const struct sonde__report_call *call = sonde__report_call(report, i);
        sonde__json_object(j, NULL);
        put_text(j, "function", report, call->function);
        sonde__json_uint(j, "count", call->count);
        if (call->missed != 0) {
            put_text(j, "may_miss", report, call->missed);
        }
        if (call->stack != 0) {
            sonde__json_string(j, "end", sonde_end_text((enum sonde_end_reason)call->end));
        }
        sonde__report_put_json_frames(j, report, call->stack);
        sonde__json_close(j);
    }
    sonde__json_close(j);
}

/* In the order of the file, in which those of one time are together. */
static void put_heap_blocks(struct sonde__json *j, const struct sonde__report *report)
{
    char name[SONDE__DEMANGLE_OUTPUT_MAX];
    if (sonde__report_header(report)->kind != SONDE__REPORT_HEAP_BLOCKS) {
        return;
    }
    sonde__json_array(j, "heap_blocks");
    for (uint32_t i = 0; i < sonde__report_heap_blocks_count(report) && !j->out->stopped; i++) {
        const struct sonde__report_heap_blocks *b = sonde__report_heap_blocks(report, i);
        sonde__json_object(j, NULL);
        sonde__json_uint(j, "time_ns", b->time_ns);
        sonde__json_string(
            j, "function",
            sonde__report_function(
                j->out, report,
                sonde__report_frame(report, sonde__report_node(report, b->function)->frame)->name,
                name));
        sonde__json_uint(j, "count", b->count);
        sonde__json_uint(j, "size_bytes", b->size_bytes);
        sonde__json_int(j, "growth", b->growth);
        sonde__json_int(j, "growth_bytes", b->growth_bytes);
        sonde__json_uint(j, "oldest_ns", b->oldest_ns);
        sonde__json_uint(j, "newest_ns", b->newest_ns);
        sonde__json_int(j, "tid", b->tid);
        sonde__report_put_json_frames(j, report, b->stack);
        sonde__json_close(j);
    }
    sonde__json_close(j);
}

static void put_notes(struct sonde__json *j, const struct sonde__report *report)
{
    sonde__json_array(j, "notes");
    for (uint32_t i = 0; i < sonde__report_note_count(report); i++) {
        sonde__json_string(j, NULL, sonde__report_note(report, i));
    }
    sonde__json_close(j);
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
        sonde__json_close(j);
    }
    if (loss != NULL) {
        char line[SONDE__REPORT_LOSS_LINE];
        sonde__report_loss_line(loss, line, sizeof line);
        sonde__json_object(j, "file");
        sonde__json_uint(j, "bytes", loss->file_bytes);
        sonde__json_string(j, "damage", PICK(damages, loss->damage));
        sonde__json_uint(j, "lost_from", loss->offset);
        sonde__json_uint(j, "lost_bytes", loss->size_bytes);
        sonde__json_bool(j, "finished", !loss->unfinished);
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
    sonde__json_init(&j, &out);
    sonde__json_object(&j, NULL);
    put_header(&j, report);
    put_notes(&j, report);
    put_images(&j, report);
    sonde__json_array(&j, "threads");
    for (uint32_t i = 0; i < sonde__report_thread_count(report) && !out.stopped; i++) {
        put_thread(&j, report, sonde__report_thread(report, i));
    }
    sonde__json_close(&j);
    sonde__json_array(&j, "stalls");
    for (uint32_t i = 0; i < sonde__report_stall_count(report) && !out.stopped; i++) {
        put_stall(&j, report, sonde__report_stall(report, i));
    }
    sonde__json_close(&j);
    put_recorded(&j, report);
    put_heap_blocks(&j, report);
    put_totals(&j, report, view == NULL ? NULL : view->loss);
    sonde__json_close(&j);
    sonde__report_out_str(&out, "\n");
    sonde__report_out_flush(&out);
}
