// SPDX-License-Identifier: Apache-2.0
#include "rules_plan.h"

#include <string.h>

#include "audit_when.h"
#include "audit_words.h"

static void *take_array(struct sonde__rules_plan *plan, size_t count, size_t size)
{
    void *memory = sonde__arena_alloc(&plan->memory, (count + 1) * size);
    if (memory != NULL) {
        memset(memory, 0, (count + 1) * size);
    }
    return memory;
}

/* A function that stands twice in a rule is about one argument. */
static void check_arguments(struct sonde__rules *rules, const struct sonde__rule *rule)
{
    for (size_t i = 0; i < rule->api_count; i++) {
        for (size_t k = 0; k < i; k++) {
            if (rule->apis[i].argument != rule->apis[k].argument &&
                strcmp(rule->apis[i].name, rule->apis[k].name) == 0) {
                sonde__rules_error(rules, &rule->apis[i].place,
                                   "expected one argument of a function in a rule: %.100s",
                                   rule->apis[i].name);
            }
        }
    }
}

static void check_limit(struct sonde__rules *rules, const struct sonde__rule *rule)
{
    if (rule->limit_count == 0) {
        return;
    }
    if (rule->limit_count > SONDE__WHEN_LIMIT_CALLS) {
        sonde__rules_error(rules, &rule->limit_place, "expected at most %d calls",
                           SONDE__WHEN_LIMIT_CALLS);
    }
    if (rule->from.count != 0) {
        sonde__rules_error(rules, &rule->limit_place,
                           "limit cannot be combined with from: a limit is counted while the "
                           "program runs, but callers have names only after it has ended; use "
                           "when, or a rule of its own without from");
    }
}

/* Words of keep must be known of each function. */
static void check_keeps(struct sonde__rules *rules, const struct sonde__rule *rule)
{
    struct sonde__audit_argument argument;
    for (uint32_t k = 0; k < rule->keep_count; k++) {
        const struct sonde__rule_text *keep = &rule->keeps[k];
        for (size_t i = 0; i < rule->api_count; i++) {
            if (!sonde__audit_word(rule->apis[i].name, rule->apis[i].argument, keep->text,
                                   strlen(keep->text), &argument)) {
                sonde__rules_error(rules, &keep->place,
                                   "expected an argument that is known of %.100s (or arg1 to arg6, "
                                   "arg1.long, arg1.text, arg1.path; arg after NAME:N): %.60s",
                                   rule->apis[i].name, keep->text);
                break;
            }
        }
    }
}

/* A condition must be one of each function: of its name, where a pattern or number has none. */
static void check_when(struct sonde__rules *rules, const struct sonde__rule *rule,
                       struct sonde__when *scratch)
{
    for (size_t i = 0; rule->when.text != NULL && i < rule->api_count; i++) {
        struct sonde__audit_when to = {scratch, 0};
        const char *name = rule->apis[i].name;
        uint16_t node;
        size_t at;
        scratch->node_count = 0;
        const char *wrong = sonde__audit_when_compile(&to, rule->when.text, name,
                                                      rule->apis[i].argument, &node, &at);
        if (wrong != NULL) {
            sonde__rules_error(rules, &rule->when.places[at], "%s: of %.100s", wrong, name);
            return;
        }
    }
}

static bool plan_patterns(struct sonde__rules_plan *plan, const struct sonde__rule_patterns *from,
                          struct sonde__audit_patterns *ret_patterns)
{
    struct sonde__audit_pattern *items = take_array(plan, from->count, sizeof *items);
    for (size_t i = 0; items != NULL && i < from->count; i++) {
        const struct sonde__rule_pattern *pattern = &from->items[i];
        items[i] =
            (struct sonde__audit_pattern){pattern->is_symbol, pattern->is_not, pattern->glob};
    }
    *ret_patterns = (struct sonde__audit_patterns){items, from->count};
    return items != NULL;
}

static bool plan_rule(struct sonde__rules_plan *plan, const struct sonde__rule *rule,
                      struct sonde__audit_rule *ret_rule)
{
    const char **names = take_array(plan, rule->api_count, sizeof *names);
    uint32_t *arguments = take_array(plan, rule->api_count, sizeof *arguments);
    const char **keeps = take_array(plan, rule->keep_count, sizeof *keeps);
    bool is_whole = names != NULL && arguments != NULL && keeps != NULL;
    for (size_t i = 0; is_whole && i < rule->keep_count; i++) {
        keeps[i] = rule->keeps[i].text;
    }
    for (size_t i = 0; is_whole && i < rule->api_count; i++) {
        names[i] = rule->apis[i].name;
        arguments[i] = rule->apis[i].argument;
    }
    *ret_rule = (struct sonde__audit_rule){.name = rule->name,
                                           .pack = rule->pack,
                                           .category = rule->category,
                                           .text = rule->message,
                                           .severity = rule->severity,
                                           .functions = names,
                                           .arguments = arguments,
                                           .function_count = rule->api_count,
                                           .when = rule->when.text,
                                           .limit_count = rule->limit_count,
                                           .limit_ns = rule->limit_ns,
                                           .keeps = keeps,
                                           .keep_count = rule->keep_count,
                                           .phase = rule->phase.text,
                                           .is_before_phase = rule->is_before_phase};
    return is_whole && plan_patterns(plan, &rule->from, &ret_rule->from);
}

enum sonde_status sonde__rules_plan(struct sonde__rules *rules, struct sonde__rules_plan *ret_plan)
{
    *ret_plan = (struct sonde__rules_plan){0};
    struct sonde__audit_rule *planned = take_array(ret_plan, rules->rule_count, sizeof *planned);
    struct sonde__audit_sdk *sdks = take_array(ret_plan, rules->sdk_count, sizeof *sdks);
    struct sonde__when *scratch = take_array(ret_plan, 1, sizeof *scratch);
    bool is_whole = planned != NULL && sdks != NULL && scratch != NULL;
    for (size_t i = 0; is_whole && i < rules->rule_count; i++) {
        check_arguments(rules, &rules->rules[i]);
        check_limit(rules, &rules->rules[i]);
        check_keeps(rules, &rules->rules[i]);
        check_when(rules, &rules->rules[i], scratch);
        is_whole = plan_rule(ret_plan, &rules->rules[i], &planned[i]);
    }
    for (size_t i = 0; is_whole && i < rules->sdk_count; i++) {
        sdks[i].name = rules->sdks[i].name;
        is_whole = plan_patterns(ret_plan, &rules->sdks[i].match, &sdks[i].match);
    }
    ret_plan->audit =
        (struct sonde__audit_rules){planned, rules->rule_count, sdks, rules->sdk_count};
    return !is_whole                ? SONDE_MEMORY
           : rules->errors != 0     ? SONDE_UNSUPPORTED
           : rules->rule_count == 0 ? SONDE_ABSENT
                                    : SONDE_OK;
}

void sonde__rules_plan_done(struct sonde__rules_plan *plan)
{
    sonde__arena_done(&plan->memory);
}
