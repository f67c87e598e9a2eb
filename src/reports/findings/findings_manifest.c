// SPDX-License-Identifier: Apache-2.0
#include "findings_manifest.h"

#include <stdlib.h>
#include <string.h>

#include "base_old_stat.h"
#include "image_app.h"
#include "mem_sort.h"
#include "report_analyse.h"
#include "report_walk.h"

#define PREFIX "NSPrivacyAccessedAPICategory"

/* A name that ends in * is a prefix. Some functions are in two categories. */
static const struct category {
    const char *name;
    const char *const *functions; /* ends with null */
} categories[SONDE__MANIFEST_CATEGORIES] = {
    {PREFIX "FileTimestamp",
     (const char *const[]){
         "stat", "fstat", "fstatat", "lstat", "getattrlist", "getattrlistbulk", "fgetattrlist",
         "getattrlistat", "-[NSURL getResourceValue:*", "-[NSURL resourceValuesForKeys:*",
         "-[NSFileManager attributesOfItemAtPath:*", "-[UIDocument fileModificationDate]", NULL}},
    {PREFIX "SystemBootTime",
     (const char *const[]){"mach_absolute_time", "-[NSProcessInfo systemUptime]", NULL}},
    {PREFIX "DiskSpace",
     (const char *const[]){"statfs", "statvfs", "fstatfs", "fstatvfs", "getattrlist",
                           "fgetattrlist", "getattrlistat", "-[NSURL getResourceValue:*",
                           "-[NSURL resourceValuesForKeys:*",
                           "-[NSFileManager attributesOfFileSystemForPath:*", NULL}},
    {PREFIX "ActiveKeyboards", (const char *const[]){"+[UITextInputMode activeInputModes]", NULL}},
    {PREFIX "UserDefaults",
     (const char *const[]){"-[NSUserDefaults *", "+[NSUserDefaults *", NULL}},
};

/* A function, and its name without what makes it a variant: glibc's stat64 and __xstat, Darwin's
 * stat$INODE64, a version after @. Methods have no variants. */
struct called {
    const char *name;
    const char *plain; /* not ended by a 0 */
    size_t size;
};

static bool is_method(const char *name)
{
    return *name == '-' || *name == '+';
}

static struct called called_of(const char *name)
{
    size_t size = is_method(name) ? strlen(name) : strcspn(name, "$@");
    const char *current = is_method(name) ? NULL : sonde__base_old_stat(name, size);
    if (current != NULL) {
        return (struct called){name, current, strlen(current)};
    }
    bool has_bits = !is_method(name) && size > 2 && memcmp(name + size - 2, "64", 2) == 0;
    return (struct called){name, name, has_bits ? size - 2 : size};
}

/* The first characters of most differ. */
static bool is_same(const struct called *called, const char *function)
{
    if (*function != *called->plain) {
        return false;
    }
    size_t size = strlen(function);
    if (function[size - 1] == '*') {
        return strncmp(called->name, function, size - 1) == 0;
    }
    return size == called->size && memcmp(called->plain, function, size) == 0;
}

static bool has_called(const struct category *category, const struct called *called)
{
    for (const char *const *f = category->functions; *f != NULL; f++) {
        if (is_same(called, *f)) {
            return true;
        }
    }
    return false;
}

static bool has_function(const struct category *category, const char *function)
{
    const struct called called = called_of(function);
    return has_called(category, &called);
}

uint32_t sonde__manifest_categories(const char *function)
{
    uint32_t found = 0;
    const struct called called = called_of(function);
    for (unsigned c = 0; c < SONDE__MANIFEST_CATEGORIES; c++) {
        found |= (uint32_t)has_called(&categories[c], &called) << c;
    }
    return found;
}

const char *sonde__manifest_category(unsigned index)
{
    return categories[index].name;
}

static bool is_declared(const struct sonde__manifest *manifest, const char *category)
{
    for (uint32_t i = 0; i < manifest->count; i++) {
        if (strcmp(manifest->entries[i].category, category) == 0) {
            return true;
        }
    }
    return false;
}

static bool has_reason(const struct sonde__manifest *manifest, const char *category)
{
    for (uint32_t i = 0; i < manifest->count; i++) {
        if (strcmp(manifest->entries[i].category, category) == 0 &&
            manifest->entries[i].reason_count == 0) {
            return false;
        }
    }
    return true;
}

