// SPDX-License-Identifier: Apache-2.0
#include "audit_ruling.h"

#include <string.h>

#include "audit_expand.h"
#include "audit_from.h"
#include "audit_when.h"
#include "audit_words.h"
#include "base_status.h"
#include "mem_heap.h"

enum {
    NAMES = SONDE__RECORD_FUNCTIONS,
    FIRST_PAIR = NAMES,
    PAIRS = SONDE__RECORD_LABELS - FIRST_PAIR,
};

struct sonde__audit_ruling {
    const struct sonde__audit_rules *rules;
    const struct sonde__audit_list *list;
    uint16_t *names; /* by rule and function: 1 + the index of its name; 0: not of the rule */
    struct sonde__when when;
    /* labels from FIRST_PAIR on: a rule with a condition, and a function */
    struct pair {
        uint16_t rule, function;
        uint16_t keep; /* the first of its keeps in `when` */
        bool is_over;  /* calls that exceed the rule's limit */
    } pairs[PAIRS];
    uint32_t pair_count;
    uint16_t *limits; /* by rule: 1 + the index of its limit in `when`; 0: none */
};

enum sonde_status sonde__audit_rules_list(const struct sonde__audit_rules *rules,
                                          struct sonde__audit_list *list, char *text, size_t size,
                                          struct sonde_error *ret_error)
{
    for (size_t i = 0; i < rules->count; i++) {
        const struct sonde__audit_rule *rule = &rules->rules[i];
        for (size_t k = 0; k < rule->function_count; k++) {
            size_t length = strlen(rule->functions[k]) + 1;
            if (sonde__audit_list_has(list, rule->functions[k])) {
                continue;
            }
            if (length > size) {
                return sonde__base_fail(ret_error, SONDE_LIMIT, "the names are too long",
                                        rule->name, 0, 0);
            }
            memcpy(text, rule->functions[k], length);
            SONDE_TRY(sonde__audit_list_add(list, text, 0, ret_error));
            text += length;
            size -= length;
        }
    }
    return SONDE_OK;
}

/* Does a name of a rule mean this function? */
static bool means(const char *name, const char *function)
{
    return strcmp(name, function) == 0 ||
           (sonde__audit_list_is_pattern(name) && sonde__audit_pattern_means(name, function));
}

static bool names_it(const struct sonde__audit_rule *rule, const char *function)
{
    for (size_t i = 0; i < rule->function_count; i++) {
        if (means(rule->functions[i], function)) {
            return true;
        }
    }
    return false;
}

/* "syscall:NAME", added for a function NAME of the rule: the same by its number. */
static uint32_t function_of_number(const struct sonde__audit_list *list, const uint16_t *names,
                                   uint32_t number)
{
    const char *colon = strchr(list->names[number], ':');
    for (uint32_t i = 0; colon != NULL && i < list->count; i++) {
        if (names[i] == i + 1 && strcmp(list->names[i], colon + 1) == 0) {
            return i;
        }
    }
    return UINT32_MAX;
}

/* A rule's functions: those that it names, then those that are the same. */
static void rule_functions(const struct sonde__audit_rule *rule,
                           const struct sonde__audit_list *list, uint16_t *names)
{
    uint16_t of_same[NAMES] = {0}; /* by the first of equal functions */
    for (uint32_t i = 0; i < list->count; i++) {
        if (names_it(rule, list->names[i])) {
            names[i] = (uint16_t)(i + 1);
            of_same[list->same[i]] =
                of_same[list->same[i]] != 0 ? of_same[list->same[i]] : names[i];
        }
    }
    for (uint32_t i = 0; i < list->count; i++) {
        names[i] = names[i] != 0 ? names[i] : of_same[list->same[i]];
        if (names[i] == 0 && sonde__audit_list_number(list->names[i]) >= 0) {
            names[i] = (uint16_t)(function_of_number(list, names, i) + 1);
        }
    }
}

void sonde__audit_ruling_free(struct sonde__audit_ruling *ruling)
{
    if (ruling != NULL) {
        sonde__mem_free(ruling->names);
        sonde__mem_free(ruling->limits);
        sonde__mem_free(ruling);
    }
}

bool sonde__audit_ruling_has(const struct sonde__audit_ruling *ruling, size_t rule, uint32_t index)
{
    return rule < ruling->rules->count && index < NAMES && ruling->names[rule * NAMES + index] != 0;
}

/* The name by which a condition knows the arguments of a function. */
static const char *signature_of(const struct sonde__audit_list *list, uint32_t index)
{
    const char *name = list->names[index];
    return sonde__audit_has_words(name) ? name : list->names[list->same[index]];
}

