// SPDX-License-Identifier: Apache-2.0
/* Parts of the JSON view that several members share: frames, threads, waits. */
#include <string.h>

#include "base_text.h"
#include "demangle.h"
#include "report_analyse.h"
#include "report_json.h"
#include "report_json_parts.h"
#include "report_read.h"
#include "report_view.h"

static const char *const name_sources[] = {"none", "symtab", "dynsym", "plt", "debug info", "jit"};
const char *const sonde__report_captured_by[SONDE__JSON_CAPTURED_BY] = {
    "not", "passive", "perf", "ptrace", "core", "self", "signal", "stop"};
static const char *const qualities[] = {"none",    "user interactive", "user initiated", "default",
                                        "utility", "background",       "maintenance"};
static const char *const wait_kinds[] = {"unknown",   "futex",  "mutex", "rwlock", "condition",
                                         "semaphore", "join",   "child", "file",   "file lock",
                                         "pipe",      "socket", "memory"};

void sonde__report_json_number(struct sonde__json *j, const char *key, uint64_t value)
{
    if (value != 0) {
        sonde__json_uint(j, key, value);
    }
}

void sonde__report_json_process(struct sonde__json *j, const struct sonde__report *report,
                                uint32_t process)
{
    sonde__json_int(j, "pid", sonde__report_pid(report, process));
    if (sonde__report_process_count(report) > 1) {
        sonde__report_json_number(j, "process", process);
    }
}

void sonde__report_json_end_reason(struct sonde__json *j, uint32_t end)
{
    sonde__json_string(j, "end", sonde_end_text(end));
}

static void put_end(struct sonde__json *j, uint32_t end, uint64_t end_at)
{
    sonde__report_json_end_reason(j, end);
    if (end_at != 0 || end == SONDE_END_NO_CODE) {
        sonde__json_hex(j, "end_at", end_at);
    }
}

void sonde__report_json_syscall(struct sonde__json *j, const struct sonde__report *report,
                                int64_t syscall)
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

void sonde__report_json_text(struct sonde__json *j, const char *key,
                             const struct sonde__report *report, uint32_t string)
{
    if (string != 0) {
        sonde__json_string(j, key, sonde__report_text(report, string));
    }
}

/* The name as stored, for comparison and look-up, and demangled if that differs. */
static void put_function(struct sonde__json *j, const char *name)
{
    char buffer[SONDE__DEMANGLE_OUTPUT_MAX];
    const char *shown = sonde__demangle_full(name, buffer);
    sonde__json_string(j, "function", name);
    if (shown != name) {
        sonde__json_string(j, "demangled", shown);
    }
}

void sonde__report_json_code_id(struct sonde__json *j, uint64_t code_id)
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
        sonde__json_string(j, "image_name", sonde__report_image_name(report, f->image));
        sonde__json_string(j, "module",
                           sonde__report_image_name(report, f->image)); /* for older readers */
        sonde__json_hex(j, "offset", f->offset);
    } else {
        sonde__json_hex(j, "address", f->offset);
        sonde__report_json_code_id(j, f->code_id);
    }
    if (f->name != 0) {
        put_function(j, sonde__report_text(report, f->name));
        sonde__json_uint(j, "function_offset", f->name_offset);
        sonde__json_string(j, "name_source", SONDE__JSON_PICK(name_sources, f->name_source));
    }
}

static void put_source(struct sonde__json *j, const struct sonde__report *report, uint32_t file,
                       uint32_t line)
{
    sonde__report_json_text(j, "file", report, file);
    sonde__report_json_number(j, "line", line);
}

void sonde__report_json_frame(struct sonde__json *j, const struct sonde__report *report,
                              const struct sonde__report_frame *f)
{
    if (f->kind == SONDE__REPORT_FRAME_SCRIPT) {
        sonde__json_string(j, "kind", "script");
        sonde__report_json_text(j, "language", report, f->language);
        sonde__report_json_text(j, "function", report, f->name);
        put_source(j, report, f->file, f->line);
        sonde__json_bool(j, "app", sonde__report_frame_is_app(report, f));
        return;
    }
    put_place(j, report, f);
    sonde__json_string(j, "found", sonde_found_text(f->how & SONDE_HOW_FOUND_MASK));
    if ((f->how & SONDE_HOW_EXACT) != 0) {
        sonde__json_bool(j, "exact", true);
    }
    if ((f->how & SONDE_HOW_SIGNAL) != 0) {
        sonde__json_bool(j, "signal", true);
    }
}

/* Calls inlined into a physical frame, and tail calls after it. */
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

static void put_creator(struct sonde__json *j, const struct sonde__report *report, uint32_t frame)
{
    if (frame != 0) {
        sonde__json_object(j, "task_created_by");
        sonde__report_json_frame(j, report, sonde__report_frame(report, frame));
        sonde__json_close(j);
    }
}

