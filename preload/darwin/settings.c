// SPDX-License-Identifier: Apache-2.0
#include "settings.h"

#include <stdio.h>
#include <string.h>

#include <sonde/watch.h>

/* Null, or what was expected. */
typedef const char *take(const char *value, struct preload_settings *settings);

/* "250ms", "2s", or "1": the usual threshold. */
static const char *take_watch(const char *value, struct preload_settings *settings)
{
    uint64_t number = 0;
    const char *at = value;
    for (; *at >= '0' && *at <= '9' && number < 1000000; at++) {
        number = number * 10 + (uint64_t)(*at - '0');
    }
    uint64_t unit = strcmp(at, "ms") == 0 ? 1000000u : strcmp(at, "s") == 0 ? 1000000000u : 0;
    settings->watch_ns = strcmp(value, "1") == 0 ? SONDE_WATCH_THRESHOLD_NS : number * unit;
    return settings->watch_ns >= SONDE_WATCH_THRESHOLD_MIN_NS || strcmp(value, "0") == 0
               ? NULL
               : "the time after which a loop stalls, at least 20ms (250ms, 2s), 1 or 0";
}

static const char *take_blocks(const char *value, struct preload_settings *settings)
{
    settings->blocks = strcmp(value, "1") == 0;
    return settings->blocks || strcmp(value, "0") == 0 ? NULL : "1 or 0";
}

static const char *take_text(const char *value, const char **ret)
{
    *ret = value;
    return value[0] != '\0' ? NULL : "a text";
}

static const char *take_audit(const char *value, struct preload_settings *settings)
{
    return take_text(value, &settings->audit) == NULL
               ? NULL
               : "the path of rules that `sonde audit compile -o` wrote";
}

static const char *take_report(const char *value, struct preload_settings *settings)
{
    return take_text(value, &settings->report) == NULL ? NULL : "the path of a report";
}

/* 1: the app's own folder. */
static const char *take_spool(const char *value, struct preload_settings *settings)
{
    settings->spool = strcmp(value, "1") == 0 ? "" : value;
    return value[0] != '\0' ? NULL : "the path of a folder, or 1 for the app's own";
}

static const char *take_build(const char *value, struct preload_settings *settings)
{
    return take_text(value, &settings->build);
}

static const char *take_phase(const char *value, struct preload_settings *settings)
{
    return take_text(value, &settings->phase);
}

static const char *take_elsewhere(const char *value, struct preload_settings *settings)
{
    (void)value, (void)settings;
    return NULL;
}

static const struct {
    const char *name;
    take *take;
} variables[] = {
    {"SONDE_WATCH", take_watch},   {"SONDE_AUDIT", take_audit},     {"SONDE_BLOCKS", take_blocks},
    {"SONDE_REPORT", take_report}, {"SONDE_SPOOL", take_spool},     {"SONDE_BUILD", take_build},
    {"SONDE_PHASE", take_phase},   {"SONDE_SCRUB", take_elsewhere}, /* of the command line */
};
enum { VARIABLES = sizeof variables / sizeof *variables };

/* Is it "NAME=value"? */
static const char *value_of(const char *entry, const char *name)
{
    size_t size = strlen(name);
    return strncmp(entry, name, size) == 0 && entry[size] == '=' ? entry + size + 1 : NULL;
}

static unsigned read_entry(const char *entry, void (*tell)(void *ctx, const char *line), void *ctx,
                           struct preload_settings *settings)
{
    char line[512];
    for (unsigned i = 0; i < VARIABLES; i++) {
        const char *value = value_of(entry, variables[i].name);
        const char *expected = value != NULL ? variables[i].take(value, settings) : NULL;
        if (value != NULL && expected != NULL) {
            snprintf(line, sizeof line, "%s is \"%.100s\": expected %s. Nothing is started",
                     variables[i].name, value, expected);
            tell(ctx, line);
        }
        if (value != NULL) {
            return expected != NULL;
        }
    }
    snprintf(line, sizeof line,
             "%.*s is not known, and does nothing. There are SONDE_WATCH, SONDE_AUDIT, "
             "SONDE_BLOCKS, SONDE_REPORT, SONDE_SPOOL, SONDE_BUILD and SONDE_PHASE",
             (int)strcspn(entry, "="), entry);
    tell(ctx, line);
    return 0;
}

unsigned preload_settings_read(char *const *environment, void (*tell)(void *ctx, const char *line),
                               void *ctx, struct preload_settings *ret_settings)
{
    unsigned wrong = 0;
    *ret_settings = (struct preload_settings){.watch_ns = 0};
    for (; *environment != NULL; environment++) {
        if (strncmp(*environment, "SONDE_", 6) == 0) {
            wrong += read_entry(*environment, tell, ctx, ret_settings);
        }
    }
    if (ret_settings->audit != NULL && ret_settings->blocks) {
        tell(ctx, "SONDE_AUDIT and SONDE_BLOCKS both hook functions: set one of them. Nothing is "
                  "started");
        wrong++;
    }
    if (ret_settings->report != NULL && ret_settings->audit == NULL) {
        tell(ctx, "SONDE_REPORT is the path of an audit's report: set SONDE_AUDIT, too. Nothing is "
                  "started");
        wrong++;
    }
    return wrong;
}
