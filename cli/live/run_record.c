// SPDX-License-Identifier: Apache-2.0
#include "run_record.h"

#include <string.h>

#include "audit_join.h"
#include "audit_run.h"
#include "cli_library.h"
#include "host_run.h"
#include "host_self.h"
#include "report_new.h"
#include "rules_load.h"
#include "watch_program.h"

static void print_line(void *ctx, const char *line)
{
    sonde__cli_error(ctx, "%s", line);
}

const char *sonde__cli_find_binary(const char *name)
{
    static struct sonde__watch_program program;
    static char path[SONDE__WATCH_PATH_MAX], by_env[SONDE__WATCH_PATH_MAX];
    struct sonde_error error = {0};
    char word[256];
    if (sonde__host_find_program(name, path, sizeof path, &error) != 0) {
        return NULL;
    }
    if (sonde__watch_names_by_env(path, word, sizeof word) &&
        sonde__host_find_program(word, by_env, sizeof by_env, &error) == 0) {
        memcpy(path, by_env, sizeof path); /* the program that env would execute */
    }
    sonde__watch_inspect(path, &program);
    /* only glibc's loader can list libraries; with another one the program would run */
    bool can_ask = program.carry == SONDE__WATCH_CARRIES || program.carry == SONDE__WATCH_SANITIZER;
    return can_ask ? program.binary : NULL;
}

/* How often new calls are looked for. */
#define LIVE_NS 200000000u
/* How often places of processes that are gone are freed (record_family.h). */
#define FOLLOW_NS 50000000u

struct live {
    const struct sonde__cli_command *command;
    const struct sonde__watch_options *options;
    char line[4096];
    size_t used;
};

/* A longer line is cut. */
static bool add_to_line(void *ctx, const char *bytes, size_t size)
{
    struct live *live = ctx;
    size_t room = sizeof live->line - 1 - live->used;
    size = size < room ? size : room;
    memcpy(live->line + live->used, bytes, size);
    live->used += size;
    live->line[live->used] = '\0';
    return true;
}

static bool write_json(void *ctx, const char *bytes, size_t size)
{
    const struct live *live = ctx;
    return sonde__host_write_all(live->options->report_fd, bytes, size);
}

static void print_new(void *ctx, const struct sonde__audit_new *found)
{
    struct live *live = ctx;
    if (live->options->report_json) {
        sonde__report_json_new(found->report, found->call, found->phase, found->pid,
                               (struct sonde__report_sink){write_json, live});
        return;
    }
    live->used = 0;
    sonde__report_text_new(found->report, found->call, found->phase, found->pid,
                           (struct sonde__report_sink){add_to_line, live});
    live->line[strcspn(live->line, "\n")] = '\0';
    sonde__cli_error(live->command, "new: %s", live->line);
}

static int prepare(const struct sonde__cli_command *command, struct sonde__audit_options *from,
                   const struct sonde__watch_plugin *as, struct sonde__watch_options *options)
{
    static struct sonde__watch_plugin plugin;
    struct sonde_error error = {0};
    struct sonde__audit *audit;
    from->program = sonde__cli_find_binary(options->argv[0]);
    from->envp = options->envp;
    from->symbols = options->symbols;
    from->blind_spots = options->verbose;
    from->lines = (struct sonde__report_lines){print_line, (void *)(uintptr_t)command};
    const char *library = sonde__cli_find_library("libsonde-record.so", "../recorder/");
    if (library == NULL) {
        sonde__cli_error(command, "libsonde-record.so was not found beside sonde");
        return 125;
    }
    enum sonde_status status = sonde__audit_create(from, &audit, &error);
    if (status != SONDE_OK) {
        if (error.at != 0) {
            sonde__cli_error(command, "%s:%llu: %s", from->list, (unsigned long long)error.at,
                             error.what);
        } else {
            (void)sonde__cli_fail(command, from->list, status, &error);
        }
        return 125;
    }
    plugin = *as;
    plugin.size = sonde__audit_shared_size(from->nodes) +
                  (from->blocks ? sonde__audit_registry_size() : 0) +
                  (from->follow ? sonde__audit_family_size() : 0);
    plugin.ctx = audit;
    plugin.begin = sonde__audit_begin;
    plugin.end = sonde__audit_end;
    plugin.supervise = from->follow ? sonde__audit_supervise : NULL;
    options->probe = library;
    options->plugin = &plugin;
    return 0;
}

int sonde__cli_prepare_record(const struct sonde__cli_command *command,
                              const struct sonde__cli_record *request,
                              struct sonde__watch_options *options)
{
    struct sonde__audit_options from = {.list = request->list,
                                        .raw = request->raw,
                                        .keep_going = request->keep_going,
                                        .phase = request->phase,
                                        .follow = request->follow,
                                        .nodes = request->frames};
    if (request->rules != NULL) {
        static struct sonde__rules_loaded loaded; /* lives as long as the process */
        if (sonde__rules_load(command, request->rules, &loaded) != SONDE__CLI_OK) {
            return 125;
        }
        from.list = request->rules;
        from.rules = &loaded.blob.rules;
    }
    static struct live live;
    live = (struct live){.command = command, .options = options};
    from.on_new = request->live ? print_new : NULL;
    from.new_ctx = &live;
    options->report_lines = request->live;
    const struct sonde__watch_plugin plugin = {
        .period_ns = request->follow ? FOLLOW_NS
                     : request->live ? LIVE_NS
                                     : 0,
        .kind = from.rules != NULL ? SONDE__REPORT_AUDIT : SONDE__REPORT_CALLS,
        .app_only = request->app_only,
        .top = request->top,
        .look = sonde__audit_look,
        .keep = sonde__audit_keep,
        .mark = request->phase != NULL ? sonde__audit_begin_marked : NULL};
    return prepare(command, &from, &plugin, options);
}

int sonde__cli_join(const struct sonde__cli_command *command, const char *place,
                    const struct sonde__watch_options *options)
{
    static struct sonde__watch_program program;
    struct sonde_error error = {0};
    struct sonde__watch_options own = *options;
    struct sonde__audit_join join;
    own.envp = sonde__host_environ();
    own.probe = sonde__cli_find_library("libsonde-record.so", "../recorder/");
    if (!sonde__audit_parse_join(place, &join)) {
        return sonde__cli_usage_error(command, "--join is for sonde itself");
    }
    sonde__watch_inspect(own.program, &program);
    join.path = own.program;
    join.unfit = own.probe == NULL ? "libsonde-record.so was not found beside sonde"
                 : program.carry != SONDE__WATCH_CARRIES ? sonde__watch_carry_text(program.carry)
                                                         : NULL;
    int exit_code = sonde__watch_become(&own, own.program, sonde__audit_join(&join), &error);
    (void)sonde__cli_fail(command, NULL, error.status, &error);
    return exit_code;
}

int sonde__cli_prepare_blocks(const struct sonde__cli_command *command, uint64_t period_ns,
                              struct sonde__watch_options *options)
{
    struct sonde__audit_options from = {.blocks = true};
    const struct sonde__watch_plugin plugin = {
        .kind = SONDE__REPORT_HEAP_BLOCKS, .period_ns = period_ns, .look = sonde__audit_look};
    return prepare(command, &from, &plugin, options);
}
