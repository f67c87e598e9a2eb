// SPDX-License-Identifier: Apache-2.0
/* Sections and keys of a file of rules. A key is a line of a table: which section has it, whether
 * it may be repeated, and the function that takes its value. */
#include "rules.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "audit_name.h"
#include "cli.h"
#include "mem_heap.h"
#include "report_model.h"
#include "rules_ini.h"
#include "rules_values.h"

enum section { NONE, PACK, RULE, SDK, SECTIONS };
static const char *const section_names[] = {"", "pack", "rule", "sdk"};

struct reader {
    struct sonde__rules *rules;
    const char *file;
    const struct sonde__rules_use *use;
    struct sonde__ini ini;
    struct sonde__ini_item item;
    enum section section;
    bool is_refused; /* the section was wrong, and so its keys are ignored */
    uint32_t given;  /* keys of this section so far, by their number in `keys` */
    bool is_out_of_memory;
};

void sonde__rules_error(struct sonde__rules *rules, const struct sonde__rule_place *place,
                        const char *format, ...)
{
    char what[384], line[1024];
    va_list list;
    va_start(list, format);
    vsnprintf(what, sizeof what, format, list);
    va_end(list);
    rules->errors++;
    if (rules->errors > SONDE__RULES_ERRORS_MAX || rules->print == NULL) {
        return;
    }
    snprintf(line, sizeof line, "%.500s:%u:%u: %s", place->file, (unsigned)place->line,
             (unsigned)place->column, what);
    rules->print(rules->ctx, line);
    if (rules->errors == SONDE__RULES_ERRORS_MAX) {
        rules->print(rules->ctx, "more errors are not shown");
    }
}

static struct sonde__rule_place place_of(struct reader *r, uint32_t offset)
{
    struct sonde__ini_place at = sonde__ini_place(&r->ini, offset);
    return (struct sonde__rule_place){r->file, at.line + 1, at.column + 1};
}

/* A part of the value, from its byte `at` on. */
static struct sonde__rule_place place_in_value(struct reader *r, size_t at)
{
    return place_of(r, r->item.at[at < r->item.size ? at : r->item.size]);
}

static void refuse(struct reader *r, size_t at, const char *expected)
{
    struct sonde__rule_place place = place_in_value(r, at);
    if (r->item.size == 0) {
        sonde__rules_error(r->rules, &place, "%s", expected);
    } else {
        sonde__rules_error(r->rules, &place, "%s: %.100s", expected, r->item.value);
    }
}

static const char *keep_text(struct reader *r, const char *text, size_t size)
{
    const char *kept = sonde__arena_copy_text(&r->rules->texts, text, size);
    r->is_out_of_memory |= kept == NULL;
    return kept != NULL ? kept : "";
}

static const char *keep_value(struct reader *r)
{
    return keep_text(r, r->item.value, r->item.size);
}

static struct sonde__rule *rule_of(const struct reader *r)
{
    return &r->rules->rules[r->rules->rule_count - 1];
}

/* --- the keys --- */

/* Calls `each` for each element of a list: its text, which it may change, and where that begins. */
static void take_list(struct reader *r, const char *expected,
                      void (*each)(struct reader *r, char *text, size_t begin))
{
    char text[SONDE__INI_VALUE_MAX + 1];
    size_t at = 0, begin, size, count = 0;
    while (sonde__rules_next(r->item.value, &at, &begin, &size)) {
        memcpy(text, r->item.value + begin, size);
        text[size] = '\0';
        if (size == 0) {
            refuse(r, begin, expected);
        } else {
            each(r, text, begin);
        }
        count++;
    }
    if (count == 0) {
        refuse(r, 0, expected);
    }
}

static void take_one_use(struct reader *r, char *text, size_t begin)
{
    struct sonde__rule_place place = place_in_value(r, begin);
    r->is_out_of_memory |= !r->use->file(r->use->ctx, text, &place);
}

static void take_use(struct reader *r)
{
    take_list(r, "expected the name of a pack, or a path", take_one_use);
}

