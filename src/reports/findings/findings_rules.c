// SPDX-License-Identifier: Apache-2.0
/* The rules of a SARIF log. A report without rules has a list of functions: each is a rule. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base_text.h"
#include "findings_parts.h"
#include "mem_heap.h"

const char *const sonde__findings_levels[] = {"warning", "note", "warning", "error"};

static int by_id(const void *left, const void *right)
{
    const struct sonde__findings_rule *a = left, *b = right;
    return strcmp(a->id, b->id);
}

const char *sonde__findings_rule_id(const struct sonde__report *report,
                                    const struct sonde__report_call *call)
{
    uint32_t name = sonde__report_rule(report, call->rule)->name;
    return sonde__report_text(report, name != 0 ? name : call->function);
}

static void add_call(struct sonde__findings_rules *rules, const struct sonde__report *report,
                     const struct sonde__report_call *call)
{
    const struct sonde__findings_rule rule = {sonde__findings_rule_id(report, call), report,
                                              call->rule};
    bool is_last = rules->count > 0 && strcmp(rules->list[rules->count - 1].id, rule.id) == 0;
    if (!is_last && *rule.id != '\0') {
        rules->list[rules->count++] = rule;
    }
}

static void add_report(struct sonde__findings_rules *rules, const struct sonde__report *report)
{
    for (uint32_t i = 1; i <= sonde__report_rule_count(report); i++) {
        const struct sonde__report_call call = {.rule = i};
        add_call(rules, report, &call);
    }
    for (uint32_t i = 0; i < sonde__report_call_count(report); i++) {
        const struct sonde__report_call *call = sonde__report_call(report, i);
        if (call->rule != 0 || sonde__report_rule_count(report) == 0) {
            add_call(rules, report, call);
        }
    }
}

static void drop_copies(struct sonde__findings_rules *rules)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < rules->count; i++) {
        if (kept == 0 || strcmp(rules->list[kept - 1].id, rules->list[i].id) != 0) {
            rules->list[kept++] = rules->list[i];
        }
    }
    rules->count = kept;
}

enum sonde_status sonde__findings_rules_make(const struct sonde__findings *findings,
                                             struct sonde__findings_rules *ret_rules)
{
    const struct sonde__diff_side *side = &findings->diff->sides[SONDE__DIFF_NEW_SIDE];
    struct sonde__findings_rules rules = {0};
    size_t room = (size_t)findings->count + 1;
    for (uint32_t r = 0; r < side->count; r++) {
        room += (size_t)sonde__report_rule_count(side->reports[r]) +
                sonde__report_call_count(side->reports[r]);
    }
    rules.list = sonde__mem_alloc_array(room, sizeof *rules.list);
    if (rules.list == NULL) {
        return SONDE_MEMORY;
    }
    for (uint32_t r = 0; r < side->count; r++) {
        add_report(&rules, side->reports[r]);
    }
    for (uint32_t i = 0; i < findings->count; i++) {
        add_call(&rules, findings->list[i].call->report, findings->list[i].call->call);
    }
    if (rules.count != 0) {
        qsort(rules.list, rules.count, sizeof *rules.list, by_id);
    }
    drop_copies(&rules);
    if (side->count == 1 && sonde__report_sum_rules(side->reports[0], &rules.sums) == SONDE_OK) {
        rules.summed = side->reports[0];
        (void)!sonde__report_sum_values(rules.summed, &rules.values); /* without memory: none */
    }
    *ret_rules = rules;
    return SONDE_OK;
}

void sonde__findings_rules_done(struct sonde__findings_rules *rules)
{
    sonde__mem_free(rules->list);
    sonde__mem_free(rules->sums);
    sonde__report_values_done(&rules->values);
    *rules = (struct sonde__findings_rules){0};
}

uint32_t sonde__findings_rule_index(const struct sonde__findings_rules *rules, const char *id)
{
    const struct sonde__findings_rule wanted = {.id = id};
    const struct sonde__findings_rule *found =
        bsearch(&wanted, rules->list, rules->count, sizeof wanted, by_id);
    return found != NULL ? (uint32_t)(found - rules->list) : UINT32_MAX;
}

static void put_text(struct sonde__json *j, const char *key, const char *text)
{
    sonde__json_object(j, key);
    sonde__json_string(j, "text", text);
    sonde__json_close(j);
}