bool sonde__manifest_covers(const struct sonde__manifest *manifest, const char *function)
{
    for (unsigned c = 0; c < SONDE__MANIFEST_CATEGORIES; c++) {
        if (has_function(&categories[c], function) && is_declared(manifest, categories[c].name)) {
            return true;
        }
    }
    return false;
}

const char *sonde__manifest_framework(const char *path, size_t *ret_size)
{
    static const char suffix[] = ".framework/";
    const char *found = NULL;
    for (const char *at = strstr(path, suffix); at != NULL; at = strstr(at + 1, suffix)) {
        found = at;
    }
    if (found == NULL) {
        return NULL;
    }
    const char *begin = found;
    while (begin > path && begin[-1] != '/') {
        begin--;
    }
    *ret_size = (size_t)(found - begin) + sizeof suffix - 2;
    return begin;
}

struct sonde__manifest_caller sonde__manifest_caller(const struct sonde__report *report,
                                                     const struct sonde__report_call *call)
{
    struct sonde__manifest_caller caller = {.code = ""};
    struct sonde__report_walk walk;
    struct sonde__report_step step;
    sonde__report_walk_begin(&walk, report, call->stack);
    while (call->stack != 0 && sonde__report_walk_next(&walk, &step)) {
        if (!sonde__report_frame_is_app(report, step.frame)) {
            caller.is_system = true;
            continue;
        }
        if (step.frame->image != 0) {
            const struct sonde__report_image *image =
                sonde__report_image(report, step.frame->image);
            const char *code = sonde__manifest_framework(sonde__report_text(report, image->path),
                                                         &caller.code_size);
            caller.code = code != NULL ? code : "";
        }
        break;
    }
    return caller;
}

static bool is_of(const struct sonde__manifest_caller *caller, const char *code)
{
    return strlen(code) == caller->code_size && memcmp(code, caller->code, caller->code_size) == 0;
}

/* Is a blind spot ("direct calls inside /lib/libc.so.6") one of a library of the system? */
static bool is_in_system(const struct sonde__report *report, const char *missed)
{
    char path[512];
    const char *begin = strchr(missed, '/');
    size_t size = begin != NULL ? strcspn(begin, " ,:") : 0;
    if (size == 0 || size >= sizeof path) {
        return false;
    }
    memcpy(path, begin, size);
    path[size] = '\0';
    for (uint32_t i = 1; i <= sonde__report_image_count(report); i++) {
        if (strcmp(sonde__report_text(report, sonde__report_image(report, i)->path), path) == 0) {
            return !sonde__report_is_app(report, i); /* as the program said */
        }
    }
    return !sonde__image_is_app(path, 0);
}

bool sonde__manifest_may_miss(const struct sonde__report *report,
                              const struct sonde__report_call *call)
{
    return call->missed != 0 && !is_in_system(report, sonde__report_text(report, call->missed));
}

static uint64_t sum_of(uint64_t one, uint64_t other)
{
    return one <= UINT64_MAX - other ? one + other : UINT64_MAX;
}

static void add_to_line(const struct sonde__manifest *manifest,
                        const struct sonde__manifest_use *use, struct sonde__manifest_line *line)
{
    line->recorded += line->last != use->id;
    line->last = use->id;
    if (use->may_miss) {
        line->may_miss += line->last_missed != use->id;
        line->missed = line->missed == 0 ? use->record : line->missed;
        line->last_missed = use->id;
    }
    line->system_calls = sum_of(line->system_calls, use->system_calls);
    if (is_declared(manifest, line->category) || !sonde__manifest_covers(manifest, use->function)) {
        line->calls = sum_of(line->calls, use->calls);
        line->first = use->calls > line->most ? use->record : line->first;
        line->most = use->calls > line->most ? use->calls : line->most;
    }
}

void sonde__manifest_begin(struct sonde__manifest_result *ret_result)
{
    *ret_result = (struct sonde__manifest_result){.count = SONDE__MANIFEST_CATEGORIES};
    for (unsigned c = 0; c < SONDE__MANIFEST_CATEGORIES; c++) {
        ret_result->lines[c].category = categories[c].name;
    }
}

void sonde__manifest_add(const struct sonde__manifest *manifest,
                         const struct sonde__manifest_use *use,
                         struct sonde__manifest_result *result)
{
    for (unsigned c = 0; c < SONDE__MANIFEST_CATEGORIES; c++) {
        if (has_function(&categories[c], use->function)) {
            add_to_line(manifest, use, &result->lines[c]);
        }
    }
}

/* An audit does not name functions without calls, but all its rules. The class of a rule may be a
 * category (apple-required-reason.ini); it may have conditions, so without calls little is known.
 */