struct compiling {
    struct sonde__audit_ruling *ruling;
    struct sonde__audit_when to;
    struct sonde_error *error;
};

/* Does the program's side do more than count the calls? */
static bool is_decided_early(const struct sonde__audit_rule *rule)
{
    return rule->when != NULL || rule->limit_count != 0 || rule->keep_count != 0;
}

static enum sonde_status add_entry(struct compiling *c, struct sonde__when_entry entry)
{
    struct sonde__when *when = c->to.when;
    if (when->entry_count == SONDE__WHEN_ENTRIES) {
        return sonde__base_fail(c->error, SONDE_LIMIT, "too many conditions", NULL, 0, 0);
    }
    when->entries[when->entry_count++] = entry;
    return SONDE_OK;
}

/* Which argument of a function the rule is about; 0: not said. */
static uint32_t argument_of(const struct sonde__audit_ruling *ruling, size_t index,
                            uint32_t function)
{
    const struct sonde__audit_rule *rule = &ruling->rules->rules[index];
    const char *name = ruling->list->names[ruling->names[index * NAMES + function] - 1];
    for (size_t i = 0; i < rule->function_count; i++) {
        if (means(rule->functions[i], name)) {
            return rule->arguments[i];
        }
    }
    return 0;
}

/* A system call that is listed only because the function of its name is: are its arguments known
 * to be the same? */
static bool has_known_arguments(const struct sonde__audit_ruling *ruling, size_t rule,
                                uint32_t function)
{
    const char *name = ruling->list->names[function];
    return sonde__audit_list_number(name) < 0 || sonde__audit_has_words(name) ||
           names_it(&ruling->rules->rules[rule], name);
}

/* What the entry says of a limit of calls in a phase. */
static enum sonde_status add_phase(struct compiling *c, const struct sonde__audit_rule *rule,
                                   struct sonde__when_entry *entry)
{
    uint64_t at = 0;
    if (entry->limit == 0 || rule->phase == NULL) {
        return SONDE_OK;
    }
    if (!sonde__audit_when_text(&c->to, rule->phase, &at)) {
        return sonde__base_fail(c->error, SONDE_LIMIT, "too many texts in conditions", rule->name,
                                0, 0);
    }
    entry->phase = (uint16_t)(at + 1);
    entry->before_phase = rule->is_before_phase;
    return SONDE_OK;
}

static enum sonde_status add_keeps(struct compiling *c, size_t rule, uint32_t function,
                                   struct sonde__when_entry *entry)
{
    const struct sonde__audit_rule *of = &c->ruling->rules->rules[rule];
    struct sonde__when *when = c->to.when;
    entry->keep = (uint16_t)when->keep_count;
    for (size_t i = 0; i < of->keep_count; i++) {
        if (when->keep_count == SONDE__WHEN_KEEPS) {
            return sonde__base_fail(c->error, SONDE_LIMIT, "more than 512 kept arguments", of->name,
                                    0, 0);
        }
        if (!sonde__audit_when_keep(signature_of(c->ruling->list, function),
                                    argument_of(c->ruling, rule, function), of->keeps[i],
                                    &when->keeps[when->keep_count])) {
            return sonde__base_fail(c->error, SONDE_CORRUPT,
                                    "expected an argument that is known of this function",
                                    c->ruling->list->names[function], 0, 0);
        }
        when->keep_count++;
        entry->keep_count++;
    }
    return SONDE_OK;
}

static enum sonde_status compile_when(struct compiling *c, size_t rule, uint32_t function,
                                      struct sonde__when_entry *entry)
{
    const struct sonde__audit_ruling *ruling = c->ruling;
    const char *when = ruling->rules->rules[rule].when, *name = ruling->list->names[function];
    bool asks = when != NULL || ruling->rules->rules[rule].keep_count != 0;
    size_t at;
    if (asks && !has_known_arguments(ruling, rule, function)) {
        return sonde__base_fail(
            c->error, SONDE_UNSUPPORTED,
            "the arguments of this system call may be others than those of the "
            "function: leave out --raw-syscalls, or name syscall:NAME in a rule",
            name, 0, 0);
    }
    const char *wrong =
        when == NULL
            ? NULL
            : sonde__audit_when_compile(&c->to, when, signature_of(ruling->list, function),
                                        argument_of(ruling, rule, function), &entry->node, &at);
    return wrong == NULL ? SONDE_OK : sonde__base_fail(c->error, SONDE_CORRUPT, wrong, name, 0, 0);
}