void sonde__findings_put_seen(struct sonde__json *j, uint64_t first_ns, uint64_t last_ns,
                              uint32_t threads, bool has_more_threads)
{
    if (last_ns != 0) {
        sonde__json_uint(j, "firstNs", first_ns);
        sonde__json_uint(j, "lastNs", last_ns);
    }
    if (threads != 0) {
        sonde__json_uint(j, "threads", threads);
    }
    if (has_more_threads) {
        sonde__json_bool(j, "moreThreads", true);
    }
}

void sonde__findings_put_arguments(struct sonde__json *j, const struct sonde__report *report,
                                   const struct sonde__report_argument *arguments, uint32_t count)
{
    if (count == 0) {
        return;
    }
    sonde__json_array(j, "arguments");
    for (uint32_t i = 0; i < count; i++) {
        sonde__json_object(j, NULL);
        sonde__json_uint(j, "position", arguments[i].position);
        if (arguments[i].name != 0) {
            sonde__json_string(j, "name", sonde__report_text(report, arguments[i].name));
        }
        if (arguments[i].value != 0) {
            sonde__json_string(j, "value", sonde__report_text(report, arguments[i].value));
        }
        sonde__json_uint(j, "calls", arguments[i].count);
        sonde__json_close(j);
    }
    sonde__json_close(j);
}

static void put_rule_values(struct sonde__json *j, const struct sonde__findings_rules *rules,
                            uint32_t rule)
{
    struct sonde__report_argument list[SONDE__REPORT_RULE_VALUES];
    uint32_t count = sonde__report_values_of(&rules->values, rule, list, SONDE__REPORT_RULE_VALUES);
    sonde__findings_put_arguments(j, rules->summed, list, count);
}

static void put_rule_sum(struct sonde__json *j, const struct sonde__report *report,
                         const struct sonde__report_rule_sum *sum)
{
    sonde__json_uint(j, "calls", sum->calls);
    sonde__json_uint(j, "appStacks", sum->app_stacks);
    sonde__findings_put_seen(j, sum->first_ns, sum->last_ns, sum->threads, sum->has_more_threads);
    sonde__json_array(j, "sdks");
    for (uint32_t i = 0; i < sum->sdk_count; i++) {
        sonde__json_string(j, NULL, sonde__report_text(report, sum->sdks[i]));
    }
    sonde__json_close(j);
}

static void put_rule_properties(struct sonde__json *j, const struct sonde__findings_rules *rules,
                                const struct sonde__findings_rule *r)
{
    const struct sonde__report_rule *rule = sonde__report_rule(r->report, r->rule);
    const char *category = sonde__report_text(r->report, rule->category);
    if (r->rule == 0) {
        return;
    }
    sonde__json_object(j, "properties");
    if (rule->pack != 0) {
        sonde__json_string(j, "pack", sonde__report_text(r->report, rule->pack));
    }
    if (*category != '\0') {
        sonde__json_array(j, "tags");
        sonde__json_string(j, NULL, category);
        sonde__json_close(j);
    }
    if (r->report == rules->summed) {
        put_rule_sum(j, r->report, &rules->sums[r->rule - 1]);
        put_rule_values(j, rules, r->rule);
    }
    sonde__json_close(j);
}

static void put_rule(struct sonde__json *j, const struct sonde__findings_rules *rules,
                     const struct sonde__findings_rule *r)
{
    const struct sonde__report_rule *rule = sonde__report_rule(r->report, r->rule);
    const struct sonde__report_call call = {.rule = r->rule};
    const char *text = sonde__report_text(r->report, rule->text);
    sonde__json_object(j, NULL);
    sonde__json_string(j, "id", r->id);
    if (r->rule == 0) {
        char line[512];
        snprintf(line, sizeof line, "Calls of %.400s", r->id);
        put_text(j, "shortDescription", line);
    } else if (*text != '\0') {
        put_text(j, "shortDescription", text);
    }
    sonde__json_object(j, "defaultConfiguration");
    sonde__json_string(j, "level",
                       sonde__findings_levels[sonde__findings_severity(r->report, &call)]);
    sonde__json_close(j);
    put_rule_properties(j, rules, r);
    sonde__json_close(j);
}

void sonde__findings_put_rules(struct sonde__json *j, const struct sonde__findings_rules *rules)
{
    sonde__json_array(j, "rules");
    for (uint32_t i = 0; i < rules->count && !j->out->stopped; i++) {
        put_rule(j, rules, &rules->list[i]);
    }
    sonde__json_close(j);
}
