// SPDX-License-Identifier: Apache-2.0
/* sonde-collector log: what people and events changed. */
#include <inttypes.h>
#include <time.h>

#include "cmd.h"

struct request {
    struct collector_where where;
    uint32_t limit;
};

static const struct sonde__cli_option options[] = {
    COLLECTOR_OPTION_CONFIG,
    COLLECTOR_OPTION_DATA(struct request, where.data),
    COLLECTOR_OPTION_DATABASE(struct request, where.database),
    {"limit", 'n', "N", "the newest N (default 50)", sonde__cli_take_number,
     offsetof(struct request, limit), 1, 100000},
    {0}};

static void print(void *ctx, const struct store_action *action)
{
    char time[32];
    struct tm parts;
    time_t seconds = (time_t)(action->time_ns / 1000000000u);
    (void)ctx;
    gmtime_r(&seconds, &parts);
    strftime(time, sizeof time, "%Y-%m-%dT%H:%M:%SZ", &parts);
    printf("%s  key %-4" PRId64 "%s%s%s\n", time, action->secret, action->project_name,
           action->project_name[0] != '\0' ? ": " : "", action->what);
}

static int act(const struct sonde__cli_command *command, struct store *store, const void *ctx,
               const struct sonde__cli_operands *operands)
{
    const struct request *request = ctx;
    if (operands->count != 0) {
        return sonde__cli_usage_error(command, "takes no argument: %s", operands->list[0]);
    }
    enum store_status status = store_actions(store, 0, request->limit, print, NULL);
    return status == STORE_OK ? SONDE__CLI_OK : collector_fail(command, "log", status);
}

static int run(const struct sonde__cli_command *command, int argc, char **argv)
{
    struct request request = {.where.data = COLLECTOR_DATA, .limit = 50};
    return collector_run(command, argc, argv, &request.where, act);
}

const struct sonde__cli_command collector_cmd_log = {
    .name = "log",
    .summary = "list what was changed: keys, projects, limits, groups",
    .usage = "[OPTION...]",
    .about = "The newest changes first, with the number of the key that made them. Key 0 is who\n"
             "may write the data folder, by a command, or an event that opened a group again.\n",
    .options = options,
    .examples = "  sonde-collector log -n 10\n",
    .environment = "SONDE_COLLECTOR_",
    .run = run,
};
