// SPDX-License-Identifier: Apache-2.0
/* libsonde-preload.dylib: sonde in an app that does not call it. It is linked, or inserted by
 * DYLD_INSERT_LIBRARIES, and starts before the app's own initialisers what variables of the
 * environment ask for (settings.h). It writes lines to the standard error output, which Xcode
 * shows.
 *
 * The library is linked with CoreFoundation as a weak library, of which it uses nothing: so that
 * dyld initialises that one first, if the app has it. Its pointers are bound when it is loaded
 * (-bind_at_load): its threads and hooks wait for no lock of dyld's. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <mach-o/dyld.h>

#include <sonde/audit.h>
#include <sonde/block_registry.h>
#include <sonde/depot.h>
#include <sonde/note.h>
#include <sonde/watch.h>

#include "settings.h"

enum { PATH_BYTES = 4096, RULES_MAX = 16 << 20 };

static struct sonde_watch *watch;
static struct sonde_audit_run *audit;
static struct sonde_block_registry *registry;
static struct sonde_depot *depot;

extern char ***_NSGetEnviron(void);

static void say(void *ctx, const char *line)
{
    (void)ctx;
    fprintf(stderr, "sonde: %s\n", line);
}

static void say_failed(const char *what, const char *of, const struct sonde_error *error)
{
    fprintf(stderr, "sonde: %s%s%s: %s\n", what, of[0] != '\0' ? " " : "", of, error->what);
}

/* --- the watch --- */

static void see_stall(void *ctx, const struct sonde_stall *stall)
{
    (void)ctx;
    fprintf(stderr, "sonde: thread %llu stalled for %llu ms%s\n%s", (unsigned long long)stall->tid,
            (unsigned long long)(stall->duration_ns / 1000000),
            stall->open ? ", until the end" : "", stall->text);
}

static void start_watch(const struct preload_settings *settings)
{
    const struct sonde_watch_options options = {.struct_bytes = sizeof options,
                                                .threshold_ns = settings->watch_ns,
                                                .on_stall = see_stall,
                                                .spool = settings->spool,
                                                .build = settings->build};
    struct sonde_error error = {.what = ""};
    if (sonde_watch_start(&options, &watch, &error) != SONDE_OK) {
        say_failed("no watch", settings->spool != NULL ? settings->spool : "", &error);
        return;
    }
    if (sonde_watch_run_loop(&error) != SONDE_OK) {
        say_failed("the main run loop is not watched", "", &error);
    }
    fprintf(stderr, "sonde: watches loops, stalls of %llu ms and more\n",
            (unsigned long long)(settings->watch_ns / 1000000));
}

/* --- the audit --- */

static void see_found(void *ctx, const struct sonde_audit_found *found)
{
    (void)ctx;
    fprintf(stderr, "sonde: %s: %s by %s%s%s%s%s\n", found->rule, found->function, found->callers,
            found->sdk[0] != '\0' ? " of " : "", found->sdk,
            found->phase[0] != '\0' ? " in phase " : "", found->phase);
}

/* A path that is not absolute is from the executable's folder: an app's bundle. */
static const char *path_in_bundle(const char *path, char whole[PATH_BYTES])
{
    uint32_t size = PATH_BYTES;
    char *slash = _NSGetExecutablePath(whole, &size) == 0 ? strrchr(whole, '/') : NULL;
    if (path[0] == '/' || slash == NULL ||
        (size_t)(slash + 1 - whole) + strlen(path) >= PATH_BYTES) {
        return path;
    }
    strcpy(slash + 1, path);
    return whole;
}

/* Null: it cannot be read. The caller frees it. */
static uint8_t *read_rules(const char *path, size_t *ret_size)
{
    FILE *file = fopen(path, "rb");
    uint8_t *bytes = file != NULL ? malloc(RULES_MAX) : NULL;
    *ret_size = bytes != NULL ? fread(bytes, 1, RULES_MAX, file) : 0;
    if (file != NULL) {
        fclose(file);
    }
    return bytes;
}

static void start_audit(const struct preload_settings *settings)
{
    char whole[PATH_BYTES];
    const char *path = path_in_bundle(settings->audit, whole);
    const struct sonde_audit_options options = {.struct_bytes = sizeof options,
                                                .report = settings->report,
                                                .build = settings->build,
                                                .phase = settings->phase,
                                                .on_found = see_found,
                                                .on_line = say,
                                                .spool = settings->spool};
    struct sonde_error error = {.what = "it cannot be read"};
    size_t size;
    uint8_t *rules = read_rules(path, &size);
    if (rules == NULL || sonde_audit_begin(rules, size, &options, &audit, &error) != SONDE_OK) {
        say_failed("no audit: SONDE_AUDIT is", path, &error);
    } else {
        fprintf(stderr, "sonde: audits calls by %s\n", path);
    }
    free(rules);
}

/* --- the registry of blocks --- */

static void start_blocks(void)
{
    struct sonde_error error = {.what = "no memory"};
    if (sonde_depot_create(0, &depot) != SONDE_OK ||
        sonde_block_registry_start(depot, &registry, &error) != SONDE_OK) {
        say_failed("no registry of blocks", "", &error);
        return;
    }
    say(NULL, "records blocks");
}

static void say_blocks(void)
{
    struct sonde_block_registry_stat stat = {.struct_bytes = sizeof stat};
    if (sonde_block_registry_stat(registry, &stat) == SONDE_OK) {
        fprintf(stderr, "sonde: %llu blocks were made, %llu of them have ended\n",
                (unsigned long long)stat.made, (unsigned long long)stat.ended);
    }
}

/* --- begin and end --- */

static void end(void)
{
    struct sonde_error error = {.what = ""};
    if (registry != NULL) {
        say_blocks();
        sonde_block_registry_stop(registry);
    }
    if (audit != NULL && sonde_audit_finish(audit, &error) != SONDE_OK) {
        say_failed("the audit's report", "", &error);
    }
    sonde_watch_stop(watch);
}

__attribute__((constructor)) static void begin(void)
{
    static char own_folder[PATH_BYTES];
    struct preload_settings settings;
    if (preload_settings_read(*_NSGetEnviron(), say, NULL, &settings) != 0) {
        return;
    }
    const char *home = getenv("HOME");
    if (settings.spool != NULL && settings.spool[0] == '\0') {
        snprintf(own_folder, sizeof own_folder, "%s/Library/Caches/sonde/spool",
                 home != NULL ? home : "");
        settings.spool = own_folder;
    }
    if (settings.watch_ns != 0) {
        start_watch(&settings);
    }
    if (settings.audit != NULL) {
        start_audit(&settings);
    }
    if (settings.blocks) {
        start_blocks();
    }
    (void)atexit(end);
}
