// SPDX-License-Identifier: Apache-2.0
/* sonde-collector project: add and list projects. */
#include <string.h>

#include "cmd.h"
#include "collector.h"

struct request {
    const char *data;
};

static const struct sonde__cli_option options[] = {
    {"data", 'd', "DIR", "the data folder (default " COLLECTOR_DATA ")", sonde__cli_take_text,
     offsetof(struct request, data)},
    {0}};

static void print_project(void *ctx, const struct store_project *project)
{
    (void)ctx;
    puts(project->name);
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

static int run(const struct sonde__cli_command *command, int argc, char **argv)
{
    struct request request = {.data = COLLECTOR_DATA};
    struct sonde__cli_operands operands;
    struct store *store;
    int exit_code = sonde__cli_parse(command, argc, argv, &request, &operands);
    if (exit_code != SONDE__CLI_GO_ON) {
        return exit_code;
    }
    const char *verb = operands.count > 0 ? operands.list[0] : "list";
    bool adds = strcmp(verb, "add") == 0;
    if ((!adds && strcmp(verb, "list") != 0) || operands.count > (adds ? 2u : 1u) ||
        (adds && operands.count != 2)) {
        return sonde__cli_usage_error(command, "takes add NAME, or list");
    }
    exit_code = collector_open_store(command, request.data, &store);
    if (exit_code != SONDE__CLI_GO_ON) {
        return exit_code;
    }
    if (adds) {
        exit_code = add(command, store, operands.list[1]);
    } else {
        enum store_status status = store_projects(store, print_project, NULL);
        exit_code = status == STORE_OK ? SONDE__CLI_OK : collector_fail(command, "list", status);
    }
    store_close(store);
    return exit_code;
}

const struct sonde__cli_command collector_cmd_project = {
    .name = "project",
    .summary = "add a project, with its first ingest key; list projects",
    .usage = "[--data=DIR] add NAME\n[--data=DIR] [list]",
    .about = "Each report belongs to a project; its ingest key says which. A new project gets\n"
             "a first ingest key, which is printed once. The server may run meanwhile.\n",
    .options = options,
    .examples = "  sonde-collector project add web\n",
    .environment = "SONDE_COLLECTOR_",
    .run = run,
};
