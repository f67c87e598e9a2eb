// SPDX-License-Identifier: Apache-2.0
/* sonde-collector filter: add, list and remove filters. */
#include <inttypes.h>
#include <string.h>

#include "cmd.h"
#include "collector.h"
#include "report_out.h"

struct request {
    struct collector_where where;
    const char *project;
};

static const struct sonde__cli_option options[] = {
    COLLECTOR_OPTION_CONFIG,
    COLLECTOR_OPTION_DATA(struct request, where.data),
    COLLECTOR_OPTION_DATABASE(struct request, where.database),
    {"project", 'p', "NAME", "with add: of this project; with list: only of this",
     sonde__cli_take_text, offsetof(struct request, project)},
    {0}};

static int add(const struct sonde__cli_command *command, struct store *store,
               const struct request *request, const char *text)
{
    uint32_t project;
    int64_t number;
    struct sift sift;
    const struct store_actor actor = {.now_ns = collector_now_ns()};
    if (request->project == NULL) {
        return sonde__cli_usage_error(command, "a filter is for one --project");
    }
    if (!sift_parse(text, &sift)) {
        return sonde__cli_usage_error(command, "no filter (" SIFT_EXPECTED "): %s", text);
    }
    int exit_code = collector_find_project(command, store, request->project, &project);
    if (exit_code != SONDE__CLI_GO_ON) {
        return exit_code;
    }
    enum store_status status = store_add_sift(store, &actor, project, &sift, &number);
    if (status != STORE_OK) {
        return collector_fail(command, "filter", status);
    }
    printf("filter  %" PRId64 "\n", number);
    return SONDE__CLI_OK;
}

static void print_filter(void *ctx, const struct store_sift *sift)
{
    char text[SIFT_TEXT];
    (void)ctx;
    sift_text(&sift->sift, text);
    printf("%-4" PRId64 " %s  %s\n     dropped %" PRIu64 " events of %" PRIu64 " reports: %" PRIu64
           " stalls, errors and calls, %s\n",
           sift->number, sift->project_name, text, sift->events, sift->reports, sift->count,
           sonde__report_duration(sift->total_ns).text);
}

static int list(const struct sonde__cli_command *command, struct store *store,
                const struct request *request)
{
    uint32_t project = 0;
    if (request->project != NULL) {
        int exit_code = collector_find_project(command, store, request->project, &project);
        if (exit_code != SONDE__CLI_GO_ON) {
            return exit_code;
        }
    }
    enum store_status status = store_sifts(store, project, print_filter, NULL);
    return status == STORE_OK ? SONDE__CLI_OK : collector_fail(command, "list", status);
}

static int remove_filter(const struct sonde__cli_command *command, struct store *store,
                         const char *text)
{
    uint64_t number = 0;
    const struct store_actor actor = {.now_ns = collector_now_ns()};
    if (!sonde__cli_parse_uint(text, INT64_MAX, &number)) {
        return sonde__cli_usage_error(command, "not the number of a filter: %s", text);
    }
    enum store_status status = store_remove_sift(store, &actor, 0, (int64_t)number);
    return status == STORE_OK ? SONDE__CLI_OK : collector_fail(command, "filter", status);
}

static int act(const struct sonde__cli_command *command, struct store *store, const void *ctx,
               const struct sonde__cli_operands *operands)
{
    const struct request *request = ctx;
    const char *verb = operands->count > 0 ? operands->list[0] : "list";
    if (strcmp(verb, "add") == 0 && operands->count == 2) {
        return add(command, store, request, operands->list[1]);
    }
    if (strcmp(verb, "list") == 0 && operands->count <= 1) {
        return list(command, store, request);
    }
    if (strcmp(verb, "remove") == 0 && operands->count == 2) {
        return remove_filter(command, store, operands->list[1]);
    }
    return sonde__cli_usage_error(command, "takes add FILTER, list, or remove NUMBER");
}

static int run(const struct sonde__cli_command *command, int argc, char **argv)
{
    struct request request = {.where.data = COLLECTOR_DATA};
    return collector_run(command, argc, argv, &request.where, act);
}

const struct sonde__cli_command collector_cmd_filter = {
    .name = "filter",
    .summary = "keep events out of groups: idle, of the system, of builds or SDKs",
    .usage = "--project=NAME add FILTER\n[OPTION...] [list]\n[OPTION...] remove NUMBER",
    .about = "A filter drops events of a project before they come to a group: they are in no\n"
             "sum and are told to no hook. Their report is kept, with a note, and what each\n"
             "filter dropped is counted. It is for reports that come, or get symbols, after\n"
             "it was added. FILTER is one of\n"
             "  idle         stalls whose thread waits for events in its event loop\n"
             "  system       events without a function of the program\n"
             "  build=NAME   events of a build; NAME* is all that begin with NAME\n"
             "  sdk=NAME     calls of an SDK, and stalls in the program's library NAME\n",
    .options = options,
    .examples = "  sonde-collector filter --project web add idle\n"
                "  sonde-collector filter --project web add 'build=nightly-*'\n"
                "  sonde-collector filter remove 2\n",
    .environment = "SONDE_COLLECTOR_",
    .run = run,
};