static void take_one_api(struct reader *r, char *text, size_t begin)
{
    struct sonde__rule *rule = rule_of(r);
    struct sonde__rule_api api = {.place = place_in_value(r, begin)};
    size_t at = 0;
    const char *wrong = sonde__rules_unbalanced(text, &at);
    if (wrong == NULL) {
        wrong = sonde__rules_argument(text, &at, &api.argument);
    }
    if (wrong == NULL) {
        wrong = sonde__audit_list_wrong(text, &at);
    }
    if (wrong != NULL) {
        refuse(r, begin + at, wrong);
        return;
    }
    api.name = keep_text(r, text, strlen(text));
    r->is_out_of_memory |= !SONDE__MEM_ADD(rule->apis, rule->api_count, rule->api_capacity, api);
}

static void take_api(struct reader *r)
{
    rule_of(r)->has_api = true;
    take_list(r, "expected the name of a function", take_one_api);
}

static void add_pattern(struct reader *r, struct sonde__rule_patterns *patterns, char *text,
                        size_t begin)
{
    struct sonde__rule_pattern pattern = {.place = place_in_value(r, begin)};
    size_t at = 0;
    const char *wrong =
        sonde__rules_pattern(text, &at, &pattern.is_symbol, &pattern.is_not, &pattern.glob);
    if (wrong != NULL) {
        refuse(r, begin + at, wrong);
        return;
    }
    pattern.glob = keep_text(r, pattern.glob, strlen(pattern.glob));
    r->is_out_of_memory |=
        !SONDE__MEM_ADD(patterns->items, patterns->count, patterns->capacity, pattern);
}

static void take_one_from(struct reader *r, char *text, size_t begin)
{
    add_pattern(r, &rule_of(r)->from, text, begin);
}

static void take_from(struct reader *r)
{
    take_list(r, "expected module:PATTERN or symbol:PATTERN", take_one_from);
}

static void take_one_match(struct reader *r, char *text, size_t begin)
{
    add_pattern(r, &r->rules->sdks[r->rules->sdk_count - 1].match, text, begin);
}

static void take_match(struct reader *r)
{
    take_list(r, "expected module:PATTERN or symbol:PATTERN", take_one_match);
}

/* Where each byte of the value is, and its end. */
static const struct sonde__rule_place *keep_places(struct reader *r)
{
    size_t count = (size_t)r->item.size + 1;
    struct sonde__rule_place *places = sonde__arena_alloc(&r->rules->texts, count * sizeof *places);
    r->is_out_of_memory |= places == NULL;
    for (size_t i = 0; places != NULL && i < count; i++) {
        places[i] = place_in_value(r, i);
    }
    return places;
}

static void take_when(struct reader *r)
{
    rule_of(r)->when =
        (struct sonde__rule_text){keep_value(r), place_in_value(r, 0), keep_places(r)};
    if (r->item.size == 0) {
        refuse(r, 0, "expected a condition");
    }
}

static void take_phase(struct reader *r)
{
    const char *name = r->item.value;
    size_t word = strcspn(name, " \t");
    rule_of(r)->is_before_phase = word == 6 && memcmp(name, "before", word) == 0;
    name += rule_of(r)->is_before_phase ? word : 0;
    name += strspn(name, " \t");
    rule_of(r)->phase =
        (struct sonde__rule_text){keep_text(r, name, strlen(name)), place_in_value(r, 0)};
    if (*name == '\0') {
        refuse(r, r->item.size, "expected the name of a phase");
    }
}

static void take_severity(struct reader *r)
{
    const char *wrong = sonde__rules_severity(r->item.value, &rule_of(r)->severity);
    if (wrong != NULL) {
        refuse(r, 0, wrong);
    }
}

static void take_class(struct reader *r)
{
    rule_of(r)->category = keep_value(r);
}

static void take_message(struct reader *r)
{
    rule_of(r)->message = keep_value(r);
}

static void take_one_keep(struct reader *r, char *text, size_t begin)
{
    struct sonde__rule *rule = rule_of(r);
    if (rule->keep_count == SONDE__RULE_KEEP_MAX) {
        refuse(r, begin, "expected at most 4 arguments");
        return;
    }
    rule->keeps[rule->keep_count++] =
        (struct sonde__rule_text){keep_text(r, text, strlen(text)), place_in_value(r, begin), NULL};
}