static uint32_t count_rules(const struct sonde__report *report, const char *category)
{
    uint32_t count = 0;
    for (uint32_t i = 1; i <= sonde__report_rule_count(report); i++) {
        const struct sonde__report_rule *rule = sonde__report_rule(report, i);
        count += strcmp(sonde__report_text(report, rule->category), category) == 0;
    }
    return count;
}

static enum sonde__manifest_state judge(const struct sonde__manifest *manifest,
                                        const struct sonde__manifest_line *line)
{
    if (!is_declared(manifest, line->category)) {
        return line->calls != 0 ? SONDE__MANIFEST_UNDECLARED : SONDE__MANIFEST_NEITHER;
    }
    if (!has_reason(manifest, line->category)) {
        return SONDE__MANIFEST_NO_REASON;
    }
    if (line->calls != 0) {
        return SONDE__MANIFEST_CALLED;
    }
    return line->recorded == 0 || line->may_miss != 0 ? SONDE__MANIFEST_UNKNOWN
                                                      : SONDE__MANIFEST_UNUSED;
}

static bool is_known(const char *category)
{
    for (unsigned c = 0; c < SONDE__MANIFEST_CATEGORIES; c++) {
        if (strcmp(categories[c].name, category) == 0) {
            return true;
        }
    }
    return false;
}

static int by_state(const void *left, const void *right)
{
    const struct sonde__manifest_line *a = left, *b = right;
    int order = SONDE__ORDER(a, b, state);
    return order != 0 ? order : strcmp(a->category, b->category);
}

void sonde__manifest_end(const struct sonde__manifest *manifest,
                         struct sonde__manifest_result *result)
{
    for (unsigned c = 0; c < SONDE__MANIFEST_CATEGORIES; c++) {
        result->lines[c].state = judge(manifest, &result->lines[c]);
    }
    for (uint32_t i = 0; i < manifest->count; i++) {
        if (!is_known(manifest->entries[i].category)) {
            result->lines[result->count++] =
                (struct sonde__manifest_line){.category = manifest->entries[i].category,
                                              .state = SONDE__MANIFEST_UNKNOWN_CATEGORY};
        }
    }
    qsort(result->lines, result->count, sizeof *result->lines, by_state);
    for (uint32_t i = 0; i < result->count; i++) {
        result->states[result->lines[i].state]++;
    }
}

void sonde__manifest_compare(const struct sonde__manifest *manifest, const char *code,
                             const struct sonde__report *report,
                             struct sonde__manifest_result *ret_result)
{
    sonde__manifest_begin(ret_result);
    for (uint32_t i = 0; i < sonde__report_call_count(report); i++) {
        const struct sonde__report_call *call = sonde__report_call(report, i);
        struct sonde__manifest_use use = {.function = sonde__report_text(report, call->function),
                                          .id = call->function,
                                          .record = i + 1};
        if (sonde__manifest_categories(use.function) == 0) {
            continue;
        }
        use.may_miss = sonde__manifest_may_miss(report, call);
        const struct sonde__manifest_caller caller = sonde__manifest_caller(report, call);
        if (code == NULL || is_of(&caller, code)) {
            *(caller.is_system ? &use.system_calls : &use.calls) = call->count;
        }
        sonde__manifest_add(manifest, &use, ret_result);
    }
    for (unsigned c = 0; c < SONDE__MANIFEST_CATEGORIES; c++) {
        ret_result->lines[c].rules = count_rules(report, categories[c].name);
    }
    sonde__manifest_end(manifest, ret_result);
}

const char *sonde__manifest_state_text(enum sonde__manifest_state state)
{
    static const char *const texts[SONDE__MANIFEST_STATES] = {
        "called but undeclared",
        "declared without a reason",
        "no category of Apple's",
        "declared but never called",
        "not known",
        "declared and called",
        "neither",
    };
    return texts[state];
}

enum sonde__report_severity sonde__manifest_severity(enum sonde__manifest_state state)
{
    switch (state) {
    case SONDE__MANIFEST_UNDECLARED:
    case SONDE__MANIFEST_NO_REASON:
    case SONDE__MANIFEST_UNKNOWN_CATEGORY:
        return SONDE__REPORT_SEVERITY_ERROR;
    case SONDE__MANIFEST_UNUSED:
        return SONDE__REPORT_SEVERITY_WARNING;
    default:
        return SONDE__REPORT_SEVERITY_NOTE;
    }
}
