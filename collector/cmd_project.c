// SPDX-License-Identifier: Apache-2.0
/* sonde-collector project: add, limit and list projects. */
#include <string.h>

#include "cmd.h"
#include "collector.h"

struct request {
    struct collector_where where;
    uint32_t per_minute, per_day;
};

static const struct sonde__cli_option options[] = {
    COLLECTOR_OPTION_CONFIG,
    COLLECTOR_OPTION_DATA(struct request, where.data),
    COLLECTOR_OPTION_DATABASE(struct request, where.database),
    {"per-minute", 0, "N", "with limit: reports in a minute; more get 429 (default 0: any)",
     sonde__cli_take_number, offsetof(struct request, per_minute), 0, UINT32_MAX},
    {"per-day", 0, "N", "with limit: reports in a day (UTC)", sonde__cli_take_number,
     offsetof(struct request, per_day), 0, UINT32_MAX},
    {0}};

static void print_project(void *ctx, const struct store_project *project)
{
    (void)ctx;
    printf("%u  %s", project->number, project->name);
    if (project->limit.per_minute != 0) {
        printf("  %u a minute", project->limit.per_minute);
    }
    if (project->limit.per_day != 0) {
        printf("  %llu a day", (unsigned long long)project->limit.per_day);
    }
    putchar('\n');
}

static int add(const struct sonde__cli_command *command, struct store *store, const char *name)
{
    char what[STORE_NAME_MAX + 16], secret[IDS_SECRET_TEXT];
    uint32_t number;
    if (!store_is_name(name)) {
        return sonde__cli_usage_error(
            command, "a project's name has 1 to %d letters, digits, -, _ and .", STORE_NAME_MAX);
    }
    snprintf(what, sizeof what, "project %s", name);
    enum store_status status = store_add_project(store, name, collector_now_ns(), &number);
    if (status != STORE_OK) {
        return collector_fail(command, what, status);
    }
    int exit_code = collector_make_key(command, store, number, STORE_INGEST, "first", secret);
    if (exit_code == SONDE__CLI_OK) {
        printf("project     %s\ningest key  %s\n", name, secret);
    }
    return exit_code;
}

static int limit(const struct sonde__cli_command *command, struct store *store,
                 const struct request *request, const char *name)
{
    uint32_t number;
    const struct limit limit = {request->per_minute, request->per_day};
    int exit_code = collector_find_project(command, store, name, &number);
    if (exit_code != SONDE__CLI_GO_ON) {
        return exit_code;
    }
    enum store_status status = store_set_limit(store, number, &limit, collector_now_ns());
    return status == STORE_OK ? SONDE__CLI_OK : collector_fail(command, "limit", status);
}

static int act(const struct sonde__cli_command *command, struct store *store, const void *ctx,
               const struct sonde__cli_operands *operands)
{
    const struct request *request = ctx;
    const char *verb = operands->count > 0 ? operands->list[0] : "list";
    if (strcmp(verb, "add") == 0 && operands->count == 2) {
        return add(command, store, operands->list[1]);
    }
    if (strcmp(verb, "limit") == 0 && operands->count == 2) {
        return limit(command, store, request, operands->list[1]);
    }
    if (strcmp(verb, "list") == 0 && operands->count <= 1) {
        enum store_status status = store_projects(store, print_project, NULL);
        return status == STORE_OK ? SONDE__CLI_OK : collector_fail(command, "list", status);
    }
    return sonde__cli_usage_error(command, "takes add NAME, limit NAME, or list");
}

static int run(const struct sonde__cli_command *command, int argc, char **argv)
{
    struct request request = {.where.data = COLLECTOR_DATA};
    return collector_run(command, argc, argv, &request.where, act);
}

const struct sonde__cli_command collector_cmd_project = {
    .name = "project",
    .summary = "add projects, with their first ingest keys; limit and list them",
    .usage = "[--data=DIR] add NAME\n[OPTION...] limit NAME\n[--data=DIR] [list]",
    .about =
        "Each report belongs to a project; its ingest key says which. A new project gets\n"
        "a first ingest key, which is printed once. The server may run meanwhile.\n"
        "\n"
        "A limit without --per-minute and --per-day ends the limits. A sender over a limit is\n"
        "told when to come again, and keeps its reports meanwhile. Of a minute's reports all\n"
        "may come at once.\n",
    .options = options,
    .examples = "  sonde-collector project add web\n"
                "  sonde-collector project limit web --per-minute=600 --per-day=100000\n",
    .environment = "SONDE_COLLECTOR_",
    .run = run,
};
