// SPDX-License-Identifier: Apache-2.0
/* What a build declares against what it calls, as sonde privacy compares an app and its frameworks
 * (findings_manifest.h): the same engine, over sums of many reports. The manifest of the name
 * "Stat.framework" (or "Stat.framework:…") declares for this framework, every other one for the
 * program without its frameworks. What the sums do not know is not claimed. Pure functions.
 * Context: any thread. */
#ifndef SONDE_COLLECTOR_DECLARED_H
#define SONDE_COLLECTOR_DECLARED_H

#include "findings_manifest.h"
#include "store.h"

/* Parts of a build that are compared; calls of more frameworks are counted in `left_out`. */
enum { DECLARED_PARTS_MAX = 256, DECLARED_FILES_TEXT = 512 };

struct declared_part {
    char code[DIGEST_CODE_TEXT];     /* a framework; "": the program without them */
    char files[DECLARED_FILES_TEXT]; /* the names of its manifests; the first ones */
    bool has_manifest;               /* one was given, so what it does not have is undeclared */
    char error[160];                 /* one that cannot be read; "" */
    struct sonde__manifest manifest;
    struct sonde__manifest_result result;
    /* Of each category: calls of which it is not known who makes them. */
    uint64_t unknown[SONDE__MANIFEST_CATEGORIES];
};

struct declared {
    struct declared_part *parts[DECLARED_PARTS_MAX]; /* the program comes first */
    uint32_t part_count;
    uint64_t left_out; /* calls */
    struct digest_api apis[DIGEST_APIS_MAX];
    uint32_t api_count;
    bool has_failed; /* no memory */
};

/* Null: no memory. Ownership: declared_end(). */
struct declared *declared_begin(void);
void declared_end(struct declared *declared);

/* The code that a manifest of this name declares for, of *ret_size bytes. */
const char *declared_code(const char *manifest, size_t *ret_size);

/* In this order: all manifests, functions and calls of the build. ctx is the struct declared *. */
void declared_add_manifest(void *ctx, const struct store_manifest *manifest);
void declared_add_api(void *ctx, const char *name, const char *missed);
void declared_add_call(void *ctx, const struct store_call *call, const struct store_call_sum *sum,
                       const struct store_caller *caller);
/* Compare. is_whole: the sums have all calls of the reports: none was dropped, or stored before it
 * was known who makes it. False: no memory, now or before. */
bool declared_compare(struct declared *declared, bool is_whole);

/* The part that has calls of the framework; null: none. */
const struct declared_part *declared_part_of(const struct declared *declared, const char *code);
/* Calls of a category of which it is not known who makes them. */
uint64_t declared_unknown(const struct declared_part *part, const char *category);
/* The line of a state for people; that of what is called and of which no manifest was given is not
 * "undeclared". */
const char *declared_state_text(const struct declared_part *part,
                                const struct sonde__manifest_line *line);
/* The reasons that a part declares for a category: "C617.1 3B52.1". */
void declared_reasons(const struct declared_part *part, const char *category, char *ret_text,
                      size_t size);

#endif
