// SPDX-License-Identifier: Apache-2.0
/* Rules of an audit, as a file of rules has them (docs/guide/audit.md):
 *
 *   [pack]
 *     use = linux-identity, ./more.ini
 *   [rule "keys"]
 *     api = keyctl, openat:2
 *     severity = error
 *     class = secret
 *     message = uses keys
 *   [sdk "analytics"]
 *     match = module:libstat*.so, symbol:stat_*
 *
 * Invariant: what is in `struct sonde__rules` was checked by its form: names are names of
 * functions, patterns are not empty, and every text ends with NUL and has no control characters but
 * those that its quotes escape. Whether a rule can be evaluated is decided by its reader. Context:
 * one thread. */
#ifndef SONDE_RULES_H
#define SONDE_RULES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "mem_arena.h"

/* Limits of what people write; more is an error. */
enum {
    SONDE__RULES_MAX = 512,      /* rules of all files; of a report, 4096 */
    SONDE__RULES_FILES_MAX = 64, /* packs */
    SONDE__RULES_FILE_BYTES = 262144,
    SONDE__RULES_ERRORS_MAX = 20,  /* that are printed */
    SONDE__RULE_ARGUMENTS_MAX = 6, /* those in registers on every machine */
    SONDE__RULE_KEEP_MAX = 4,      /* words of keep; SONDE__WHEN_KEEPS_EACH */
};

struct sonde__rule_place {
    const char *file;      /* as messages name it */
    uint32_t line, column; /* from 1 */
};

struct sonde__rule_api {
    const char *name;  /* a line of a list of functions (audit_list.h) */
    uint32_t argument; /* which one the rule is about, from 1; 0: not said */
    struct sonde__rule_place place;
};

/* module:GLOB or symbol:GLOB of a frame; with ! before it: of none. */
struct sonde__rule_pattern {
    bool is_symbol, is_not;
    const char *glob;
    struct sonde__rule_place place;
};

struct sonde__rule_patterns {
    struct sonde__rule_pattern *items;
    size_t count, capacity;
};

/* Text of a key that is not parsed here; null: the key is missing. */
struct sonde__rule_text {
    const char *text;
    struct sonde__rule_place place;
    const struct sonde__rule_place *places; /* of a condition: of each byte, and of the end */
};

struct sonde__rule {
    const char *name, *pack; /* pack: the file's name without folder and .ini */
    const char *category;    /* class; "": none */
    const char *message;     /* ""; none */
    uint32_t severity;       /* enum sonde__report_severity: note, warning (the default) or error,
                                the levels of SARIF; low, medium and high mean the same */
    struct sonde__rule_api *apis;
    size_t api_count, api_capacity;
    bool has_api; /* the key, whose functions may all be wrong */
    struct sonde__rule_text when;
    struct sonde__rule_text keeps[SONDE__RULE_KEEP_MAX]; /* words of arguments */
    uint32_t keep_count;
    uint64_t limit_count, limit_ns; /* allowed calls in a time; 0: any */
    struct sonde__rule_place limit_place;
    struct sonde__rule_text phase; /* the phase's name */
    bool is_before_phase;          /* until it begins */
    struct sonde__rule_patterns from;
    struct sonde__rule_place place; /* of its section */
};

/* A part of the program that calls are attributed to. */
struct sonde__rule_sdk {
    const char *name;
    struct sonde__rule_patterns match;
    struct sonde__rule_place place;
};

struct sonde__rules {
    struct sonde__rule *rules; /* in the order of the files, those of a pack where it is used */
    size_t rule_count, rule_capacity;
    struct sonde__rule_sdk *sdks;
    size_t sdk_count, sdk_capacity;
    struct sonde__arena texts;
    uint32_t errors;
    /* set by the caller: */
    void (*print)(void *ctx, const char *line); /* "FILE:LINE:COLUMN: expected ..." */
    void *ctx;
};

/* Called for each name of `use =`, at `place`. False: memory ran out. */
struct sonde__rules_use {
    bool (*file)(void *ctx, const char *name, const struct sonde__rule_place *place);
    void *ctx;
};

/* Add the rules of a text. file: its name in places; it must live as long as the rules. Every error
 * is counted and printed, up to a limit; the line is left out. False: memory ran out. */
bool sonde__rules_read(struct sonde__rules *rules, const char *file, const char *text, size_t size,
                       const struct sonde__rules_use *use);

/* Check what several lines decide, when all files were read: each rule has a function. */
void sonde__rules_check(struct sonde__rules *rules);

void sonde__rules_done(struct sonde__rules *rules);

/* Count an error and print it. */
void sonde__rules_error(struct sonde__rules *rules, const struct sonde__rule_place *place,
                        const char *format, ...) __attribute__((format(printf, 3, 4)));

#endif
