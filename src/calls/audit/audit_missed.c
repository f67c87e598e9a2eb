// SPDX-License-Identifier: Apache-2.0
#include "audit_missed.h"

#include <stdio.h>
#include <string.h>

#include "hook.h"
#include "hook_method.h"

static const char *name_of(const char *module)
{
    return *module != '\0' ? module : "the program itself";
}

/* What the reason means for the count of a function; null: nothing. */
static const char *text_of(uint32_t reason)
{
    static const char *const texts[] = {
        [SONDE__HOOK_ABSENT] = "all, if the program has one: no library that was loaded defines it",
        [SONDE__HOOK_NO_FUNCTION] = "all, if there are any: it is a variable, not a function",
        [SONDE__HOOK_INSIDE] = "direct calls inside %s",
        [SONDE__HOOK_LATE] =
            "calls of that in %s from its loading to the next dlopen(), dlsym() or dlclose()",
        [SONDE__HOOK_REFUSED] =
            "calls by %s, or of what it defines: it could not be led (sealed memory)",
        [SONDE__HOOK_FULL] = "calls of that in %s: no thunk was left",
    };
    return reason < sizeof texts / sizeof *texts ? texts[reason] : NULL;
}

struct missing {
    const struct sonde__record_page *page;
    struct sonde__audit_defined defined;
    struct sonde__report *report;
    uint32_t first;           /* call in the report that is about what may be missing */
    uint32_t index, function; /* in the list; string id */
};

/* Once of a function: its other names are missed alike. */
static void add(const struct missing *missing, const char *text)
{
    const struct sonde__report_call call = {
        .function = missing->function,
        .missed = sonde__report_string(missing->report, text),
    };
    for (uint32_t i = missing->first; i < sonde__report_call_count(missing->report); i++) {
        const struct sonde__report_call *other = sonde__report_call(missing->report, i);
        if (other->function == call.function && other->missed == call.missed) {
            return;
        }
    }
    sonde__report_add_call(missing->report, &call);
}

static void add_blind_spots(const struct missing *missing)
{
    const struct sonde__record_page *page = missing->page;
    for (uint32_t i = 0; i < atomic_load(&page->blind_count); i++) {
        const struct sonde__record_blind *blind = &page->blind_spots[i];
        const char *text = text_of(blind->reason);
        char line[512];
        if (blind->function != missing->index || text == NULL ||
            (blind->reason == SONDE__HOOK_ABSENT &&
             sonde__audit_is_defined(&missing->defined, missing->index))) {
            continue;
        }
        const char *rest = strstr(text, "%s");
        if (rest == NULL || blind->module == UINT32_MAX) {
            snprintf(line, sizeof line, "%s",
                     rest == NULL ? text : sonde__hook_reason_text(blind->reason));
        } else {
            snprintf(line, sizeof line, "%.*s%.300s%s", (int)(rest - text), text,
                     name_of(sonde__audit_page_text(page, blind->module)), rest + 2);
        }
        add(missing, line);
    }
}

/* Functions with recorded calls: a few hundred at most. */
struct seen {
    uint32_t functions[4 * SONDE__RECORD_FUNCTIONS]; /* string ids, by a hash; 0: free */
};
_Static_assert((4 * SONDE__RECORD_FUNCTIONS & (4 * SONDE__RECORD_FUNCTIONS - 1)) == 0, "a mask");

/* Its slot, or the free one for it. */
static uint32_t *place_of(struct seen *seen, uint32_t function)
{
    uint32_t mask = 4 * SONDE__RECORD_FUNCTIONS - 1, at = function * 0x9e3779b1u & mask;
    while (seen->functions[at] != 0 && seen->functions[at] != function) {
        at = (at + 1) & mask;
    }
    return &seen->functions[at];
}

static void add_of_function(const struct missing *missing, const char *name)
{
    struct sonde__hook_method_name method;
    if (!sonde__hook_method_parse(name, &method)) {
        add_blind_spots(missing);
        return;
    }
    uint32_t state = atomic_load(&missing->page->functions[missing->index].method);
    const char *text =
        sonde__hook_method_text(state > 0 ? state - 1 : SONDE__HOOK_METHOD_NO_RUNTIME);
    char overridden[SONDE__AUDIT_OVERRIDDEN_BYTES];
    if (text != NULL) {
        add(missing, text);
    }
    if (sonde__audit_page_overridden(missing->page, missing->index, overridden)) {
        add(missing, overridden);
    }
}

