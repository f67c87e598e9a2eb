// SPDX-License-Identifier: Apache-2.0
/* The findings of an audit as text, rule by rule: the function, its callers, how often, when, by
 * which thread, with which arguments. */
#include <inttypes.h>
#include <stdlib.h>

#include "base_text.h"
#include "mem_heap.h"
#include "mem_sort.h"
#include "report_rule_sum.h"
#include "report_rule_values.h"
#include "report_view.h"

enum { VALUES_SHOWN = 5 }; /* of an argument of a rule; JSON has more */

/* What the findings are together. */
struct sums {
    struct sonde__report_rule_sum *rules;
    struct sonde__report_values values;
};

struct finding {
    uint32_t rule, call; /* id, index */
    uint64_t count;
};

/* By rule, then by number of calls, descending. */
static int by_rule(const void *left, const void *right)
{
    const struct finding *a = left, *b = right;
    int order = SONDE__ORDER(a, b, rule);
    order = order != 0 ? order : SONDE__ORDER(b, a, count);
    return order != 0 ? order : SONDE__ORDER(a, b, call);
}

static void put_text(struct sonde__report_out *out, const struct sonde__report *report,
                     const char *before, uint32_t string)
{
    if (string != 0) {
        sonde__report_out_print(out, "%s%s", before, sonde__report_text(report, string));
    }
}

static void put_rule(struct sonde__report_out *out, const struct sonde__report *report, uint32_t id)
{
    static const char *const severities[] = {"", "note  ", "warning  ", "error  "};
    const struct sonde__report_rule *rule = sonde__report_rule(report, id);
    sonde__report_out_str(out, "\n");
    sonde__report_out_color(out, rule->severity == SONDE__REPORT_SEVERITY_ERROR
                                     ? SONDE__REPORT_RED
                                     : SONDE__REPORT_YELLOW);
    sonde__report_out_str(out, rule->severity < sizeof severities / sizeof *severities
                                   ? severities[rule->severity]
                                   : "");
    sonde__report_out_color(out, SONDE__REPORT_BOLD);
    sonde__report_out_text(out, sonde__report_text(report, rule->name));
    sonde__report_out_color(out, SONDE__REPORT_PLAIN);
    put_text(out, report, "  ", rule->category);
    put_text(out, report, "  ", rule->text);
    put_text(out, report, "  pack ", rule->pack);
    if (rule->limit_count != 0) {
        sonde__report_out_print(out, "  at most %" PRIu64 " in %s", rule->limit_count,
                                sonde__report_duration(rule->limit_ns).text);
    }
    if (rule->over_last_ns != 0) {
        sonde__report_out_print(out, ", exceeded from %s",
                                sonde__report_duration(rule->over_first_ns).text);
        sonde__report_out_print(out, " to %s after the start",
                                sonde__report_duration(rule->over_last_ns).text);
    }
    sonde__report_out_str(out, "\n");
}

static void put_numbers(struct sonde__report_out *out, const struct sonde__report_call *call)
{
    sonde__report_out_print(out, "%" PRIu64 " call%s", call->count,
                            sonde__base_plural(call->count));
    if (call->over_limit != 0) {
        sonde__report_out_print(out, ", %" PRIu64 " more than allowed", call->over_limit);
    }
    if (call->last_ns != 0) {
        sonde__report_out_print(out, "  %s%s", sonde__report_duration(call->first_ns).text,
                                call->first_ns != call->last_ns ? " to " : "");
        if (call->first_ns != call->last_ns) {
            sonde__report_out_duration(out, call->last_ns);
        }
        sonde__report_out_str(out, " after the start");
    }
}

static void put_threads(struct sonde__report_out *out, uint64_t threads)
{
    uint32_t count = (uint32_t)__builtin_popcountll(threads);
    sonde__report_out_print(out, "  %u%s thread%s", count,
                            (threads & SONDE__REPORT_LATER_THREADS) != 0 ? " or more" : "",
                            sonde__base_plural(count));
}