static enum sonde_status add_pair(struct compiling *c, size_t rule, uint32_t function)
{
    struct sonde__audit_ruling *ruling = c->ruling;
    struct sonde__when_entry entry = {.label = (uint16_t)(FIRST_PAIR + ruling->pair_count),
                                      .node = SONDE__WHEN_ACCEPT,
                                      .limit = ruling->limits[rule]};
    if (ruling->pair_count + (entry.limit != 0) >= PAIRS) {
        return sonde__base_fail(c->error, SONDE_LIMIT, "more than 512 conditions", NULL, 0, 0);
    }
    SONDE_TRY(compile_when(c, rule, function, &entry));
    SONDE_TRY(add_phase(c, &ruling->rules->rules[rule], &entry));
    SONDE_TRY(add_keeps(c, rule, function, &entry));
    for (unsigned is_over = 0; is_over <= (entry.limit != 0); is_over++) {
        ruling->pairs[ruling->pair_count++] =
            (struct pair){(uint16_t)rule, (uint16_t)function, entry.keep, is_over != 0};
    }
    return add_entry(c, entry);
}

/* Limits count the calls of all functions of their rules. */
static enum sonde_status add_limits(struct compiling *c)
{
    struct sonde__when *when = c->to.when;
    uint64_t used = 0;
    for (size_t i = 0; i < c->ruling->rules->count; i++) {
        const struct sonde__audit_rule *rule = &c->ruling->rules->rules[i];
        if (rule->limit_count == 0) {
            continue;
        }
        if (when->limit_count == SONDE__WHEN_LIMITS ||
            used + rule->limit_count > SONDE__WHEN_TIMES) {
            return sonde__base_fail(c->error, SONDE_LIMIT,
                                    "more than 64 limits, or of more than 16384 calls", rule->name,
                                    0, 0);
        }
        when->limits[when->limit_count++] =
            (struct sonde__when_limit){(uint32_t)used, (uint32_t)rule->limit_count, rule->limit_ns};
        c->ruling->limits[i] = (uint16_t)when->limit_count;
        used += rule->limit_count;
    }
    return SONDE_OK;
}

static enum sonde_status add_conditions(struct compiling *c, uint32_t function)
{
    const struct sonde__audit_rules *rules = c->ruling->rules;
    bool is_plain = false, has_condition = false;
    for (size_t i = 0; i < rules->count; i++) {
        bool is_of = sonde__audit_ruling_has(c->ruling, i, function);
        is_plain |= is_of && !is_decided_early(&rules->rules[i]);
        has_condition |= is_of && is_decided_early(&rules->rules[i]);
    }
    if (is_plain && has_condition) {
        const struct sonde__when_entry plain = {.label = (uint16_t)function,
                                                .node = SONDE__WHEN_ACCEPT};
        SONDE_TRY(add_entry(c, plain));
    }
    for (size_t i = 0; has_condition && i < rules->count; i++) {
        if (sonde__audit_ruling_has(c->ruling, i, function) && is_decided_early(&rules->rules[i])) {
            SONDE_TRY(add_pair(c, i, function));
        }
    }
    return SONDE_OK;
}

static enum sonde_status make_conditions(struct sonde__audit_ruling *ruling,
                                         struct sonde_error *ret_error)
{
    struct compiling c = {ruling, {&ruling->when, 0}, ret_error};
    SONDE_TRY(add_limits(&c));
    for (uint32_t i = 0; i < NAMES; i++) {
        ruling->when.first[i] = (uint16_t)ruling->when.entry_count;
        SONDE_TRY(i < ruling->list->count ? add_conditions(&c, i) : SONDE_OK);
    }
    ruling->when.first[NAMES] = (uint16_t)ruling->when.entry_count;
    return SONDE_OK;
}

enum sonde_status sonde__audit_ruling_make(const struct sonde__audit_rules *rules,
                                           const struct sonde__audit_list *list,
                                           struct sonde__audit_ruling **ret_ruling,
                                           struct sonde_error *ret_error)
{
    struct sonde__audit_ruling *ruling = sonde__mem_alloc_zeroed(sizeof *ruling);
    if (ruling == NULL) {
        return sonde__base_fail(ret_error, SONDE_MEMORY, "no memory", NULL, 0, 0);
    }
    ruling->rules = rules;
    ruling->list = list;
    ruling->names = sonde__mem_alloc_zeroed(rules->count * NAMES * sizeof *ruling->names);
    ruling->limits = sonde__mem_alloc_zeroed((rules->count + 1) * sizeof *ruling->limits);
    if (ruling->names == NULL || ruling->limits == NULL) {
        sonde__audit_ruling_free(ruling);
        return sonde__base_fail(ret_error, SONDE_MEMORY, "no memory", NULL, 0, 0);
    }
    for (size_t i = 0; i < rules->count; i++) {
        rule_functions(&rules->rules[i], list, ruling->names + i * NAMES);
    }
    enum sonde_status status = make_conditions(ruling, ret_error);
    if (status != SONDE_OK) {
        sonde__audit_ruling_free(ruling);
        return status;
    }
    *ret_ruling = ruling;
    return SONDE_OK;
}