void sonde__audit_add_missed(const struct sonde__record_page *page,
                             const struct sonde__audit_list *list, uint32_t listed, bool by_rules,
                             struct sonde__report *report)
{
    struct missing missing = {.page = page, .report = report};
    struct seen seen = {{0}};
    sonde__audit_page_defined(page, &missing.defined);
    for (uint32_t i = 0; i < sonde__report_call_count(report); i++) {
        uint32_t function = sonde__report_call(report, i)->function;
        *place_of(&seen, function) = function;
    }
    for (uint32_t i = 0; i < listed; i++) {
        const struct sonde__report_call none = {.function =
                                                    sonde__report_string(report, list->names[i])};
        uint32_t *place = place_of(&seen, none.function);
        if (*place == 0) {
            *place = none.function;
            sonde__report_add_call(report, &none);
        }
    }
    missing.first = sonde__report_call_count(report);
    for (missing.index = 0; missing.index < list->count; missing.index++) {
        missing.function = sonde__report_string(report, list->names[missing.index]);
        if (by_rules && *place_of(&seen, missing.function) == 0) {
            missing.function = sonde__report_string(report, list->names[list->same[missing.index]]);
        }
        if (*place_of(&seen, missing.function) != 0) {
            add_of_function(&missing, list->names[missing.index]);
        }
    }
}

static void print_number(uint64_t count, const char *one, const char *many, const char *what,
                         struct sonde__report_lines lines)
{
    if (count != 0) {
        sonde__report_line(lines, "%llu %s%s", (unsigned long long)count, count == 1 ? one : many,
                           what);
    }
}

/* Is nothing known to be hooked for a function of the list? */
static bool is_absent(const struct sonde__record_page *page, const struct sonde__audit_list *list,
                      uint32_t index)
{
    struct sonde__hook_method_name method;
    uint32_t state = atomic_load(&page->functions[index].method);
    return sonde__hook_method_parse(list->names[index], &method) &&
           sonde__hook_method_text(state > 0 ? state - 1 : SONDE__HOOK_METHOD_NO_RUNTIME) != NULL;
}

void sonde__audit_print_absent(const struct sonde__record_page *page,
                               const struct sonde__audit_list *list,
                               struct sonde__report_lines lines)
{
    struct sonde__audit_defined defined;
    uint64_t count = 0;
    sonde__audit_page_defined(page, &defined);
    for (uint32_t i = 0; i < list->count; i++) {
        count += is_absent(page, list, i);
    }
    for (uint32_t i = 0; i < atomic_load(&page->blind_count); i++) {
        const struct sonde__record_blind *blind = &page->blind_spots[i];
        count += blind->reason == SONDE__HOOK_NO_FUNCTION ||
                 (blind->reason == SONDE__HOOK_ABSENT &&
                  !sonde__audit_is_defined(&defined, blind->function));
    }
    print_number(count, "function", "functions",
                 " of the rules in no loaded library (--verbose lists them)", lines);
}

void sonde__audit_print_unseen(const struct sonde__record_page *page,
                               struct sonde__report_lines lines)
{
    print_number(
        atomic_load(&page->unread), "call", "calls",
        " with a text, path or address that could not be read, or was longer than 1023 bytes: a "
        "condition could not be decided",
        lines);
    print_number(atomic_load(&page->children), "call made", "calls made",
                 " a process (fork, posix_spawn, system): calls of children are not recorded",
                 lines);
    print_number(atomic_load(&page->execs), "call", "calls",
                 page->family_at != 0
                     ? " of exec by its number: calls of the new program are not recorded"
                     : " of exec, with failed ones: calls of the new program are not recorded",
                 lines);
    print_number(atomic_load(&page->spaces), "call", "calls",
                 " of dlmopen: calls in other namespaces are not recorded", lines);
}