/* "path", or "argument 2" where the name is not known. */
static void put_argument_name(struct sonde__report_out *out, const struct sonde__report *report,
                              const struct sonde__report_argument *argument)
{
    if (argument->name != 0) {
        put_text(out, report, "", argument->name);
    } else if (argument->position == 0) {
        sonde__report_out_str(out, "result");
    } else {
        sonde__report_out_str(out, "argument ");
        sonde__report_out_dec(out, argument->position);
    }
}

static void put_value(struct sonde__report_out *out, const struct sonde__report *report,
                      const struct sonde__report_argument *argument)
{
    if (argument->value != 0) {
        put_text(out, report, "", argument->value);
    } else {
        sonde__report_out_str(out, "other values");
    }
    sonde__report_out_print(out, "  (%" PRIu64 " call%s)", argument->count,
                            sonde__base_plural(argument->count));
}

static void put_argument(struct sonde__report_out *out, const struct sonde__report *report,
                         const struct sonde__report_argument *argument)
{
    sonde__report_out_str(out, "    ");
    put_argument_name(out, report, argument);
    sonde__report_out_str(out, ": ");
    put_value(out, report, argument);
    sonde__report_out_str(out, "\n");
}

/* "  path: /a  (3 calls), /b  (1 call), other values  (9 calls)" */
static void put_rule_values(struct sonde__report_out *out, const struct sonde__report *report,
                            const struct sonde__report_values *values, uint32_t rule)
{
    struct sonde__report_argument list[SONDE__REPORT_RULE_VALUES];
    uint32_t count = sonde__report_values_of(values, rule, list, SONDE__REPORT_RULE_VALUES);
    uint32_t shown = 0;
    uint64_t others = 0;
    for (uint32_t i = 0; i < count && !out->stopped; i++) {
        bool is_last = i + 1 == count || list[i + 1].position != list[i].position ||
                       list[i + 1].name != list[i].name;
        if (shown == 0) {
            sonde__report_out_str(out, "  ");
            put_argument_name(out, report, &list[i]);
        }
        if (list[i].value != 0 && shown < VALUES_SHOWN) {
            sonde__report_out_str(out, shown++ == 0 ? ": " : ", ");
            put_value(out, report, &list[i]);
        } else {
            others += list[i].count;
        }
        if (is_last && others != 0) {
            const struct sonde__report_argument other = {.count = others};
            sonde__report_out_str(out, shown == 0 ? ": " : ", ");
            put_value(out, report, &other);
        }
        sonde__report_out_str(out, is_last ? "\n" : "");
        shown = is_last ? 0 : shown;
        others = is_last ? 0 : others;
    }
}

static void put_finding(struct sonde__report_out *out, const struct sonde__report *report,
                        const struct sonde__report_call *call)
{
    put_text(out, report, "  ", call->function);
    sonde__report_out_str(out, "  ");
    put_numbers(out, call);
    if (call->tid != 0) {
        sonde__report_out_print(out, "  thread %" PRId64, call->tid);
    }
    if (sonde__report_pid(report, call->process) != sonde__report_header(report)->pid) {
        sonde__report_out_print(out, "  process %d", sonde__report_pid(report, call->process));
    }
    if (call->phase != 0) {
        sonde__report_out_str(out, "  in ");
        sonde__report_put_named_phase(out, report, call->phase);
    }
    if (call->tid == 0 && call->threads != 0) {
        put_threads(out, call->threads);
    }
    put_text(out, report, "  sdk ", call->sdk);
    sonde__report_out_str(out, "\n");
    for (uint32_t i = 0; i < call->argument_count && !out->stopped; i++) {
        put_argument(out, report, &call->arguments[i]);
    }
    sonde__report_put_stack(out, report, call->stack, 4);
}

/* Sort the findings of all rules into `ret`, and return their number. */
static uint32_t collect(const struct sonde__report *report, struct finding *ret)
{
    uint32_t found = 0;
    for (uint32_t i = 0; i < sonde__report_call_count(report); i++) {
        const struct sonde__report_call *call = sonde__report_call(report, i);
        if (sonde__report_is_finding(report, call)) {
            ret[found++] = (struct finding){call->rule, i, call->count};
        }
    }
    qsort(ret, found, sizeof *ret, by_rule);
    return found;
}