static void take_keep(struct reader *r)
{
    take_list(r, "expected the names of arguments (path, flags, arg1)", take_one_keep);
}

static void take_limit(struct reader *r)
{
    struct sonde__rule *rule = rule_of(r);
    const char *wrong = sonde__rules_limit(r->item.value, &rule->limit_count, &rule->limit_ns);
    rule->limit_place = place_in_value(r, 0);
    if (wrong != NULL) {
        refuse(r, 0, wrong);
    }
}

static const struct key {
    const char *word;
    void (*take)(struct reader *r);
    enum section section;
    bool is_list; /* it may be repeated: the lists are joined */
} keys[] = {
    {"use", take_use, PACK, true},      {"api", take_api, RULE, true},
    {"when", take_when, RULE, false},   {"severity", take_severity, RULE, false},
    {"class", take_class, RULE, false}, {"message", take_message, RULE, false},
    {"keep", take_keep, RULE, true},    {"limit", take_limit, RULE, false},
    {"phase", take_phase, RULE, false}, {"from", take_from, RULE, true},
    {"match", take_match, SDK, true},
};
enum { KEYS = sizeof keys / sizeof *keys };

/* --- sections --- */

static void list_keys(enum section section, char *out, size_t size)
{
    size_t used = 0;
    for (size_t i = 0; i < KEYS; i++) {
        if (keys[i].section == section && used < size) {
            used += (size_t)snprintf(out + used, size - used, "%s%s", used != 0 ? ", " : "",
                                     keys[i].word);
        }
    }
}

static void take_key(struct reader *r)
{
    struct sonde__rule_place place = place_of(r, r->item.offset);
    char known[200];
    if (r->section == NONE) {
        if (!r->is_refused) {
            sonde__rules_error(r->rules, &place, "expected a section before the first key: %s",
                               r->item.word);
        }
        return;
    }
    for (size_t i = 0; i < KEYS; i++) {
        if (keys[i].section != r->section || strcmp(keys[i].word, r->item.word) != 0) {
            continue;
        }
        if ((r->given & 1u << i) != 0 && !keys[i].is_list) {
            sonde__rules_error(r->rules, &place, "expected %s only once in a section",
                               r->item.word);
        } else {
            r->given |= 1u << i;
            keys[i].take(r);
        }
        return;
    }
    list_keys(r->section, known, sizeof known);
    sonde__rules_error(r->rules, &place, "expected a key of [%s] (%s): %s",
                       section_names[r->section], known, r->item.word);
}

static bool has_name(const struct sonde__rules *rules, enum section section, const char *name,
                     struct sonde__rule_place *ret_place)
{
    for (size_t i = 0; section == RULE && i < rules->rule_count; i++) {
        if (strcmp(rules->rules[i].name, name) == 0) {
            *ret_place = rules->rules[i].place;
            return true;
        }
    }
    for (size_t i = 0; section == SDK && i < rules->sdk_count; i++) {
        if (strcmp(rules->sdks[i].name, name) == 0) {
            *ret_place = rules->sdks[i].place;
            return true;
        }
    }
    return false;
}

/* The file's name without its folder and ".ini". */
static const char *pack_of(struct reader *r)
{
    const char *name = strrchr(r->file, '/');
    name = name != NULL ? name + 1 : r->file;
    size_t size = strlen(name);
    size -= size > 4 && strcmp(name + size - 4, ".ini") == 0 ? 4 : 0;
    return keep_text(r, name, size);
}

static void add_section(struct reader *r, enum section section,
                        const struct sonde__rule_place *place)
{
    struct sonde__rules *rules = r->rules;
    const char *name = keep_value(r);
    if (section == RULE) {
        struct sonde__rule rule = {.name = name,
                                   .pack = pack_of(r),
                                   .category = "",
                                   .message = "",
                                   .severity = SONDE__REPORT_SEVERITY_WARNING,
                                   .place = *place};
        r->is_out_of_memory |=
            !SONDE__MEM_ADD(rules->rules, rules->rule_count, rules->rule_capacity, rule);
    } else if (section == SDK) {
        struct sonde__rule_sdk sdk = {.name = name, .place = *place};
        r->is_out_of_memory |=
            !SONDE__MEM_ADD(rules->sdks, rules->sdk_count, rules->sdk_capacity, sdk);
    }
}

