// SPDX-License-Identifier: Apache-2.0
/* Recorded calls and blocks on the heap in JSON. */
#include "demangle.h"
#include "report_json_parts.h"
#include "report_view.h"

void sonde__report_json_threads(struct sonde__json *j, uint32_t threads, bool has_more)
{
    sonde__report_json_number(j, "threads", threads);
    if (has_more) {
        sonde__json_bool(j, "more_threads", true);
    }
}

void sonde__report_json_arguments(struct sonde__json *j, const struct sonde__report *report,
                                  const struct sonde__report_argument *arguments, uint32_t count)
{
    if (count != 0) {
        sonde__json_array(j, "arguments");
    }
    for (uint32_t i = 0; i < count; i++) {
        sonde__json_object(j, NULL);
        sonde__json_uint(j, "position", arguments[i].position);
        sonde__report_json_text(j, "name", report, arguments[i].name);
        sonde__report_json_text(j, "value", report, arguments[i].value);
        sonde__json_uint(j, "count", arguments[i].count);
        sonde__json_close(j);
    }
    if (count != 0) {
        sonde__json_close(j);
    }
}

/* Members that only an audit has. */
static void put_finding(struct sonde__json *j, const struct sonde__report *report,
                        const struct sonde__report_call *call)
{
    if (call->rule != 0) {
        sonde__json_uint(j, "rule", call->rule);
        sonde__report_json_text(j, "rule_name", report,
                                sonde__report_rule(report, call->rule)->name);
    }
    if (call->process != 0) {
        sonde__report_json_process(j, report, call->process);
    }
    sonde__report_json_number(j, "phase", call->phase);
    sonde__report_json_number(j, "first_ns", call->first_ns);
    sonde__report_json_number(j, "last_ns", call->last_ns);
    if (call->tid != 0) {
        sonde__json_int(j, "tid", call->tid);
    }
    sonde__report_json_threads(j, (uint32_t)__builtin_popcountll(call->threads),
                               (call->threads & SONDE__REPORT_LATER_THREADS) != 0);
    sonde__report_json_number(j, "over_limit", call->over_limit);
    sonde__report_json_text(j, "sdk", report, call->sdk);
    sonde__report_json_text(j, "fingerprint", report, call->fingerprint);
    sonde__report_json_arguments(j, report, call->arguments, call->argument_count);
}

/* In file order, which has each pair of function and stack once. */
void sonde__report_json_calls(struct sonde__json *j, const struct sonde__report *report)
{
    uint32_t kind = sonde__report_header(report)->kind;
    if (kind != SONDE__REPORT_CALLS && kind != SONDE__REPORT_AUDIT) {
        return;
    }
    sonde__json_array(j, "calls");
    for (uint32_t i = 0; i < sonde__report_call_count(report) && !j->out->stopped; i++) {
        const struct sonde__report_call *call = sonde__report_call(report, i);
        sonde__json_object(j, NULL);
        sonde__report_json_text(j, "function", report, call->function);
        sonde__json_uint(j, "count", call->count);
        if (call->missed != 0) {
            sonde__report_json_text(j, "may_miss", report, call->missed);
        }
        put_finding(j, report, call);
        if (call->stack != 0) {
            sonde__json_string(j, "end", sonde_end_text(call->end));
        }
        sonde__report_put_json_frames(j, report, call->stack);
        sonde__json_close(j);
    }
    sonde__json_close(j);
}

/* In file order, which keeps blocks of one time together. */
void sonde__report_json_tasks(struct sonde__json *j, const struct sonde__report *report)
{
    uint32_t count = sonde__report_tasks_count(report);
    if (count == 0) {
        return;
    }
    sonde__json_array(j, "tasks");
    for (uint32_t i = 0; i < count && !j->out->stopped; i++) {
        const struct sonde__report_tasks *tasks = sonde__report_tasks(report, i);
        sonde__json_object(j, NULL);
        sonde__json_int(j, "tid", tasks->tid);
        sonde__report_json_process(j, report, tasks->process);
        sonde__json_uint(j, "count", tasks->count);
        sonde__report_put_json_frames(j, report, tasks->stack);
        sonde__json_close(j);
    }
    sonde__json_close(j);
}

void sonde__report_json_heap_blocks(struct sonde__json *j, const struct sonde__report *report)
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
