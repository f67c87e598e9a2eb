// SPDX-License-Identifier: Apache-2.0
/* Compares what an app declares in its PrivacyInfo.xcprivacy with the calls that were recorded:
 * called but undeclared, and declared but never called.
 *
 * Apple's categories of APIs that need a reason, and their functions, are in this file's table
 * (https://developer.apple.com/documentation/bundleresources/describing-use-of-required-reason-api).
 * A call counts if the program's own code makes it: a library of the system declares its own. Keys
 * such as NSFileCreationDate are no functions, so calls with them are seen only as far as the
 * function that takes them is recorded. A pure function of the model. Context: any thread. */
#ifndef SONDE_FINDINGS_MANIFEST_H
#define SONDE_FINDINGS_MANIFEST_H

#include "report_view.h"

/* Apple has 5 categories; a file that repeats them is not wrong. */
#define SONDE__MANIFEST_ENTRIES_MAX 64u
#define SONDE__MANIFEST_CATEGORIES  5u

/* Real manifests have some kilobytes. */
#define SONDE__MANIFEST_BYTES ((size_t)1 << 20)

/* What a manifest declares. */
struct sonde__manifest_entry {
    char category[96];
    char reasons[128]; /* "C617.1 3B52.1"; the first ones, if they do not fit */
    uint32_t reason_count;
};
struct sonde__manifest {
    struct sonde__manifest_entry entries[SONDE__MANIFEST_ENTRIES_MAX];
    uint32_t count;
};

/* Add what a PrivacyInfo.xcprivacy declares to `manifest`: a property list, as XML or binary
 * (findings_plist.h). Returns OK | CORRUPT | LIMIT | MEMORY: ret_error says what is wrong, and
 * `manifest` is as it was. */
SONDE_NODISCARD enum sonde_status sonde__manifest_read(const void *bytes, size_t size,
                                                       struct sonde__manifest *manifest,
                                                       struct sonde_error *ret_error);

enum sonde__manifest_state {
    SONDE__MANIFEST_UNDECLARED,       /* called by the program's own code, and not declared */
    SONDE__MANIFEST_NO_REASON,        /* declared without a reason */
    SONDE__MANIFEST_UNKNOWN_CATEGORY, /* declared, and none of Apple's */
    SONDE__MANIFEST_UNUSED,           /* declared, and never called */
    SONDE__MANIFEST_UNKNOWN, /* declared, but its functions were not recorded, or not all calls */
    SONDE__MANIFEST_CALLED,  /* declared and called */
    SONDE__MANIFEST_NEITHER,
    SONDE__MANIFEST_STATES,
};

/* One category. */
struct sonde__manifest_line {
    const char *category; /* "NSPrivacyAccessedAPICategoryDiskSpace" */
    enum sonde__manifest_state state;
    uint64_t calls;        /* by the program's own code */
    uint64_t system_calls; /* by libraries of the system */
    uint32_t recorded;     /* different functions of it that are listed; 0: none was recorded */
    uint32_t rules;        /* of an audit, with the category as their class */
    uint32_t may_miss;     /* functions with calls by the program's own code that may be missing */
    uint32_t missed;       /* index + 1 of the record that says so of the first of them; 0: none */
    uint32_t first;        /* index + 1 of the own call with the largest count; 0: none */
    uint64_t most;         /* that count */
    uint32_t last, last_missed; /* of sonde__manifest_add(): the functions that were counted last */
};

struct sonde__manifest_result {
    struct sonde__manifest_line lines[SONDE__MANIFEST_CATEGORIES + SONDE__MANIFEST_ENTRIES_MAX];
    uint32_t count; /* ordered by state */
    uint32_t states[SONDE__MANIFEST_STATES];
};

/* code: whose calls are compared: those of an image in a folder of this name ("Stat.framework",
 * which has a manifest of its own); "": those of no framework; null: all. A call of a library of
 * the system belongs to what called that. The lines refer to the manifest and the report. */
void sonde__manifest_compare(const struct sonde__manifest *manifest, const char *code,
                             const struct sonde__report *report,
                             struct sonde__manifest_result *ret_result);

/* --- a comparison in parts, also of sums that were kept of many reports --- */

/* Who makes a call: the innermost code that is no library of the system, itself or by a library of
 * the system. code: the name of its framework, of code_size bytes; none: 0. */
struct sonde__manifest_caller {
    bool is_system;
    const char *code;
    size_t code_size;
};
struct sonde__manifest_caller sonde__manifest_caller(const struct sonde__report *report,
                                                     const struct sonde__report_call *call);
/* May calls of its function by the program's own code be missing? `missed` of the call says why. */
bool sonde__manifest_may_miss(const struct sonde__report *report,
                              const struct sonde__report_call *call);
/* The categories that have a function: bits 1 << index. */
uint32_t sonde__manifest_categories(const char *function);
/* Is one of them declared? */
bool sonde__manifest_covers(const struct sonde__manifest *manifest, const char *function);
/* The name of one, 0 to CATEGORIES - 1. */
const char *sonde__manifest_category(unsigned index);

/* What is known of calls of one function, by the code that is compared. */
struct sonde__manifest_use {
    const char *function;
    uint32_t id; /* not 0; of the function: equal ones in a row are counted as one function */
    uint64_t calls, system_calls;
    bool may_miss;
    uint32_t record; /* for `first` and `missed` of a line: index + 1 */
};
/* Begin, add what is known, and end: the same as sonde__manifest_compare() of it. */
void sonde__manifest_begin(struct sonde__manifest_result *ret_result);
void sonde__manifest_add(const struct sonde__manifest *manifest,
                         const struct sonde__manifest_use *use,
                         struct sonde__manifest_result *result);
void sonde__manifest_end(const struct sonde__manifest *manifest,
                         struct sonde__manifest_result *result);

/* The framework that has the image of this path: its folder's name, not ended by a 0 but of
 * *ret_size bytes. Null: none. */
const char *sonde__manifest_framework(const char *path, size_t *ret_size);

/* "called but undeclared", … */
const char *sonde__manifest_state_text(enum sonde__manifest_state state);
enum sonde__report_severity sonde__manifest_severity(enum sonde__manifest_state state);

/* A part of an app: its own code, or a framework. */
struct sonde__manifest_part {
    char name[128];  /* "Foo.app", "Stat.framework"; "": the only part, which is not named */
    char files[512]; /* the paths of its manifests, for people; "": it has none */
    struct sonde__manifest manifest;
    struct sonde__manifest_result result;
};

/* All parts of an app, or the only one. */
void sonde__manifest_text(const struct sonde__manifest_part *parts, uint32_t count,
                          const struct sonde__report *report, const struct sonde__report_view *view,
                          struct sonde__report_sink sink);
void sonde__manifest_json(const struct sonde__manifest_part *parts, uint32_t count,
                          const struct sonde__report *report, const struct sonde__report_view *view,
                          struct sonde__report_sink sink);

#endif