/* Write one chain. Returns the first stack that awaits one of its frames, or 0. */
static uint32_t put_chain(struct sonde__json *j, const struct sonde__report *report, uint32_t stack,
                          uint32_t *shown)
{
    uint64_t depth = 0;
    uint32_t id = stack, awaiter = 0;
    sonde__json_array(j, "frames");
    for (; id != 0 && *shown < SONDE__REPORT_VIEW_FRAMES_MAX && !j->out->stopped; ++*shown) {
        const struct sonde__report_node *node = sonde__report_node(report, id);
        const struct sonde__report_frame *f = sonde__report_frame(report, node->frame);
        id = node->parent;
        awaiter = awaiter != 0 ? awaiter : node->awaiter;
        sonde__json_object(j, NULL);
        if (f->kind == SONDE__REPORT_FRAME_SCRIPT) {
            sonde__report_json_frame(j, report, f);
        } else if (f->lost_count != 0) {
            sonde__json_uint(j, "left_out", f->lost_count);
            depth += f->lost_count;
        } else {
            sonde__json_uint(j, "index", depth++);
            sonde__report_json_frame(j, report, f);
            put_source(j, report, f->file, f->line);
            put_calls(j, report, node, f);
            *shown += f->inlined_count + node->tail_call_count;
        }
        sonde__report_json_text(j, "task", report, node->task);
        put_creator(j, report, node->creator);
        sonde__json_close(j);
    }
    if (id != 0) {
        sonde__json_object(j, NULL);
        sonde__json_uint(j, "not_shown", sonde__report_node(report, id)->depth);
        sonde__json_close(j);
    }
    sonde__json_close(j);
    return id != 0 ? 0 : awaiter;
}

/* Write a stack and the chain of its awaiters. Awaiters have smaller ids, so the loop ends. */
void sonde__report_put_json_frames(struct sonde__json *j, const struct sonde__report *report,
                                   uint32_t stack)
{
    uint32_t shown = 0;
    uint32_t awaiter = put_chain(j, report, stack, &shown);
    if (awaiter == 0) {
        return;
    }
    sonde__json_array(j, "awaited_by");
    while (awaiter != 0 && !j->out->stopped) {
        sonde__json_object(j, NULL);
        awaiter = put_chain(j, report, awaiter, &shown);
        sonde__json_close(j);
    }
    sonde__json_close(j);
}

void sonde__report_json_purpose(struct sonde__json *j, const struct sonde__report *report,
                                uint32_t qos, uint32_t queue)
{
    if (qos != 0) {
        sonde__json_string(j, "qos", SONDE__JSON_PICK(qualities, qos));
    }
    sonde__report_json_text(j, "queue", report, queue);
}

void sonde__report_json_thread(struct sonde__json *j, const struct sonde__report *report,
                               const struct sonde__report_thread *t)
{
    char state[2] = {t->state > ' ' && t->state < 0x7f ? (char)t->state : '?', '\0'};
    sonde__json_object(j, NULL);
    sonde__json_int(j, "tid", t->tid);
    sonde__report_json_text(j, "name", report, t->name);
    sonde__json_bool(j, "main", t->main);
    sonde__report_json_process(j, report, t->process);
    sonde__report_json_purpose(j, report, t->qos, t->queue);
    sonde__json_string(j, "state", state);
    sonde__report_json_syscall(j, report, t->syscall);
    sonde__report_json_text(j, "waits_for", report, t->detail);
    sonde__json_string(j, "captured_by",
                       SONDE__JSON_PICK(sonde__report_captured_by, t->captured_by));
    sonde__report_json_number(j, "pause_ns", t->pause_ns);
    sonde__report_json_number(j, "time_ns", t->time_ns);
    put_end(j, t->end, t->end_at);
    sonde__report_json_text(j, "note", report, t->note);
    sonde__report_put_json_frames(j, report, t->stack);
    if (t->script_stack != 0) {
        sonde__json_object(j, "read_later");
        sonde__report_put_json_frames(j, report, t->script_stack);
        sonde__json_close(j);
    }
    sonde__json_close(j);
}

void sonde__report_json_waits(struct sonde__json *j, const struct sonde__report *report,
                              const struct sonde__report_wait *waits, uint32_t count)
{
    for (uint32_t i = 0; i < count && !j->out->stopped; i++) {
        const struct sonde__report_wait *w = &waits[i];
        sonde__json_object(j, NULL);
        sonde__json_int(j, "tid", w->tid);
        sonde__report_json_process(j, report, w->process);
        sonde__json_string(j, "kind", SONDE__JSON_PICK(wait_kinds, w->kind));
        sonde__report_json_text(j, "resource", report, w->resource);
        if (w->owner_tid != 0 || w->owner_process != 0) {
            sonde__json_object(j, "owner");
            if (w->owner_tid != 0) {
                sonde__json_int(j, "tid", w->owner_tid);
            }
            sonde__report_json_process(j, report, w->owner_process);
            sonde__json_close(j);
        }
        sonde__report_json_text(j, "peer", report, w->peer);
        sonde__json_close(j);
    }
}