static void take_section(struct reader *r)
{
    struct sonde__rule_place place = place_of(r, r->item.offset), first;
    enum section section = PACK;
    r->section = NONE;
    r->is_refused = true;
    r->given = 0;
    while (section < SECTIONS && strcmp(section_names[section], r->item.word) != 0) {
        section++;
    }
    if (section == SECTIONS) {
        sonde__rules_error(r->rules, &place, "expected [pack], [rule \"name\"] or [sdk \"name\"]");
    } else if (section == PACK && r->item.size != 0) {
        sonde__rules_error(r->rules, &place, "expected [pack] without a name");
    } else if (section != PACK && r->item.size == 0) {
        sonde__rules_error(r->rules, &place, "expected a name: [%s \"name\"]", r->item.word);
    } else if (has_name(r->rules, section, r->item.value, &first)) {
        sonde__rules_error(r->rules, &place, "expected another name: %.100s is also in %.100s:%u",
                           r->item.value, first.file, (unsigned)first.line);
    } else if (section == RULE && r->rules->rule_count == SONDE__RULES_MAX) {
        sonde__rules_error(r->rules, &place, "expected at most %d rules", SONDE__RULES_MAX);
    } else {
        r->section = section;
        r->is_refused = false;
        add_section(r, section, &place);
    }
}

static void take_item(struct reader *r)
{
    if (r->item.kind == SONDE__INI_SECTION) {
        take_section(r);
    } else if (r->item.kind == SONDE__INI_KEY) {
        take_key(r);
    } else {
        struct sonde__rule_place place = place_of(r, r->item.offset);
        r->section = r->item.is_section ? NONE : r->section; /* its keys are of no other one */
        r->is_refused |= r->item.is_section;
        sonde__rules_error(r->rules, &place, "%s", r->item.expected);
    }
}

bool sonde__rules_read(struct sonde__rules *rules, const char *file, const char *text, size_t size,
                       const struct sonde__rules_use *use)
{
    struct reader *r = sonde__mem_alloc_zeroed(sizeof *r); /* a value is large */
    if (r == NULL) {
        return false;
    }
    r->rules = rules;
    r->file = file;
    r->use = use;
    r->ini = (struct sonde__ini){.text = text, .size = (uint32_t)size};
    while (!r->is_out_of_memory && sonde__ini_next(&r->ini, &r->item)) {
        take_item(r);
    }
    bool is_whole = !r->is_out_of_memory;
    sonde__mem_free(r);
    return is_whole;
}

void sonde__rules_check(struct sonde__rules *rules)
{
    for (size_t i = 0; i < rules->rule_count; i++) {
        const struct sonde__rule *rule = &rules->rules[i];
        if (!rule->has_api) {
            sonde__rules_error(rules, &rule->place, "expected a key api in the rule %.100s",
                               rule->name);
        }
    }
    for (size_t i = 0; i < rules->sdk_count; i++) {
        const struct sonde__rule_sdk *sdk = &rules->sdks[i];
        if (sdk->match.count == 0) {
            sonde__rules_error(rules, &sdk->place, "expected a key match in the sdk %.100s",
                               sdk->name);
        }
    }
}

void sonde__rules_done(struct sonde__rules *rules)
{
    for (size_t i = 0; i < rules->rule_count; i++) {
        sonde__mem_free(rules->rules[i].apis);
        sonde__mem_free(rules->rules[i].from.items);
    }
    for (size_t i = 0; i < rules->sdk_count; i++) {
        sonde__mem_free(rules->sdks[i].match.items);
    }
    sonde__mem_free(rules->rules);
    sonde__mem_free(rules->sdks);
    sonde__arena_done(&rules->texts);
}