static void put_sum(struct sonde__report_out *out, const struct finding *findings, uint32_t count,
                    const char *before, const char *behind)
{
    uint64_t calls = 0;
    for (uint32_t i = 0; i < count; i++) {
        calls += findings[i].count;
    }
    sonde__report_out_print(out, "  %" PRIu64 " call%s from %u %sstack%s%s\n", calls,
                            sonde__base_plural(calls), count, before, sonde__base_plural(count),
                            behind);
}

/* "  2 stacks of the program's frames, 12 ms to 3.1 s after the start, 4 threads, sdks a, b" */
static void put_rule_sum(struct sonde__report_out *out, const struct sonde__report *report,
                         const struct sonde__report_rule_sum *sum)
{
    sonde__report_out_print(out, "  %u different stack%s of the program's own frames",
                            sum->app_stacks, sonde__base_plural(sum->app_stacks));
    if (sum->last_ns != 0) {
        sonde__report_out_print(out, ", first %s", sonde__report_duration(sum->first_ns).text);
        sonde__report_out_print(out, " and last %s after the start",
                                sonde__report_duration(sum->last_ns).text);
    }
    if (sum->threads != 0) {
        sonde__report_out_print(out, ", %u%s thread%s", sum->threads,
                                sum->has_more_threads ? " or more" : "",
                                sonde__base_plural(sum->threads));
    }
    for (uint32_t i = 0; i < sum->sdk_count; i++) {
        put_text(out, report, i == 0 ? ", sdk " : " + ", sum->sdks[i]);
    }
    sonde__report_out_str(out, sum->has_more_sdks ? " and others\n" : "\n");
}

/* A rule with its first findings. */
static void put_rule_findings(struct sonde__report_out *out, const struct sonde__report *report,
                              const struct finding *findings, uint32_t count, uint32_t top,
                              const struct sums *sums)
{
    uint32_t shown = count < top ? count : top;
    put_rule(out, report, findings[0].rule);
    put_sum(out, findings, count, "", "");
    put_rule_sum(out, report, &sums->rules[findings[0].rule - 1]);
    put_rule_values(out, report, &sums->values, findings[0].rule);
    for (uint32_t i = 0; i < shown && !out->stopped; i++) {
        put_finding(out, report, sonde__report_call(report, findings[i].call));
    }
    if (shown < count) {
        put_sum(out, findings + shown, count - shown, "more ", " (--top=all)");
    }
}

/* Findings are in the order of the rules: those between have none. */
static void put_unbroken(struct sonde__report_out *out, const struct sonde__report *report,
                         const struct finding *findings, uint32_t count)
{
    const char *before = "no calls: ";
    uint32_t at = 0;
    for (uint32_t id = 1; id <= sonde__report_rule_count(report) && !out->stopped; id++) {
        while (at < count && findings[at].rule < id) {
            at++;
        }
        if (at == count || findings[at].rule != id) {
            sonde__report_out_str(out, before[0] == ',' ? "" : "\n");
            put_text(out, report, before, sonde__report_rule(report, id)->name);
            before = ", ";
        }
    }
    sonde__report_out_str(out, before[0] == ',' ? "\n" : "");
}

/* When the phase changed. */
static void put_phases(struct sonde__report_out *out, const struct sonde__report *report)
{
    for (uint32_t id = 1; id <= sonde__report_phase_count(report) && !out->stopped; id++) {
        const struct sonde__report_named_phase *phase = sonde__report_phase(report, id);
        sonde__report_out_str(out, id == 1 ? "\nphases: " : ", ");
        sonde__report_put_named_phase(out, report, id);
        sonde__report_out_print(out, " from %s", sonde__report_duration(phase->begin_ns).text);
    }
    sonde__report_out_str(out, sonde__report_phase_count(report) != 0 ? " after the start\n" : "");
}