static uint32_t keep(struct sonde__report *report, const char *text)
{
    return text[0] != '\0' ? sonde__report_string(report, text) : 0;
}

/* Since the start; a damaged page may say anything. */
static uint64_t since(const _Atomic uint64_t *time_ns, uint64_t start_ns)
{
    uint64_t at = atomic_load(time_ns);
    return at > start_ns ? at - start_ns : at != 0;
}

void sonde__audit_ruling_report(const struct sonde__audit_ruling *ruling,
                                const struct sonde__record_page *page, uint64_t start_ns,
                                struct sonde__report *report)
{
    static const struct sonde__record_exceeded never;
    for (size_t i = 0; i < ruling->rules->count; i++) {
        const struct sonde__audit_rule *rule = &ruling->rules->rules[i];
        const struct sonde__record_exceeded *exceeded =
            ruling->limits[i] != 0 ? &page->exceeded[ruling->limits[i] - 1] : &never;
        const struct sonde__report_rule record = {
            .name = sonde__report_string(report, rule->name),
            .pack = keep(report, rule->pack),
            .category = keep(report, rule->category),
            .severity = rule->severity,
            .text = keep(report, rule->text),
            .limit_count = rule->limit_count,
            .limit_ns = rule->limit_ns,
            .over_first_ns = since(&exceeded->first_ns, start_ns),
            .over_last_ns = since(&exceeded->last_ns, start_ns),
        };
        (void)sonde__report_add_rule(report, &record);
    }
}

const struct sonde__when *sonde__audit_ruling_when(const struct sonde__audit_ruling *ruling)
{
    return &ruling->when;
}

bool sonde__audit_ruling_is_over(const struct sonde__audit_ruling *ruling, uint32_t label)
{
    return label >= FIRST_PAIR && label - FIRST_PAIR < ruling->pair_count &&
           ruling->pairs[label - FIRST_PAIR].is_over;
}

uint32_t sonde__audit_ruling_keeps(const struct sonde__audit_ruling *ruling, uint32_t label,
                                   const char *const **ret_words,
                                   const struct sonde__when_node **ret_keeps)
{
    if (label < FIRST_PAIR || label - FIRST_PAIR >= ruling->pair_count) {
        return 0;
    }
    const struct pair *pair = &ruling->pairs[label - FIRST_PAIR];
    const struct sonde__audit_rule *rule = &ruling->rules->rules[pair->rule];
    *ret_words = rule->keeps;
    *ret_keeps = &ruling->when.keeps[pair->keep];
    return (uint32_t)rule->keep_count;
}

bool sonde__audit_ruling_has_label(const struct sonde__audit_ruling *ruling, uint32_t label)
{
    return label < ruling->list->count ||
           (label >= FIRST_PAIR && label - FIRST_PAIR < ruling->pair_count);
}

/* Add calls of a function as a finding of a rule. */
static void add_finding(const struct sonde__audit_ruling *ruling, size_t rule, uint32_t function,
                        const struct sonde__report_call *call, struct sonde__report *report)
{
    const struct sonde__audit_rules *rules = ruling->rules;
    uint32_t name = ruling->names[rule * NAMES + function];
    if (name == 0 || !sonde__audit_is_from(report, call->stack, &rules->rules[rule].from)) {
        return;
    }
    const char *sdk = sonde__audit_sdk_of(report, call->stack, rules->sdks, rules->sdk_count);
    struct sonde__report_call finding = *call;
    finding.rule = (uint32_t)rule + 1;
    finding.function = sonde__report_string(report, ruling->list->names[name - 1]);
    finding.sdk = sdk != NULL ? sonde__report_string(report, sdk) : 0;
    sonde__report_add_call(report, &finding);
}

void sonde__audit_ruling_add(const struct sonde__audit_ruling *ruling,
                             const struct sonde__audit_made *made,
                             const struct sonde__report_call *call, struct sonde__report *report)
{
    const struct sonde__audit_rule *rules = ruling->rules->rules;
    bool is_pair = made->label >= FIRST_PAIR;
    const struct pair *pair = is_pair ? &ruling->pairs[made->label - FIRST_PAIR] : NULL;
    uint32_t function = is_pair ? pair->function : made->label;
    for (size_t i = 0; i < ruling->rules->count; i++) {
        bool is_of = is_pair ? i == pair->rule : !is_decided_early(&rules[i]);
        if (is_of && sonde__audit_is_in_phase(made->phases, made->phase, &rules[i])) {
            add_finding(ruling, i, function, call, report);
        }
    }
}