/* What the processes of a run called, those with the most calls first. */
static void put_processes(struct sonde__report_out *out, const struct sonde__report *report,
                          uint32_t top)
{
    uint32_t count = sonde__report_process_count(report), shown = 0, first = 1;
    struct finding *sums = sonde__mem_alloc_zeroed(((size_t)count + 1) * sizeof *sums);
    if (sonde__report_header(report)->kind != SONDE__REPORT_AUDIT || count < 2 || sums == NULL) {
        sonde__mem_free(sums);
        return;
    }
    while (first < count && sonde__report_pid(report, first) != sonde__report_pid(report, 0)) {
        first++;
    }
    for (uint32_t i = 0; i < sonde__report_call_count(report); i++) {
        const struct sonde__report_call *call = sonde__report_call(report, i);
        uint32_t id = call->process != 0 ? call->process : first;
        if (sonde__report_is_finding(report, call) && id <= count) {
            sums[id - 1].count += call->count;
        }
    }
    for (uint32_t i = 0; i < count; i++) {
        sums[i].call = i + 1;
    }
    qsort(sums, count, sizeof *sums, by_rule);
    sonde__report_out_print(out, "\n%u processes:\n", count);
    for (; shown < count && shown < top && sums[shown].count != 0 && !out->stopped; shown++) {
        const struct sonde__report_process *p = sonde__report_process(report, sums[shown].call);
        sonde__report_out_print(out, p->pid != 0 ? "  %d  " : "  ", p->pid);
        put_text(out, report, "", p->executable);
        sonde__report_out_print(out, "  %" PRIu64 " call%s", sums[shown].count,
                                sonde__base_plural(sums[shown].count));
        if (p->parent_pid != 0) {
            sonde__report_out_print(out, "  started by %d", p->parent_pid);
        }
        sonde__report_out_str(out, "\n");
    }
    if (shown < count) {
        sonde__report_out_print(out, "  and %u other%s\n", count - shown,
                                sonde__base_plural(count - shown));
    }
    sonde__mem_free(sums);
}

static void put_missed(struct sonde__report_out *out, const struct sonde__report *report)
{
    bool is_first = true;
    for (uint32_t i = 0; i < sonde__report_call_count(report) && !out->stopped; i++) {
        const struct sonde__report_call *call = sonde__report_call(report, i);
        if (call->missed != 0) {
            sonde__report_out_str(out, is_first ? "\nmay be missing:\n" : "");
            put_text(out, report, "  ", call->function);
            put_text(out, report, ": ", call->missed);
            sonde__report_out_str(out, "\n");
            is_first = false;
        }
    }
}

void sonde__report_put_findings(struct sonde__report_out *out, const struct sonde__report *report,
                                const struct sonde__report_view *view)
{
    if (sonde__report_rule_count(report) == 0) {
        return;
    }
    struct finding *findings =
        sonde__mem_alloc_array((size_t)sonde__report_call_count(report) + 1, sizeof *findings);
    struct sums sums = {.rules = NULL};
    if (findings == NULL || sonde__report_sum_rules(report, &sums.rules) != SONDE_OK ||
        sonde__report_sum_values(report, &sums.values) != SONDE_OK) {
        sonde__mem_free(sums.rules);
        sonde__mem_free(findings);
        sonde__report_out_str(out, "\nnote: out of memory: findings are not shown\n");
        return;
    }
    uint32_t found = collect(report, findings);
    uint32_t top = view->top != 0 ? view->top : SONDE__REPORT_TOP;
    for (uint32_t i = 0, end = 0; i < found && !out->stopped; i = end) {
        while (end < found && findings[end].rule == findings[i].rule) {
            end++;
        }
        put_rule_findings(out, report, findings + i, end - i, top, &sums);
    }
    put_unbroken(out, report, findings, found);
    put_phases(out, report);
    put_processes(out, report, top);
    put_missed(out, report);
    sonde__mem_free(sums.rules);
    sonde__report_values_done(&sums.values);
    sonde__mem_free(findings);
}
